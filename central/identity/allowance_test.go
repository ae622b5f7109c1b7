package identity

import (
	"testing"
	"time"
)

func TestAllowancesForgetInsteadOfGrowing(t *testing.T) {
	a, now := strangerRefusals(), time.Now()
	for i := range 10 * maxSources {
		a.Take(time.Duration(i).String(), now)
	}
	if len(a.sources) > maxSources {
		t.Errorf("%d sources", len(a.sources))
	}
	if ok, _ := a.Take("one more", now); ok {
		t.Error("all sources together are not bounded")
	}
	if ok, missed := a.Take("one more", now.Add(time.Hour)); !ok || missed != uint64(10*maxSources+1-a.AllBurst) {
		t.Errorf("%t, %d missed", ok, missed)
	}
	var l limiter
	for i := range 10 * maxSources {
		l.refused(time.Duration(i).String(), now)
	}
	if len(l.sources) > maxSources {
		t.Errorf("%d sources", len(l.sources))
	}
}

// TestADayOfRefusalsIsBounded refuses all day long, as one caller and as many.
func TestADayOfRefusalsIsBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		allowance     *Allowance
		one, together int
	}{
		"with a name": {NamedRefusals(), 10 + 6*24, 100 + 60*24},
		"strangers":   {strangerRefusals(), 5 + 24, 20 + 24},
	} {
		for _, sources := range []int{1, 500} {
			tt.allowance.sources, tt.allowance.all = nil, bucket{}
			begin, taken := time.Now(), 0
			for at := time.Duration(0); at < 24*time.Hour; at += time.Second {
				if ok, _ := tt.allowance.Take(time.Duration(int(at/time.Second)%sources).String(), begin.Add(at)); ok {
					taken++
				}
			}
			most := tt.together
			if sources == 1 {
				most = tt.one
			}
			if taken > most || taken < most-2 {
				t.Errorf("%s, %d sources: %d written down, want at most %d", name, sources, taken, most)
			}
		}
	}
}

func TestStrangersDoNotHideThoseWithAName(t *testing.T) {
	c := newCentre(t)
	for range 1000 {
		_ = c.gate.refuse(t.Context(), Refusal{Reason: NotTLS, Addr: "192.0.2.1:1"})
	}
	_ = c.gate.refuse(t.Context(), Refusal{Reason: BadToken, Addr: "192.0.2.1:1", Token: "msk1"})
	if r, ok := c.counts.last(BadToken); !ok || r.Who() != "token/msk1" || r.Suppressed != 0 {
		t.Errorf("%+v", r)
	}
	if c.counts.count(NotTLS) != 1000 || len(c.counts.reported) != c.gate.strangers.Burst+1 {
		t.Errorf("%v counted, %d reported", c.counts.by, len(c.counts.reported))
	}
}

func TestOneHostIsOneSource(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1:1":            "192.0.2.1",
		"[::ffff:192.0.2.1]:1":   "192.0.2.1",
		"[2001:db8::1]:1":        "2001:db8::/64",
		"[2001:db8::ffff:2]:9":   "2001:db8::/64",
		"[2001:db8:0:1::1]:1":    "2001:db8:0:1::/64",
		"[fe80::1%eth0]:1":       "fe80::/64",
		"local":                  "local",
		"central.example.net:80": "central.example.net",
	} {
		if got := source(Peer{}, addr); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}
