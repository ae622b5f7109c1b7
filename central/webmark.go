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
	// markFresh is how long a centre believes the key that it has read, markDoubt how long
	// where a cookie has another mark: another centre may have made a new key. markAgain is
	// how long it does not ask again for a key that could not be read, and markWait how long
	// the store has to answer.
	markFresh = 10 * time.Minute
	markDoubt = 10 * time.Second
	markAgain = time.Second
	markWait  = 3 * time.Second
)

// markDoc is the key of the marks, the same for every centre of a store. Who reads it can
// make cookies that have to be looked up, and none that is anybody's session.
type markDoc struct {
	Key []byte `json:"key"`
}

// cookieMark marks the cookies of sessions, so that those that no centre has made cost no
// question to the store.
type cookieMark struct {
	key   []byte
	at    time.Time // when it was read, or could not be
	fault error     // why there is no key
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

// shaped returns the parts of what may be a session's cookie by its form.
func shaped(cookie string) (secret, mark []byte, ok bool) {
	if len(cookie) != base64.RawURLEncoding.EncodedLen(webSecret+markBytes) {
		return nil, nil, false
	}
	b, err := base64.RawURLEncoding.DecodeString(cookie)
	if err != nil || len(b) != webSecret+markBytes {
		return nil, nil, false
	}
	return b[:webSecret], b[webSecret:], true
}

// made reports whether a centre that has the key has made a cookie.
func (m cookieMark) made(cookie string) bool {
	secret, mark, ok := shaped(cookie)
	return ok && len(m.key) > 0 && hmac.Equal(mark, m.of(secret))
}

// made reports whether a centre of this store has made a cookie. What is no cookie by its form
// costs nothing, and all others together cost the store a question each markDoubt at most.
func (l *webLogins) made(ctx context.Context, cookie string, now time.Time) bool {
	if _, _, ok := shaped(cookie); !ok {
		return false
	}
	for _, fresh := range []time.Duration{markFresh, markDoubt} {
		if mark, err := l.marks(ctx, now, fresh); err == nil && mark.made(cookie) {
			return true
		}
	}
	return false
}

// marks returns the mark of this store's centres, read no longer ago than fresh, or 0: now. What
// was read lasts while the store is out of reach.
func (l *webLogins) marks(ctx context.Context, now time.Time, fresh time.Duration) (cookieMark, error) {
	if m, ok := l.marked(now, fresh); ok {
		return m, m.fault
	}
	if !l.reading.TryLock() { // one asks for all
		if last, _ := l.marked(now, fresh); last.key != nil && fresh > 0 {
			return last, nil
		}
		l.reading.Lock()
	}
	defer l.reading.Unlock()
	last, ok := l.marked(now, fresh)
	if ok {
		return last, last.fault
	}
	// Who asks may go away, and the others wait for the answer, too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markWait)
	defer cancel()
	key, err := l.f.markKey(ctx)
	m := cookieMark{key: key, at: time.Now()}
	if err != nil {
		m = cookieMark{key: last.key, at: m.at}
		if m.key == nil {
			m.fault = err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mark = m
	return m, m.fault
}

// marked is what was read before, if it is fresh enough.
func (l *webLogins) marked(now time.Time, fresh time.Duration) (cookieMark, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mark.key == nil {
		fresh = min(fresh, markAgain)
	}
	return l.mark, !l.mark.at.IsZero() && now.Sub(l.mark.at) < fresh
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
