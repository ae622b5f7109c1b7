package central

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/audit"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/central/store"
)

const (
	kindWebLogin   = "weblogin"   // HASH: webDoc, a code for one sign-in
	kindWebSession = "websession" // HASH: webDoc, a browser that has signed in

	// webCodeLife is how long a code is good, webSessionLife how long a session lasts at most,
	// and webTrust how long one is believed while the store is out of reach.
	webCodeLife    = 5 * time.Minute
	webSessionLife = 12 * time.Hour
	webTrust       = 10 * time.Minute
	// A person may have webCodeBurst codes made at once, and one in webCodeEvery then: each
	// is written down twice, and a viewer may write nothing else.
	webCodeBurst = 10
	webCodeEvery = 10 * time.Second
	// webKnown bounds the sessions that a centre remembers for that.
	webKnown = 1000
	// webSecret is how many random bytes a code or cookie has.
	webSecret = 24
)

// webDoc is a code, or the session that it has become. It holds no secret: its key is
// the secret's hash.
type webDoc struct {
	Name    string        `json:"name"` // spiffe://...
	Role    identity.Role `json:"role"`
	How     string        `json:"how"` // certificate, or oidc
	Expires time.Time     `json:"expires"`
	// Until bounds the session, as the certificate that it is from.
	Until time.Time `json:"until,omitzero"`
}

// peer is who shows it.
func (d webDoc) peer() (identity.Peer, error) {
	n, err := identity.ParseName(d.Name)
	return identity.Peer{Name: n, Role: d.Role, NotAfter: d.Expires}, err
}

// newSecret returns a secret for a person's browser, and the key of its document.
func newSecret(kind string) (text, k string) {
	text = base64.RawURLEncoding.EncodeToString(random(webSecret))
	return text, secretKey(kind, text)
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the process rather
	return b
}

func secretKey(kind, text string) string {
	sum := sha256.Sum256([]byte(text))
	return key(kind, hex.EncodeToString(sum[:]))
}

// CreateWebLogin gives the caller a code to sign a browser in with.
func (a *api) CreateWebLogin(ctx context.Context, _ *centralv1.CreateWebLoginRequest) (*centralv1.CreateWebLoginResponse, error) {
	p, ok := identity.FromContext(ctx)
	switch {
	case !ok || p.Dev:
		return nil, failed(refusef("dev", "a centre with --dev asks nobody to sign in; open its page"))
	case p.Name.Kind != identity.NOC:
		return nil, failed(refusef("noc", "%s is nobody of the NOC", p.Name.Short()))
	}
	now := time.Now()
	if ok, _ := a.f.webCodes.Take(p.Who(), now); !ok {
		return nil, status.Errorf(codes.ResourceExhausted, "%s has asked for many codes; the next one is there within %s", p.Who(), webCodeEvery)
	}
	code, k := newSecret(kindWebLogin)
	d := webDoc{Name: p.Name.String(), Role: p.Role, How: "certificate", Expires: now.Add(webCodeLife), Until: p.NotAfter}
	op, err := put(k, d)
	if err != nil {
		return nil, failed(err)
	}
	e := audit.Entry{Who: p.Who(), Role: string(p.Role), Method: "CreateWebLogin", Target: p.Who(), Outcome: audit.Done, Detail: "expires " + d.Expires.UTC().Format(time.RFC3339)}
	if err := a.f.commit(ctx, change{conds: []store.Cond{{Key: k}}, ops: []store.Op{op}, entries: []audit.Entry{e}}); err != nil {
		return nil, failed(err)
	}
	return &centralv1.CreateWebLoginResponse{Code: code, Expires: stamp(d.Expires), Url: a.f.settings.WebURL, Port: a.f.settings.WebPort}, nil
}

// webLogins keeps the sessions of browsers in the store, so that every centre of it
// knows them.
type webLogins struct {
	f *Fleet
	g *identity.Gate

	mu    sync.Mutex
	known map[string]knownSession // by key
	mark  cookieMark

	reading sync.Mutex // held while the mark's key is read
}

type knownSession struct {
	peer identity.Peer
	at   time.Time
}

func newWebLogins(f *Fleet, g *identity.Gate) *webLogins {
	return &webLogins{f: f, g: g, known: map[string]knownSession{}}
}

