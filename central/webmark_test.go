package central

import (
	"context"
	"encoding/base64"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/central/store"
)

// countedStore counts what is read of it, and is out of reach at times.
type countedStore struct {
	store.Store
	gets atomic.Int64
	away atomic.Bool
}

func (c *countedStore) Get(ctx context.Context, key string) (store.Item, error) {
	c.gets.Add(1)
	if c.away.Load() {
		return store.Item{}, store.ErrUnavailable
	}
	return c.Store.Get(ctx, key)
}

// counted is a centre's sign-ins over a store that counts.
func (s *signers) counted() (*webLogins, *countedStore) {
	c := &countedStore{Store: s.store}
	return newWebLogins(NewFleet(c, Settings{ASN: 57629, Replica: newID("r")}), s.two.g), c
}

// cookie is that of a browser that has signed in.
func (s *signers) cookie(at *webLogins) string {
	s.t.Helper()
	cookie, _, err := at.SignIn(s.t.Context(), s.code(s.as("vera", identity.Viewer, year)))
	if err != nil {
		s.t.Fatal(err)
	}
	return cookie
}

func TestACookieThatNoCentreHasMadeCostsTheStoreNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigners(t)
		cookie := s.cookie(s.first)
		l, counted := s.counted()
		if p, ok := l.Session(t.Context(), cookie); !ok || p.Who() != "noc/vera" || counted.gets.Load() != 2 {
			t.Fatalf("a session of another centre: %+v, %v, after %d reads", p, ok, counted.gets.Load())
		}
		counted.gets.Store(0)
		raw, err := base64.RawURLEncoding.DecodeString(cookie)
		if err != nil {
			t.Fatal(err)
		}
		wrong := []string{"", "x", cookie + "A", cookie[:len(cookie)-1], strings.ToLower(cookie), " " + cookie, strings.Repeat("\x00", len(cookie)),
			base64.RawURLEncoding.EncodeToString(raw[:webSecret]), strings.Repeat("A", len(cookie))}
		for i := range raw {
			flipped := append([]byte(nil), raw...)
			flipped[i] ^= 1
			wrong = append(wrong, base64.RawURLEncoding.EncodeToString(flipped))
		}
		for range 1000 {
			wrong = append(wrong, base64.RawURLEncoding.EncodeToString(random(webSecret+markBytes)))
		}
		for _, c := range wrong {
			if p, ok := l.Session(t.Context(), c); ok {
				t.Fatalf("%q is the session of %+v", c, p)
			}
		}
		if n := counted.gets.Load(); n != 0 {
			t.Errorf("%d cookies that are none cost %d reads", len(wrong), n)
		}
		if _, ok := l.Session(t.Context(), cookie); !ok || counted.gets.Load() != 1 {
			t.Errorf("afterwards: %v, %d reads", ok, counted.gets.Load())
		}
	})
}

func TestCentresThatBeginTogetherMakeOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigners(t)
		var all sync.WaitGroup
		keys := make([][]byte, 8)
		for i := range keys {
			all.Go(func() {
				l, _ := s.counted()
				m, err := l.marks(t.Context(), time.Now(), markFresh)
				if err != nil {
					t.Error(err)
				}
				keys[i] = m.key
			})
		}
		all.Wait()
		for _, k := range keys {
			if len(k) != markKey || string(k) != string(keys[0]) {
				t.Errorf("the keys are %x", keys)
			}
		}
	})
}

