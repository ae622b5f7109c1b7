package netlab

import (
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// The files under testdata were printed by FRR 8.4.4 and BIRD 2.0.12 in this lab; neighbours' JSON is shortened.

func golden(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func addrs(list ...string) []netip.Addr {
	var out []netip.Addr
	for _, text := range list {
		out = append(out, netip.MustParseAddr(text))
	}
	return out
}

func TestFRRRoutesAreRead(t *testing.T) {
	for file, want := range map[string][]Path{
		"frr-route-none.json": nil,
		"frr-route-plain.json": {{
			Prefix: netip.MustParsePrefix("192.0.2.0/24"), ASPath: []uint32{4200000002}, Origin: "igp",
			NextHop: addrs("10.77.1.1"), From: netip.MustParseAddr("10.77.1.1"), Best: true,
		}},
		// FRR sets LOCAL_PREF to 0 for a route with 65535:0. Its own route to the prefix, the best, is left out.
		"frr-route-learned.json": {{
			Prefix: netip.MustParsePrefix("203.0.113.0/24"), ASPath: []uint32{4200000002, 4200000002, 65003}, Origin: "igp",
			NextHop: addrs("10.77.1.1"), Communities: []string{"1:2", "65535:0", "65535:65281"},
			LargeCommunities: []string{"4200000000:1:2"}, ExtCommunities: []string{"rt:65002:5", "ro:65002:6"},
			MED: new(uint32(50)), LocalPref: new(uint32(0)), OTC: new(uint32(4200000002)), From: netip.MustParseAddr("10.77.1.1"),
		}},
		"frr-route-v6.json": {{
			Prefix: netip.MustParsePrefix("2001:db8:300::/48"), ASPath: []uint32{4200000002, 4200000002}, Origin: "igp",
			NextHop: addrs("fd77:1::1", "fe80::7c7e:c8ff:fe7c:50ba"), Communities: []string{"1:2", "65535:0", "65535:65281"},
			LargeCommunities: []string{"4200000000:1:2"}, ExtCommunities: []string{"rt:65002:5", "ro:65002:6"},
			MED: new(uint32(50)), LocalPref: new(uint32(0)), OTC: new(uint32(4200000002)), From: netip.MustParseAddr("10.77.1.1"), Best: true,
		}},
	} {
		got, err := parseFRRRoutes([]byte(golden(t, file)))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v, %v\nwant %+v", file, got, err, want)
		}
	}
}

func TestBIRDRoutesAreRead(t *testing.T) {
	neighbors := map[string]netip.Addr{
		"frr": netip.MustParseAddr("10.77.1.2"), "second": netip.MustParseAddr("10.77.2.2"),
	}
	net4, net6 := netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8:200::/48")
	for file, want := range map[string][]Path{
		"bird-route-own.txt": nil,
		"bird-route-two.txt": {
			{Prefix: net4, ASPath: []uint32{65003}, Origin: "igp", NextHop: addrs("10.77.2.2"),
				LocalPref: new(uint32(100)), From: neighbors["second"], Best: true},
			{Prefix: net4, ASPath: []uint32{65001}, Origin: "igp", NextHop: addrs("10.77.1.2"),
				MED: new(uint32(0)), LocalPref: new(uint32(100)), From: neighbors["frr"]},
		},
		"bird-route-v6.txt": {
			{Prefix: net6, ASPath: []uint32{65001}, Origin: "igp", NextHop: addrs("fd77:1::2"),
				MED: new(uint32(0)), LocalPref: new(uint32(100)), From: neighbors["frr"], Best: true},
		},
		"bird-route-communities.txt": {{
			Prefix: net4, ASPath: []uint32{65001, 65001, 65001}, Origin: "igp", NextHop: addrs("10.77.1.2"),
			Communities: []string{"65001:5", "65535:0", "65535:65281"}, LargeCommunities: []string{"1:2:3"},
			ExtCommunities: []string{"rt:65001:7", "ro:65001:8"},
			MED:            new(uint32(77)), LocalPref: new(uint32(100)), OTC: new(uint32(65001)), From: neighbors["frr"], Best: true,
		}},
	} {
		got, err := parseBIRDRoutes(golden(t, file), neighbors)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v, %v\nwant %+v", file, got, err, want)
		}
	}
}

