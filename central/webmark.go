package central

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"time"

	"github.com/catchment-bgp/catchment/central/store"
)

const (
	// kindCookieKey has one document, cookieKeyName: markDoc.
	kindCookieKey = "cookiekey"
	cookieKeyName = "session"
	// markBytes is the length of a cookie's mark, and markKey that of its key.
	markBytes = 18
	markKey   = 32
	// markFresh is how long a centre believes the key that it has read.
	markFresh = 10 * time.Minute
)

// markDoc is the key of the marks, the same for every centre of a store. Who reads it can
// make cookies that have to be looked up, and none that is anybody's session.
type markDoc struct {
	Key []byte `json:"key"`
}

// cookieMark marks the cookies of sessions, so that those that no centre has made cost no
// question to the store.
type cookieMark struct {
	key []byte
	at  time.Time // when it was read
}

// cookie is a session's cookie: the secret and its mark.
func (m cookieMark) cookie(secret []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(secret, m.of(secret)...))
}

func (m cookieMark) of(secret []byte) []byte {
	mac := hmac.New(sha256.New, m.key)
	mac.Write([]byte("catchment session"))
	mac.Write(secret)
	return mac.Sum(nil)[:markBytes]
}

// made reports whether a centre that has the key has made a cookie.
func (m cookieMark) made(cookie string) bool {
	if len(cookie) != base64.RawURLEncoding.EncodedLen(webSecret+markBytes) {
		return false
	}
	b, err := base64.RawURLEncoding.DecodeString(cookie)
	return err == nil && len(b) == webSecret+markBytes && hmac.Equal(b[webSecret:], m.of(b[:webSecret]))
}

// marks returns the mark of this store's centres. What was read lasts while the store is out of
// reach; it is read anew from time to time since another store may have taken its place.
func (l *webLogins) marks(ctx context.Context, now time.Time) (cookieMark, error) {
	l.mu.Lock()
	last := l.mark
	if last.key != nil && now.Sub(last.at) < markFresh {
		l.mu.Unlock()
		return last, nil
	}
	l.mark.at = now // others need not ask meanwhile, nor soon if this fails
	l.mu.Unlock()
	key, err := l.f.markKey(ctx)
	if err != nil {
		if last.key != nil {
			return last, nil
		}
		return cookieMark{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mark = cookieMark{key, now}
	return l.mark, nil
}

// markKey reads the key from the store, or is the one that makes it.
func (f *Fleet) markKey(ctx context.Context) ([]byte, error) {
	k := key(kindCookieKey, cookieKeyName)
	item, err := f.store.Get(ctx, k)
	if errors.Is(err, store.ErrNotFound) {
		d := markDoc{Key: random(markKey)}
		op, err := put(k, d)
		if err != nil {
			return nil, err
		}
		err = f.commit(ctx, change{conds: []store.Cond{{Key: k}}, ops: []store.Op{op}})
		if !errors.Is(err, store.ErrConflict) {
			return d.Key, err
		}
		item, err = f.store.Get(ctx, k) // another centre was first
		if err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	d, err := decode[markDoc](item)
	if err == nil && len(d.Key) < markKey {
		err = errors.New("the key of the sessions' cookies is cut short; delete " + k + " from the store, and all sign in anew")
	}
	return d.Key, err
}
