package netlab

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

// The files under testdata were printed by OpenBGPD 7.7 and ExaBGP 4.2.21 in this lab, the neighbours' JSON is shortened.

func TestOpenBGPDRoutesAreRead(t *testing.T) {
	six, four := netip.MustParsePrefix("2001:db8:200::/48"), netip.MustParsePrefix("203.0.113.0/24")
	path := Path{
		ASPath: []uint32{4200000002, 4200000002}, Origin: "igp",
		Communities: []string{"57629:101", "65535:0"}, LargeCommunities: []string{"57629:1:101"}, ExtCommunities: []string{"ro:57629:7", "rt:57629:101"},
		MED: new(uint32(50)), LocalPref: new(uint32(100)), From: netip.MustParseAddr("10.77.1.1"), Best: true,
	}
	path4, path6 := path, path
	path4.Prefix, path4.NextHop = four, addrs("10.77.1.1")
	path6.Prefix, path6.NextHop = six, addrs("fd77:1::1")
	for _, c := range []struct {
		file   string
		prefix netip.Prefix
		want   []Path
	}{
		{"openbgpd-route.json", four, []Path{path4}},
		{"openbgpd-route.json", netip.MustParsePrefix("203.0.113.0/25"), nil}, // of the shorter one only
		{"openbgpd-route-v6.json", six, []Path{path6}},
		{"openbgpd-route-own.json", netip.MustParsePrefix("198.51.100.0/24"), nil},
	} {
		got, err := parseOpenBGPDRoutes([]byte(golden(t, c.file)), c.prefix)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s, %s:\ngot  %+v, %v\nwant %+v", c.file, c.prefix, got, err, c.want)
		}
	}
	if got, err := parseOpenBGPDRoutes([]byte("{\n\n}\n"), four); err != nil || got != nil {
		t.Errorf("an empty table: %+v, %v", got, err)
	}
	none := strings.Replace(golden(t, "openbgpd-route.json"), `"metric": 50`, `"metric": 0`, 1)
	if got, err := parseOpenBGPDRoutes([]byte(none), four); err != nil || got[0].MED != nil {
		t.Errorf("no MED: %+v, %v", got, err)
	}
	for _, bad := range []string{"", `{"rib": [{"prefix": "203.0.113.0/24", "aspath": "two", "neighbor": {"remote_addr": "10.0.0.1"}}]}`,
		`{"rib": [{"prefix": "203.0.113.0/24", "neighbor": {"remote_addr": "?"}}]}`} {
		if got, err := parseOpenBGPDRoutes([]byte(bad), four); err == nil {
			t.Errorf("%q: no error but %+v", bad, got)
		}
	}
}

func TestOpenBGPDSessionsAreRead(t *testing.T) {
	peer := netip.MustParseAddr("10.77.1.1")
	log := birdLog("neighbor 10.77.1.1: state change OpenConfirm -> Established, reason: KEEPALIVE message received\n" +
		"neighbor 10.77.1.2 (x): state change OpenConfirm -> Established, reason: KEEPALIVE message received\n" +
		"neighbor 10.77.1.1: state change Established -> Idle, reason: NOTIFICATION received\n" +
		"neighbor 10.77.1.1: state change OpenConfirm -> Established, reason: KEEPALIVE message received\n")
	for file, want := range map[string]Session{
		"openbgpd-neighbor.json":       {State: Established, Uptime: time.Second, Instance: "openbgpd 42, session 2"},
		"openbgpd-neighbor-cease.json": {State: "Idle", LastError: "Cease, administratively down: maintenance at edge"},
	} {
		n, err := parseOpenBGPDNeighbor([]byte(golden(t, file)), peer)
		if got := n.session(log); err != nil || got != want {
			t.Errorf("%s:\ngot  %+v, %v\nwant %+v", file, got, err, want)
		}
	}
	n, err := parseOpenBGPDNeighbor([]byte(golden(t, "openbgpd-neighbor-cease.json")), peer)
	if c := n.counts(); err != nil || *c.Updates != 14 || *c.Sent != 6 || *c.Refreshes != 0 || *c.Announced != 0 || *c.Withdrawn != 0 {
		t.Errorf("counts %v, %v", c, err)
	}
	for _, bad := range []string{"", "{}"} {
		if _, err := parseOpenBGPDNeighbor([]byte(bad), peer); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
}

func TestExaBGPsJournalIsRead(t *testing.T) {
	peer := netip.MustParseAddr("10.77.2.1")
	four, six := netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8:200::/48")
	want := Path{
		Prefix: four, ASPath: []uint32{4200000002, 4200000002}, Origin: "igp", NextHop: addrs("10.77.2.1"),
		Communities: []string{"57629:101", "65535:0"}, LargeCommunities: []string{"57629:1:101"}, ExtCommunities: []string{"rt:57629:101", "ro:57629:7"},
		MED: new(uint32(50)), From: peer,
	}
	var j exaJournal
	lines := strings.SplitAfter(golden(t, "exabgp-up.json"), "\n")
	if err := j.add([]byte(strings.Join(lines[:6], ""))); err != nil {
		t.Fatal(err)
	}
	if got := j.paths(four); !reflect.DeepEqual(got, []Path{want}) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	want.Prefix, want.NextHop = six, addrs("fd77:2::1", "fe80::3cc1:35ff:feb4:98c4")
	if got := j.paths(six); !reflect.DeepEqual(got, []Path{want}) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	up := time.UnixMicro(1796028699601821)
	s := j.peers[peer].session(up.Add(time.Second), 42)
	if wanted := (Session{State: Established, Uptime: time.Second, Instance: "exabgp 42, session 1"}); s != wanted {
		t.Errorf("got %+v, want %+v", s, wanted)
	}
	if err := j.add([]byte(lines[6])); err != nil { // withdraws IPv6
		t.Fatal(err)
	}
	if p := j.peers[peer]; len(j.paths(six)) > 0 || len(j.paths(four)) != 1 || p.updates != 5 || p.announced != 2 || p.withdrawn != 1 {
		t.Errorf("after the withdrawal: %+v", p)
	}

	var over exaJournal
	if err := over.add([]byte(golden(t, "exabgp-down.json"))); err != nil {
		t.Fatal(err)
	}
	s = over.peers[peer].session(up, 42)
	if s.State != "down" || !strings.Contains(s.LastError, "Administrative Reset") || len(over.paths(four)) > 0 {
		t.Errorf("after the session: %+v, %+v", s, over.paths(four))
	}
	if err := over.add([]byte("{\n")); err == nil {
		t.Error("half a line is no error")
	}
}

func TestExtendedCommunitiesOfExaBGPAreReadFromTheirBytes(t *testing.T) {
	for want, value := range map[string]uint64{
		"rt:57629:101":     0x0002_e11d_0000_0065,
		"ro:57629:7":       0x0003_e11d_0000_0007,
		"rt:4200000001:9":  0x0202_fa56_ea01_0009,
		"ro:4200000001:10": 0x0203_fa56_ea01_000a,
		"as it is":         0x8006_0000_0000_0001,
	} {
		if got := exaExtended(value, "as it is"); got != want {
			t.Errorf("%x: %s, want %s", value, got, want)
		}
	}
}
