package router

import (
	"net/netip"
	"os"
	"reflect"
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
		got, err := ParseFRRRoutes([]byte(golden(t, file)))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v, %v\nwant %+v", file, got, err, want)
		}
	}
}

func TestBIRDRoutesAreRead(t *testing.T) {
	neighbors := []Neighbor{
		{Name: "frr", Address: netip.MustParseAddr("10.77.1.2")}, {Name: "second", Address: netip.MustParseAddr("10.77.2.2")},
	}
	frr, second := neighbors[0].Address, neighbors[1].Address
	net4, net6 := netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8:200::/48")
	for file, want := range map[string][]Path{
		"bird-route-own.txt": nil,
		"bird-route-two.txt": {
			{Prefix: net4, ASPath: []uint32{65003}, Origin: "igp", NextHop: addrs("10.77.2.2"),
				LocalPref: new(uint32(100)), From: second, Best: true},
			{Prefix: net4, ASPath: []uint32{65001}, Origin: "igp", NextHop: addrs("10.77.1.2"),
				MED: new(uint32(0)), LocalPref: new(uint32(100)), From: frr},
		},
		"bird-route-v6.txt": {
			{Prefix: net6, ASPath: []uint32{65001}, Origin: "igp", NextHop: addrs("fd77:1::2"),
				MED: new(uint32(0)), LocalPref: new(uint32(100)), From: frr, Best: true},
		},
		"bird-route-communities.txt": {{
			Prefix: net4, ASPath: []uint32{65001, 65001, 65001}, Origin: "igp", NextHop: addrs("10.77.1.2"),
			Communities: []string{"65001:5", "65535:0", "65535:65281"}, LargeCommunities: []string{"1:2:3"},
			ExtCommunities: []string{"rt:65001:7", "ro:65001:8"},
			MED:            new(uint32(77)), LocalPref: new(uint32(100)), OTC: new(uint32(65001)), From: frr, Best: true,
		}},
	} {
		got, err := ParseBIRDRoutes(golden(t, file), neighbors)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v, %v\nwant %+v", file, got, err, want)
		}
	}
}

func TestFRRNeighborsAreRead(t *testing.T) {
	peer := netip.MustParseAddr("10.77.1.1")
	for file, want := range map[string]Session{
		"frr-neighbor-established.json": {
			State: Established, Uptime: time.Second, PeerRole: "provider", LastError: "Waiting for peer OPEN",
		},
		"frr-neighbor-cease.json": {
			State: "Clearing", LastError: "BGP Notification received: Cease/Administrative Shutdown: maintenance at edge",
		},
	} {
		list, err := ParseFRRNeighbors([]byte(golden(t, file)))
		if err != nil || len(list) != 1 || list[0].Address != peer || list[0].ASN != 4200000002 || list[0].Session != want {
			t.Errorf("%s:\ngot  %+v, %v\nwant %+v", file, list, err, want)
		}
	}
	list, err := ParseFRRNeighbors([]byte(golden(t, "frr-neighbor-established.json")))
	if err != nil {
		t.Fatal(err)
	}
	if c := list[0].Counts; *c.Updates != 5 || *c.Sent != 4 || *c.Refreshes != 0 || c.Announced != nil || list[0].Ups != 1 {
		t.Errorf("counts %+v, established %d times", c, list[0].Ups)
	}
	if list, err := ParseFRRNeighbors([]byte(golden(t, "frr-neighbor-unknown.json"))); err != nil || len(list) != 0 {
		t.Errorf("an unknown neighbour: %+v, %v", list, err)
	}
}

func TestFRRNeighborsAtAnInterfaceHaveItsName(t *testing.T) {
	list, err := ParseFRRNeighbors([]byte(`{"eth2":{"remoteAs":65002,"nbrDesc":"to city","hostForeign":"fe80::1","bgpState":"Established"},
		"eth1":{"hostForeign":"Unknown","bgpState":"Idle"}, "10.0.0.9":{"bgpState":"Active"}}`))
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	if n := list[0]; n.Address != netip.MustParseAddr("10.0.0.9") || n.Name != "" || n.State != "Active" {
		t.Errorf("%+v", n)
	}
	if n := list[1]; n.Name != "eth1" || n.Address.IsValid() {
		t.Errorf("%+v", n)
	}
	if n := list[2]; n.Name != "eth2" || n.Address != netip.MustParseAddr("fe80::1") || n.Description != "to city" || n.ASN != 65002 {
		t.Errorf("%+v", n)
	}
}

