package netlab

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"
)

func TestFRRsDampingIsRead(t *testing.T) {
	from := netip.MustParseAddr("10.77.1.1")
	for file, want := range map[string][]Flaps{
		"frr-route-none.json":   nil,
		"frr-route-plain.json":  nil,
		"frr-route-damped.json": {{From: from, Penalty: 4000, Count: 8, Suppressed: true}},
	} {
		text, err := os.ReadFile("../router/testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := parseFRRFlaps(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", file, got, err, want)
		}
	}
	for text, want := range map[string][]netip.Prefix{
		"":                   nil,
		`{"routes": {  }  }`: nil,
		`{"routes": {"198.51.100.0/24": [{"valid":true}]}}`: {frr4},
	} {
		if got, err := parseFRRSuppressed([]byte(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for name, err := range map[string]error{
		"flaps":      second(parseFRRFlaps([]byte("% no"))),
		"suppressed": second(parseFRRSuppressed([]byte(`{"routes": {"x": []}}`))),
	} {
		if err == nil {
			t.Errorf("%s: nonsense is no error", name)
		}
	}
}

// updates is how many UPDATEs FRR has received from a neighbour.
func updates(t *testing.T, f *FRR, peer netip.Addr) uint64 {
	t.Helper()
	c, err := f.Counts(peer)
	if err != nil {
		t.Fatal(err)
	}
	return *c.Updates
}

func second[T any](_ T, err error) error { return err }

// TestFRRDampsByWhatIsCharged holds what the flap ledger assumes of a router (RFC 2439, section 4.4.3) against FRR.
func TestFRRDampsByWhatIsCharged(t *testing.T) {
	u := TwoUpstreams(t, FRRouting, BIRDRouting)
	frr := u.FRR.FRR(FRRConfig{
		ASN: 65001, RouterID: "10.77.1.2", Damping: &Damping{HalfLife: 45, Reuse: 750, Suppress: 1900, MaxSuppress: 180},
		Neighbors: []FRRNeighbor{{Address: u.ToFRR.Edge4, ASN: 65002, IPv4: true, IPv6: true}},
	}.String())
	config := func(tag int, networks ...netip.Prefix) string {
		return BIRDConfig{ASN: 65002, RouterID: "10.77.1.1", Networks: networks, Neighbors: []BIRDNeighbor{{
			Address: u.ToFRR.Peer4, ASN: 65001, IPv4: true, IPv6: true,
			Export: fmt.Sprintf("filter { if source != RTS_STATIC then reject; bgp_community.add((65002, %d)); accept; }", tag),
		}}}.String()
	}
	bird := u.Edge.BIRD(config(0, bird4, bird6))
	awaitSession(t, frr, u.ToFRR.Edge4)
	routes := func(prefix netip.Prefix, n int) {
		t.Helper()
		Eventually(t, 5*time.Second, "routes", func() error {
			paths, err := frr.Routes(prefix)
			if err == nil && len(paths) != n {
				err = fmt.Errorf("%+v", paths)
			}
			return err
		})
	}
	routes(bird4, 1)
	routes(bird6, 1)
	charged := func(what string, prefix netip.Prefix, want Flaps) {
		t.Helper()
		want.From = u.ToFRR.Edge4
		Eventually(t, 5*time.Second, what, func() error {
			got, err := frr.Flaps(prefix)
			if err != nil || len(got) != 1 {
				return fmt.Errorf("%+v, %v", got, err)
			}
			now := got[0]
			if lost := want.Penalty - now.Penalty; lost >= 0 && lost < 20 { // by the half-life, on a slow machine
				now.Penalty = want.Penalty
			}
			if now != want {
				return fmt.Errorf("%+v, want %+v", got[0], want)
			}
			return nil
		})
	}
	configure := func(text string) {
		t.Helper()
		if err := bird.Configure(text); err != nil {
			t.Fatal(err)
		}
	}

	configure(config(1, bird4, bird6))
	charged("another community", bird4, Flaps{Penalty: 500, Count: 1})
	before := updates(t, frr, u.ToFRR.Edge4)
	if _, err := bird.Birdc("reload out n1"); err != nil {
		t.Fatal(err)
	}
	Eventually(t, 5*time.Second, "the routes once more", func() error {
		if updates(t, frr, u.ToFRR.Edge4) < before+2 {
			return errors.New("none has come")
		}
		return nil
	})
	configure(config(1, bird6))
	charged("a repetition of what was there and a withdrawal", bird4, Flaps{Penalty: 1500, Count: 2, History: true})
	configure(config(1, bird4, bird6))
	charged("an announcement", bird4, Flaps{Penalty: 1500, Count: 2})
	if suppressed, err := frr.Suppressed(false); err != nil || len(suppressed) > 0 {
		t.Errorf("suppressed at 1500: %v, %v", suppressed, err)
	}
	configure(config(2, bird4, bird6))
	charged("the change that reaches the threshold", bird4, Flaps{Penalty: 2000, Count: 3, Suppressed: true})
	charged("the other prefix", bird6, Flaps{Penalty: 1000, Count: 2})
	for six, want := range map[bool][]netip.Prefix{false: {bird4}, true: nil} {
		if got, err := frr.Suppressed(six); err != nil || !slices.Equal(got, want) {
			t.Errorf("suppressed: %v, %v, want %v", got, err, want)
		}
	}
}
