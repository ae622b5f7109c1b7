package router

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
		got, err := ParseOpenBGPDRoutes([]byte(golden(t, c.file)))
		got = to(c.prefix, got)
		if err != nil || len(got)+len(c.want) > 0 && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s, %s:\ngot  %+v, %v\nwant %+v", c.file, c.prefix, got, err, c.want)
		}
	}
	if got, err := ParseOpenBGPDRoutes([]byte("{\n\n}\n")); err != nil || got != nil {
		t.Errorf("an empty table: %+v, %v", got, err)
	}
	none := strings.Replace(golden(t, "openbgpd-route.json"), `"metric": 50`, `"metric": 0`, 1)
	if got, err := ParseOpenBGPDRoutes([]byte(none)); err != nil || got[0].MED != nil {
		t.Errorf("no MED: %+v, %v", got, err)
	}
	for _, bad := range []string{"", `{"rib": [{"prefix": "203.0.113.0/24", "aspath": "two", "neighbor": {"remote_addr": "10.0.0.1"}}]}`,
		`{"rib": [{"prefix": "203.0.113.0/24", "neighbor": {"remote_addr": "?"}}]}`} {
		if got, err := ParseOpenBGPDRoutes([]byte(bad)); err == nil {
			t.Errorf("%q: no error but %+v", bad, got)
		}
	}
}

func TestOpenBGPDNeighborsAreRead(t *testing.T) {
	peer := netip.MustParseAddr("10.77.1.1")
	for file, want := range map[string]Session{
		"openbgpd-neighbor.json":       {State: Established, Uptime: time.Second},
		"openbgpd-neighbor-cease.json": {State: "Idle", LastError: "Cease, administratively down: maintenance at edge"},
	} {
		list, err := ParseOpenBGPDNeighbors([]byte(golden(t, file)))
		if err != nil || len(list) != 1 || list[0].Address != peer || list[0].ASN != 4200000002 || list[0].Session != want {
			t.Errorf("%s:\ngot  %+v, %v\nwant %+v", file, list, err, want)
		}
	}
	list, err := ParseOpenBGPDNeighbors([]byte(golden(t, "openbgpd-neighbor-cease.json")))
	if err != nil {
		t.Fatal(err)
	}
	if c := list[0].Counts; *c.Updates != 14 || *c.Sent != 6 || *c.Refreshes != 0 || *c.Announced != 0 || *c.Withdrawn != 0 {
		t.Errorf("counts %v", c)
	}
	if list, err := ParseOpenBGPDNeighbors([]byte("{}")); err != nil || len(list) != 0 {
		t.Errorf("no neighbours: %+v, %v", list, err)
	}
	for _, bad := range []string{"", `{"neighbors": [{"remote_as": "x"}]}`, `{"neighbors": [{"remote_addr": "x"}]}`} {
		if got, err := ParseOpenBGPDNeighbors([]byte(bad)); err == nil {
			t.Errorf("%q: no error but %+v", bad, got)
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
	var j Journal
	lines := strings.SplitAfter(golden(t, "exabgp-up.json"), "\n")
	if err := j.Add([]byte(strings.Join(lines[:6], ""))); err != nil {
		t.Fatal(err)
	}
	if got := j.Paths(four); !reflect.DeepEqual(got, []Path{want}) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	want.Prefix, want.NextHop = six, addrs("fd77:2::1", "fe80::3cc1:35ff:feb4:98c4")
	if got := j.Paths(six); !reflect.DeepEqual(got, []Path{want}) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	up := time.UnixMicro(1796028699601821)
	if got := j.Table(); len(got) != 2 || got[0].Prefix != four || got[1].Prefix != six {
		t.Errorf("table %+v", got)
	}
	heard := func(j *Journal) Neighbor {
		list := j.Neighbors(up.Add(time.Second))
		if len(list) != 1 || list[0].Address != peer || list[0].ASN != 4200000002 {
			t.Fatalf("neighbours %+v", list)
		}
		return list[0]
	}
	if n, wanted := heard(&j), (Session{State: Established, Uptime: time.Second}); n.Session != wanted || n.Ups != 1 {
		t.Errorf("got %+v, want %+v", n, wanted)
	}
	if err := j.Add([]byte(lines[6])); err != nil { // withdraws IPv6
		t.Fatal(err)
	}
	if c := heard(&j).Counts; len(j.Paths(six)) > 0 || len(j.Paths(four)) != 1 || *c.Updates != 5 || *c.Announced != 2 || *c.Withdrawn != 1 {
		t.Errorf("after the withdrawal: %v", c)
	}

	var over Journal
	if err := over.Add([]byte(golden(t, "exabgp-down.json"))); err != nil {
		t.Fatal(err)
	}
	s := heard(&over)
	if s.State != "down" || !strings.Contains(s.LastError, "Administrative Reset") || len(over.Paths(four)) > 0 {
		t.Errorf("after the session: %+v, %+v", s, over.Paths(four))
	}
	if err := over.Add([]byte("{\n")); err == nil {
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

func TestConfiguredNeighborsOfExaBGPAreFound(t *testing.T) {
	list := ParseExaBGPConfig("process x { run /bin/cat; }\npeer-as 1;\nneighbor 10.0.0.1 {\n  description \"to city\";\n  local-as 65001;\n  peer-as 65002;\n}\n" +
		"# neighbor 10.0.0.3 {\nneighbor fd00::1 {\n peer-as 4200000002 ;\n}\nneighbor nonsense { peer-as x; }\n")
	if len(list) != 2 {
		t.Fatalf("%+v", list)
	}
	if n := list[0]; n.Address != netip.MustParseAddr("10.0.0.1") || n.ASN != 65002 || n.Description != "to city" || n.State != "down" {
		t.Errorf("%+v", n)
	}
	if n := list[1]; n.Address != netip.MustParseAddr("fd00::1") || n.ASN != 4200000002 || n.Description != "" {
		t.Errorf("%+v", n)
	}
}
