package central

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// blindStore cannot be read at times.
type blindStore struct {
	store.Store
	blind atomic.Bool
}

// Get fails as an etcd without a majority does.
func (b *blindStore) Get(ctx context.Context, key string) (store.Item, error) {
	if b.blind.Load() {
		return store.Item{}, store.ErrUnavailable
	}
	return b.Store.Get(ctx, key)
}

// signers are two centres of one store, with what signs browsers in at each.
type signers struct {
	*lab
	blind      *blindStore
	first, two *webLogins
}

func newSigners(t *testing.T) *signers {
	t.Helper()
	l := newLab(t, fleet.Limits{MinAnnouncing: 1})
	l.kill()
	s := &signers{lab: l, blind: &blindStore{Store: l.store}}
	l.f = NewFleet(s.blind, Settings{ASN: 57629, Replica: "a", WebURL: "https://noc.example.net", WebPort: 7180})
	l.run()
	gate, err := identity.New(identity.Config{Dev: true})
	if err != nil {
		t.Fatal(err)
	}
	s.first = newWebLogins(l.f, gate)
	other := NewFleet(l.store, Settings{ASN: 57629, Replica: "b"})
	s.two = newWebLogins(other, gate)
	return s
}

// as is the context of a person whose certificate lasts so long.
func (s *signers) as(name string, role identity.Role, lasts time.Duration) context.Context {
	return identity.NewContext(s.t.Context(), identity.Peer{Name: identity.Name{Domain: "test", Kind: identity.NOC, Name: name}, Role: role, NotAfter: time.Now().Add(lasts), Serial: "1"})
}

// code is what `catchment web login` gets.
func (s *signers) code(ctx context.Context) string {
	s.t.Helper()
	m, err := s.api.CreateWebLogin(ctx, &centralv1.CreateWebLoginRequest{})
	if err != nil || m.GetUrl() != "https://noc.example.net" || m.GetPort() != 7180 || time.Until(m.GetExpires().AsTime()) != webCodeLife {
		s.t.Fatalf("%v, %v", m, err)
	}
	return m.GetCode()
}

func refusedWith(err error, text string) bool {
	return err != nil && strings.Contains(status.Convert(err).Message(), text)
}

const year = 365 * 24 * time.Hour

func TestACodeSignsInOnceAndAsItsOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigners(t)
		code := s.code(s.as("vera", identity.Viewer, year))
		cookie, until, err := s.first.SignIn(t.Context(), " "+code+"\n") // as it is pasted
		if err != nil || time.Until(until) != webSessionLife || cookie == code {
			t.Fatalf("until %v: %v", until, err)
		}
		for what, l := range map[string]*webLogins{"here": s.first, "at another centre": s.two} {
			if p, ok := l.Session(t.Context(), cookie); !ok || p.Who() != "noc/vera" || p.Role != identity.Viewer || !p.NotAfter.Equal(until) || p.Serial != "" {
				t.Errorf("%s: %+v, %v", what, p, ok)
			}
		}
		if _, _, err := s.two.SignIn(t.Context(), code); !refusedWith(err, "was used already") || status.Code(err) != codes.Unauthenticated {
			t.Errorf("a second time: %v", err)
		}
		for _, wrong := range []string{"", "x", code + "x", cookie, strings.Repeat("A", len(code))} {
			if _, _, err := s.first.SignIn(t.Context(), wrong); !refusedWith(err, "is not known") {
				t.Errorf("%q: %v", wrong, err)
			}
			if p, ok := s.first.Session(t.Context(), wrong); wrong != cookie && ok {
				t.Errorf("%q is the session of %+v", wrong, p)
			}
		}
	})
}

func TestOfTwoWhoShowOneCodeOneWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigners(t)
		code := s.code(s.as("vera", identity.Viewer, year))
		var won atomic.Int32
		var all sync.WaitGroup
		for i := range 20 {
			l := []*webLogins{s.first, s.two}[i%2]
			all.Go(func() {
				_, _, err := l.SignIn(t.Context(), code)
				switch {
				case err == nil:
					won.Add(1)
				case !refusedWith(err, "this code was used just now") && !refusedWith(err, "was used already") && !refusedWith(err, "refused too often"):
					t.Errorf("a loser: %v", err)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Errorf("%d were signed in", won.Load())
		}
	})
}

func TestACodeAndASessionEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigners(t)
		code := s.code(s.as("vera", identity.Viewer, year))
		pass(webCodeLife)
		if _, _, err := s.first.SignIn(t.Context(), code); !refusedWith(err, "this code expired at") {
			t.Errorf("after five minutes: %v", err)
		}
		for what, lasts := range map[string]time.Duration{"a long certificate": year, "one that ends before": time.Hour} {
			cookie, until, err := s.first.SignIn(t.Context(), s.code(s.as("vera", identity.Viewer, lasts)))
			if err != nil {
				t.Fatal(err)
			}
			ends := min(lasts, webSessionLife)
			if time.Until(until) != ends {
				t.Errorf("%s: the session is until %v", what, until)
			}
			pass(ends - time.Second)
			if _, ok := s.first.Session(t.Context(), cookie); !ok {
				t.Errorf("%s: the session has ended early", what)
			}
			pass(time.Second)
			for _, l := range []*webLogins{s.first, s.two} {
				if p, ok := l.Session(t.Context(), cookie); ok {
					t.Errorf("%s: after its end it is that of %+v", what, p)
				}
			}
		}
	})
}

func TestWhoSignsOutIsOutAtEveryCentre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigners(t)
		cookie, _, err := s.first.SignIn(t.Context(), s.code(s.as("vera", identity.Viewer, year)))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := s.first.Session(t.Context(), cookie); !ok {
			t.Fatal("no session")
		}
		if err := s.two.SignOut(t.Context(), cookie); err != nil {
			t.Fatal(err)
		}
		for what, l := range map[string]*webLogins{"here": s.two, "there": s.first} {
			if p, ok := l.Session(t.Context(), cookie); ok {
				t.Errorf("%s it is the session of %+v", what, p)
			}
		}
		if err := s.two.SignOut(t.Context(), cookie); err != nil {
			t.Errorf("twice: %v", err)
		}
		s.blind.blind.Store(true)
		if p, ok := s.first.Session(t.Context(), cookie); ok {
			t.Errorf("without the store it is the session of %+v", p)
		}
	})
}

// TestAKnownSessionOutlivesItsStoreForAWhile: people look at the page above all when
// something is wrong.
func TestAKnownSessionOutlivesItsStoreForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigners(t)
		known, _, err := s.first.SignIn(t.Context(), s.code(s.as("vera", identity.Viewer, year)))
		if err != nil {
			t.Fatal(err)
		}
		short, _, err := s.first.SignIn(t.Context(), s.code(s.as("olga", identity.Operator, time.Minute)))
		if err != nil {
			t.Fatal(err)
		}
		other, _, err := s.first.SignIn(t.Context(), s.code(s.as("anna", identity.Admin, year)))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []string{known, short} {
			if _, ok := s.first.Session(t.Context(), c); !ok {
				t.Fatal("no session")
			}
		}
		s.blind.blind.Store(true)
		if p, ok := s.first.Session(t.Context(), known); !ok || p.Who() != "noc/vera" {
			t.Errorf("a session that was seen: %+v, %v", p, ok)
		}
		if p, ok := s.first.Session(t.Context(), other); ok {
			t.Errorf("one that was never seen here is that of %+v", p)
		}
		pass(time.Minute)
		if p, ok := s.first.Session(t.Context(), short); ok {
			t.Errorf("one whose certificate has ended is that of %+v", p)
		}
		pass(webTrust - time.Minute - time.Second)
		if _, ok := s.first.Session(t.Context(), known); !ok {
			t.Error("it is not believed for ten minutes")
		}
		pass(time.Second)
		if p, ok := s.first.Session(t.Context(), known); ok {
			t.Errorf("after ten minutes it is that of %+v", p)
		}
		if _, _, err := s.first.SignIn(t.Context(), "x"); status.Code(err) != codes.Unavailable {
			t.Errorf("a code without a store: %v", err)
		}
		s.blind.blind.Store(false)
		if _, ok := s.first.Session(t.Context(), known); !ok {
			t.Error("the session is lost with the store's trouble")
		}
	})
}

func TestASessionsMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigners(t)
		for i := range webKnown {
			s.first.known[fmt.Sprint(i)] = knownSession{}
		}
		cookie, _, err := s.first.SignIn(t.Context(), s.code(s.as("vera", identity.Viewer, year)))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := s.first.Session(t.Context(), cookie); !ok || len(s.first.known) != 1 {
			t.Errorf("%v, %d remembered", ok, len(s.first.known))
		}
	})
}

func TestCodesAndSessionsThatHaveEndedAreDeletedAndHoldNoSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigners(t)
		code := s.code(s.as("vera", identity.Viewer, year))
		cookie, _, err := s.first.SignIn(t.Context(), code)
		if err != nil {
			t.Fatal(err)
		}
		unused := s.code(s.as("vera", identity.Viewer, year))
		items, _, err := s.store.Range(t.Context(), store.Prefix("web"))
		if err != nil || len(items) != 2 {
			t.Fatalf("%d documents, %v", len(items), err)
		}
		all, _, err := s.store.Range(t.Context(), store.Prefix(""))
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range all {
			for _, secret := range []string{code, cookie, unused} {
				if strings.Contains(item.Key, secret) || strings.Contains(string(item.Value), secret) {
					t.Errorf("%s holds a secret", item.Key)
				}
			}
		}
		left := func() int {
			items, _, err := s.store.Range(t.Context(), store.Prefix("web"))
			if err != nil {
				t.Fatal(err)
			}
			return len(items)
		}
		pass(webCodeLife + pruneEvery)
		if n := left(); n != 1 {
			t.Errorf("after the code's end there are %d", n)
		}
		if _, ok := s.first.Session(t.Context(), cookie); !ok {
			t.Error("a session that goes on was deleted")
		}
		pass(webSessionLife + pruneEvery)
		if n := left(); n != 0 {
			t.Errorf("after the session's end there are %d", n)
		}
	})
}

func TestSignInsAreAuditedAndOnlyPeopleMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigners(t)
		cookie, _, err := s.first.SignIn(t.Context(), s.code(s.as("vera", identity.Viewer, year)))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.first.SignOut(t.Context(), cookie); err != nil {
			t.Fatal(err)
		}
		records, err := s.api.ListAudit(s.ctx(), &centralv1.ListAuditRequest{})
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, r := range records.GetRecords() {
			said = append(said, r.GetWho()+" "+r.GetMethod()+" "+r.GetOutcome())
		}
		if got := strings.Join(said, ", "); got != "noc/vera SignOut done, noc/vera SignIn done, noc/vera CreateWebLogin done" {
			t.Errorf("%s", got)
		}
		for what, ctx := range map[string]context.Context{
			"nobody":  t.Context(),
			"dev":     identity.NewContext(t.Context(), identity.Peer{Role: identity.Admin, Dev: true}),
			"an edge": identity.NewContext(t.Context(), identity.Peer{Name: identity.Name{Domain: "test", Kind: identity.Edge, Name: "msk1"}, Role: identity.EdgeRole}),
		} {
			if m, err := s.api.CreateWebLogin(ctx, &centralv1.CreateWebLoginRequest{}); err == nil {
				t.Errorf("%s got %v", what, m)
			}
		}
	})
}

func TestAViewerCannotFillTheStoreWithCodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigners(t)
		vera := s.as("vera", identity.Viewer, year)
		for range webCodeBurst {
			s.code(vera)
		}
		_, err := s.api.CreateWebLogin(vera, &centralv1.CreateWebLoginRequest{})
		if status.Code(err) != codes.ResourceExhausted || !refusedWith(err, "many codes") {
			t.Errorf("one more: %v", err)
		}
		s.code(s.as("olga", identity.Viewer, year)) // others have theirs
		time.Sleep(webCodeEvery)
		s.code(vera)
	})
}