// SignIn takes a code for a session, once. until is when that ends.
func (l *webLogins) SignIn(ctx context.Context, code string) (cookie string, until time.Time, err error) {
	err = l.g.Try(ctx, "SignIn", func() error {
		k := secretKey(kindWebLogin, strings.TrimSpace(code))
		item, err := l.f.store.Get(ctx, k)
		if errors.Is(err, store.ErrNotFound) {
			return errors.New("this code is not known, or was used already; get another one by catchment web login")
		}
		if err != nil {
			return failed(err)
		}
		d, err := decode[webDoc](item)
		if err != nil {
			return failed(err)
		}
		now := time.Now()
		if !now.Before(d.Expires) {
			return fmt.Errorf("this code expired at %s; get another one by catchment web login", d.Expires.UTC().Format(time.RFC3339))
		}
		cookie, until, err = l.begin(ctx, d, now, change{conds: []store.Cond{{Key: k, Revision: item.Revision}}, ops: []store.Op{{Key: k}}})
		if errors.Is(err, store.ErrConflict) {
			return errors.New("this code was used just now; get another one by catchment web login")
		}
		return failed(err)
	})
	return cookie, until, err
}

// begin writes a new session down, with what else is to change.
func (l *webLogins) begin(ctx context.Context, d webDoc, now time.Time, c change) (cookie string, until time.Time, err error) {
	mark, err := l.marks(ctx, now, 0) // each other centre has, or will have, the store's
	if err != nil {
		return "", time.Time{}, err
	}
	cookie = mark.cookie(random(webSecret))
	k := secretKey(kindWebSession, cookie)
	d.Expires = now.Add(webSessionLife)
	if !d.Until.IsZero() && d.Until.Before(d.Expires) {
		d.Expires = d.Until
	}
	op, err := put(k, d)
	if err != nil {
		return "", time.Time{}, err
	}
	p, err := d.peer()
	if err != nil {
		return "", time.Time{}, err
	}
	c.conds, c.ops = append(c.conds, store.Cond{Key: k}), append(c.ops, op)
	c.entries = append(c.entries, audit.Entry{Who: p.Who(), Role: string(p.Role), Method: "SignIn", Target: p.Who(), Outcome: audit.Done,
		Detail: "by " + d.How + ", until " + d.Expires.UTC().Format(time.RFC3339)})
	return cookie, d.Expires, l.f.commit(ctx, c)
}

// Session returns whose session a cookie is. The store is asked for those only that a
// centre has made.
func (l *webLogins) Session(ctx context.Context, cookie string) (identity.Peer, bool) {
	now := time.Now()
	if !l.made(ctx, cookie, now) {
		return identity.Peer{}, false
	}
	k := secretKey(kindWebSession, cookie)
	item, err := l.f.store.Get(ctx, k)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		l.mu.Lock()
		defer l.mu.Unlock()
		known, ok := l.known[k]
		return known.peer, ok && now.Sub(known.at) < webTrust && now.Before(known.peer.NotAfter)
	}
	if err != nil {
		l.forget(k)
		return identity.Peer{}, false
	}
	d, err := decode[webDoc](item)
	if err != nil {
		return identity.Peer{}, false
	}
	p, err := d.peer()
	if err != nil || !now.Before(d.Expires) {
		return identity.Peer{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.known) >= webKnown {
		clear(l.known)
	}
	l.known[k] = knownSession{p, now}
	return p, true
}

func (l *webLogins) forget(k string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, k)
}

// SignOut ends a session.
func (l *webLogins) SignOut(ctx context.Context, cookie string) error {
	p, ok := l.Session(ctx, cookie)
	if !ok {
		return nil
	}
	k := secretKey(kindWebSession, cookie)
	l.forget(k)
	return failed(l.f.commit(ctx, change{ops: []store.Op{{Key: k}},
		entries: []audit.Entry{{Who: p.Who(), Role: string(p.Role), Method: "SignOut", Target: p.Who(), Outcome: audit.Done}}}))
}

// webPrunes deletes codes and sessions that have ended.
func (f *Fleet) webPrunes(ctx context.Context) {
	for pause(ctx, pruneEvery) {
		now := time.Now()
		if !f.leads(now) {
			continue
		}
		for _, kind := range []string{kindWebLogin, kindWebSession} {
			if err := f.webPrune(ctx, kind, now); err != nil && ctx.Err() == nil {
				f.log.Warn("sessions of browsers that have ended cannot be deleted", "error", err)
			}
		}
	}
}

func (f *Fleet) webPrune(ctx context.Context, kind string, now time.Time) error {
	items, _, err := f.store.Range(ctx, store.Prefix(kind+"/"))
	if err != nil {
		return err
	}
	for _, item := range items {
		d, err := decode[webDoc](item)
		if err != nil || now.Before(d.Expires) {
			continue
		}
		err = f.commit(ctx, change{conds: []store.Cond{{Key: item.Key, Revision: item.Revision}}, ops: []store.Op{{Key: item.Key}}})
		if err != nil && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return nil
}