func TestFRRsWholeTableIsRead(t *testing.T) {
	got, err := ParseFRRTable([]byte(golden(t, "frr-table.json")))
	peer := netip.MustParseAddr("10.77.1.1")
	want := []Path{{
		Prefix: netip.MustParsePrefix("203.0.113.0/24"), ASPath: []uint32{4200000002}, Origin: "igp", NextHop: []netip.Addr{peer}, From: peer, Best: true,
	}} // its own 198.51.100.0/24 is left out
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
	for _, empty := range []string{"", "\n", "{}", `{"routes": {  }  }`} {
		if got, err := ParseFRRTable([]byte(empty)); err != nil || got != nil {
			t.Errorf("%q: %+v, %v", empty, got, err)
		}
	}
}

func TestBIRDNeighborsAreRead(t *testing.T) {
	began := time.Date(2026, 11, 30, 8, 8, 7, 0, time.UTC)
	list := ParseBIRDNeighbors(golden(t, "bird-protocols.txt"), began.Add(time.Minute))
	if len(list) != 3 {
		t.Fatalf("%d BGP protocols: %+v", len(list), list)
	}
	frr := list[0]
	if frr.State != Established || frr.PeerRole != "customer" || frr.Uptime != time.Minute-97919*time.Microsecond ||
		frr.Name != "frr" || frr.Address != netip.MustParseAddr("10.77.1.2") || frr.ASN != 65001 {
		t.Errorf("%+v", frr)
	}
	if c := frr.Counts; *c.Announced != 2 || *c.Withdrawn != 0 {
		t.Errorf("counts %v: want the sums over both channels", c)
	}
	if second := list[1]; second.State != Established || second.PeerRole != "" {
		t.Errorf("%+v: want no role, since only we sent one", second)
	}
	if nobody := list[2]; nobody.Session != (Session{State: "Idle"}) {
		t.Errorf("%+v", nobody)
	}
	cease := ParseBIRDNeighbors(golden(t, "bird-protocols-cease.txt"), began)
	want := Session{State: "Active", LastError: "Received: Administrative shutdown: FRR maintenance"}
	if len(cease) == 0 || cease[0].Session != want {
		t.Errorf("got %+v, want %+v", cease, want)
	}
}

func TestBIRDsTimesAreReadInItsUsualFormats(t *testing.T) {
	now := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	for since, want := range map[string]time.Duration{
		"07:59:30.250":               29750 * time.Millisecond,
		"07:59:30":                   30 * time.Second,
		"23:00:00":                   9 * time.Hour, // of yesterday
		"08:00:01.000":               0,
		"2026-11-29":                 32 * time.Hour,
		"2026-11-30 07:00:00.000001": time.Hour - time.Microsecond,
		"Nov-30":                     0,
	} {
		list := ParseBIRDNeighbors("up         BGP        ---        up     "+since+"  Established\n  BGP state:          Established\n", now)
		if len(list) != 1 || list[0].State != Established || list[0].Uptime != want {
			t.Errorf("since %s: %+v, want %v", since, list, want)
		}
	}
}

func TestParsersRefuseWhatTheyCannotRead(t *testing.T) {
	if _, err := ParseFRRRoutes([]byte("% BGP instance not found")); err == nil {
		t.Error("FRR: a text is no route")
	}
	if _, err := ParseBIRDRoutes("10.0.0.0/99  unicast [n1 x] * (100)\n", nil); err == nil {
		t.Error("BIRD: /99 is no prefix")
	}
	text := "10.0.0.0/8  unicast [n1 x] * (100)\n\tBGP.as_path: 1 two\n"
	if _, err := ParseBIRDRoutes(text, []Neighbor{{Name: "n1"}}); err == nil {
		t.Error("BIRD: \"two\" is no ASN")
	}
	for _, bad := range []string{"% BGP instance not found", `{"routes": {"x": []}}`, `{"routes": {"10.0.0.0/8": [{"peer": {"peerId": "?"}}]}}`, `{"routes": {"10.0.0.0/8": [7]}}`} {
		if got, err := ParseFRRTable([]byte(bad)); err == nil {
			t.Errorf("FRR: %q is no table, but %+v", bad, got)
		}
	}
	for _, bad := range []string{"% no", `{"10.0.0.1": {"remoteAs": "x"}}`} {
		if got, err := ParseFRRNeighbors([]byte(bad)); err == nil {
			t.Errorf("FRR: %q tells no neighbours, but %+v", bad, got)
		}
	}
}