func TestTheMarksKeyIsReadAnewAndKeptWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigners(t)
		l, counted := s.counted()
		counted.away.Store(true)
		if _, ok := l.Session(t.Context(), strings.Repeat("A", 56)); ok {
			t.Error("a session without a key")
		}
		counted.away.Store(false)
		old := s.cookie(l)
		// Another store takes the place of this one: it has another key.
		k := key(kindCookieKey, cookieKeyName)
		if _, err := s.store.Commit(t.Context(), nil, []store.Op{{Key: k}}); err != nil {
			t.Fatal(err)
		}
		theirs, _ := s.counted()
		renewed := s.cookie(theirs)
		if _, ok := l.Session(t.Context(), renewed); ok {
			t.Error("the key was read anew at once: then each wrong cookie costs a read")
		}
		pass(markDoubt)
		if _, ok := l.Session(t.Context(), renewed); !ok {
			t.Error("a cookie of a new key is not believed though the key could have been read")
		}
		counted.away.Store(true)
		pass(markFresh)
		if m, err := l.marks(t.Context(), time.Now(), markFresh); err != nil || !m.made(renewed) {
			t.Errorf("while the store is away: %v", err)
		}
		counted.away.Store(false)
		pass(markFresh)
		if _, ok := l.Session(t.Context(), renewed); !ok {
			t.Error("after its time the key is still the old one")
		}
		if _, ok := l.Session(t.Context(), old); ok {
			t.Error("a cookie of the other key is still a session")
		}
	})
}

func TestAKeyThatIsCutShortSignsNobodyIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigners(t)
		op, err := put(key(kindCookieKey, cookieKeyName), markDoc{Key: []byte("short")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.store.Commit(t.Context(), nil, []store.Op{op}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.first.SignIn(t.Context(), s.code(s.as("vera", identity.Viewer, year))); err == nil || !strings.Contains(err.Error(), "cut short") {
			t.Errorf("%v", err)
		}
	})
}

// withoutKey are centres that cannot read the key of the marks.
var withoutKey = map[string]func(*signers, *countedStore){
	"the store is away": func(_ *signers, c *countedStore) { c.away.Store(true) },
	"the key is no key": func(s *signers, _ *countedStore) {
		if _, err := s.store.Commit(s.t.Context(), nil, []store.Op{{Key: key(kindCookieKey, cookieKeyName), Value: []byte(`{"key":5}`)}}); err != nil {
			s.t.Fatal(err)
		}
	},
}

func TestCookiesOfStrangersCostTheStoreNothingThoughThereIsNoKey(t *testing.T) {
	for name, breaks := range withoutKey {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSigners(t)
				l, counted := s.counted()
				breaks(s, counted)
				for _, c := range []string{"", "x", strings.Repeat("=", 56), strings.Repeat("A", 55)} {
					_, _ = l.Session(t.Context(), c)
				}
				if n := counted.gets.Load(); n != 0 {
					t.Errorf("what has not even a cookie's form cost %d reads", n)
				}
				var all sync.WaitGroup
				for range 100 {
					all.Go(func() {
						if _, ok := l.Session(t.Context(), base64.RawURLEncoding.EncodeToString(random(webSecret+markBytes))); ok {
							t.Error("a session without a key")
						}
					})
				}
				all.Wait()
				if n := counted.gets.Load(); n != 1 {
					t.Errorf("100 cookies at a moment cost %d reads", n)
				}
			})
		})
	}
}

func TestWhoAsksAndGoesAwayDoesNotKeepTheKeyFromOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigners(t)
		cookie := s.cookie(s.first)
		l, _ := s.counted()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, _ = l.Session(gone, cookie)
		if _, ok := l.Session(t.Context(), cookie); !ok {
			t.Error("the next one is not known")
		}
	})
}

func TestACookieIsMadeWithTheKeyThatTheStoreHasNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigners(t)
		l, _ := s.counted()
		s.cookie(l)
		if _, err := s.store.Commit(t.Context(), nil, []store.Op{{Key: key(kindCookieKey, cookieKeyName)}}); err != nil {
			t.Fatal(err)
		}
		theirs, _ := s.counted()
		s.cookie(theirs)
		if _, ok := theirs.Session(t.Context(), s.cookie(l)); !ok {
			t.Error("a centre that has read the key before signs in with one that is gone")
		}
	})
}