func TestFRRSessionsAreRead(t *testing.T) {
	peer := netip.MustParseAddr("10.77.1.1")
	for file, want := range map[string]Session{
		"frr-neighbor-established.json": {
			State: Established, Uptime: time.Second, Instance: "bgpd 42, session 1", PeerRole: "provider", LastError: "Waiting for peer OPEN",
		},
		"frr-neighbor-cease.json": {
			State: "Clearing", LastError: "BGP Notification received: Cease/Administrative Shutdown: maintenance at edge",
		},
	} {
		n, err := parseFRRNeighbor([]byte(golden(t, file)), peer)
		if got := n.session(42); err != nil || got != want {
			t.Errorf("%s:\ngot  %+v, %v\nwant %+v", file, got, err, want)
		}
	}
	n, err := parseFRRNeighbor([]byte(golden(t, "frr-neighbor-established.json")), peer)
	if err != nil {
		t.Fatal(err)
	}
	if c := n.counts(); *c.Updates != 5 || *c.Sent != 4 || *c.Refreshes != 0 || c.Announced != nil {
		t.Errorf("counts %+v", c)
	}
	if _, err := parseFRRNeighbor([]byte(golden(t, "frr-neighbor-unknown.json")), peer); err == nil {
		t.Error("an unknown neighbour is no error")
	}
}

// birdLog is a bird process that has logged something.
type birdLog string

func (birdLog) PID() int      { return 42 }
func (l birdLog) Log() string { return string(l) }

func TestBIRDSessionsAreRead(t *testing.T) {
	const log birdLog = `2026-11-30 08:08:05.100 <TRACE> frr: BGP session established
2026-11-30 08:08:06.100 <TRACE> frr: State changed to down
2026-11-30 08:08:07.100 <TRACE> frr: BGP session established
2026-11-30 08:08:07.161 <TRACE> second: BGP session established
`
	list := parseBIRDProtocols(golden(t, "bird-protocols.txt"))
	if len(list) != 3 {
		t.Fatalf("%d BGP protocols: %+v", len(list), list)
	}
	began := time.Date(2026, 11, 30, 8, 8, 7, 0, time.Local)
	frr, err := list[0].session(began.Add(time.Minute), log)
	if err != nil {
		t.Fatal(err)
	}
	if frr.State != Established || frr.PeerRole != "customer" || frr.Uptime < 59*time.Second || frr.Uptime > 61*time.Second ||
		frr.Instance != "bird 42, session 2" {
		t.Errorf("%+v", frr)
	}
	if p := list[0]; p.announced != 2 || p.withdrawn != 0 {
		t.Errorf("counts %d, %d: want the sums over both channels", p.announced, p.withdrawn)
	}
	if second, err := list[1].session(began, log); err != nil || second.State != Established || second.PeerRole != "" {
		t.Errorf("%+v, %v: want no role, since only we sent one", second, err)
	}
	if nobody, err := list[2].session(began, log); err != nil || nobody != (Session{State: "Idle"}) {
		t.Errorf("%+v, %v", nobody, err)
	}

	cease := parseBIRDProtocols(golden(t, "bird-protocols-cease.txt"))
	want := Session{State: "Active", LastError: "Received: Administrative shutdown: FRR maintenance"}
	if got, err := cease[0].session(began, log); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestParsersRefuseWhatTheyCannotRead(t *testing.T) {
	if _, err := parseFRRRoutes([]byte("% BGP instance not found")); err == nil {
		t.Error("FRR: a text is no route")
	}
	if _, err := parseBIRDRoutes("10.0.0.0/99  unicast [n1 x] * (100)\n", nil); err == nil {
		t.Error("BIRD: /99 is no prefix")
	}
	text := "10.0.0.0/8  unicast [n1 x] * (100)\n\tBGP.as_path: 1 two\n"
	if _, err := parseBIRDRoutes(text, map[string]netip.Addr{"n1": {}}); err == nil {
		t.Error("BIRD: \"two\" is no ASN")
	}
	p := birdProtocol{name: "n1", state: Established, since: "08:00:01"}
	if _, err := p.session(time.Now(), birdLog("")); err == nil || !strings.Contains(err.Error(), "timeformat") {
		t.Errorf("BIRD: a time without a date: %v", err)
	}
	p.since = "2026-11-30 08:08:06.295722"
	if _, err := p.session(time.Now(), birdLog("")); err == nil || !strings.Contains(err.Error(), "debug protocols") {
		t.Errorf("BIRD: a log without events: %v", err)
	}
}

func TestConfigErrorsOfBgpdAreFound(t *testing.T) {
	log := "BGP: starting\nBGP: [SHWNK] No such command on config line 5:  set communty 1:2\n"
	if err := configErrors(log); err == nil || !strings.Contains(err.Error(), "line 5:  set communty 1:2") {
		t.Errorf("error %v", err)
	}
	if err := configErrors("BGP: starting\n"); err != nil {
		t.Errorf("error %v", err)
	}
}

func TestCPUTimeSurvivesAnyProcessName(t *testing.T) {
	stat := "12 (a) b (c) R 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0"
	if got, err := cpuTime(stat); err != nil || got != 2*time.Second {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := cpuTime("12 (short) R"); err == nil {
		t.Error("a short line is no error")
	}
}
