package bmp

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	frr4 = `198.51.100.0/24 of 10.77.1.1 AS57629 at AS65001 via 10.77.1.1 path "65001 57629" [57629:101 65535:65281 57629:1:101]`
	frr6 = `2001:db8:100::/48 of 10.77.1.1 AS57629 at AS65001 via fd77:1::1 path "65001 57629" [57629:101 65535:65281 57629:1:101]`
)

func TestFRRTellsAllItHasAtTheStart(t *testing.T) {
	for file, rib := range map[string]RIB{"frr-8.4.4-post-dump.txt": Post, "frr-8.4.4-pre-dump.txt": Pre} {
		messages := captured(t, file)
		s := fed(t, rib, messages...).state(start)
		if s.Router != "frr" || s.Peers != 1 || s.Done != [2]bool{true, true} || s.Spoke != [2]bool{true, true} {
			t.Errorf("%s: %+v", file, s)
		}
		if got := lines(s); !slices.Equal(got, []string{frr4, frr6}) {
			t.Errorf("%s: %q", file, got)
		}
		other := Pre
		if rib == Pre {
			other = Post
		}
		if s := fed(t, other, messages...).state(start); len(s.Routes) > 0 {
			t.Errorf("%s has routes of %s: %q", file, other, lines(s))
		}
	}
}

// TestFRRTellsWhatChanges is a peer that comes up after the session has begun. What FRR
// says of its own routes, and of peers that are down, is passed over; that it sends a
// withdrawal of 2001:db8:100::/48 and later not the route is a fault of its own.
func TestFRRTellsWhatChanges(t *testing.T) {
	table := newTable(Post, wanted)
	var told []string
	at := start
	for _, m := range captured(t, "frr-8.4.4-post-late.txt") {
		at = at.Add(time.Second)
		changed, err := feed(table, m, at)
		if err != nil {
			t.Fatal(err)
		}
		if changed {
			s := table.state(at)
			told = append(told, strings.Join(append([]string{string(rune('0' + s.Peers))}, lines(s)...), " "))
		}
	}
	want := []string{"0", "1", "1 " + frr4, "1 " + frr4, "1 " + frr4, "1 " + frr4 + " " + frr6, "1 " + frr6, "1 " + frr4 + " " + frr6, "0", "1", "1 " + frr4, "1 " + frr4}
	if !slices.Equal(told, want) {
		t.Errorf("told\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
	if s := table.state(at); s.Done != [2]bool{} {
		t.Errorf("whole without an End-of-RIB: %+v", s)
	}
	if s := table.state(at.Add(DumpTime)); s.Done != [2]bool{true, true} {
		t.Errorf("not whole after %v: %+v", DumpTime, s)
	}
}

func TestWhatATableKeeps(t *testing.T) {
	const (
		mine  = `198.51.100.0/24 of 192.0.2.1 AS57629 at AS65001 via 192.0.2.1 path "57629" [57629:101]`
		attrs = origin + path + hop + tag
		two   = `00 60 0000000000000000 ` + zeros + ` c0000201` + rest
		added = `02 1[ 45 1[ 0001 01 03 0002 01 03 ] ]`
		loc   = `03 00 0000000000000000 ` + zeros + ` 00000000 0000fde9 c00002fe 00000000 00000000 `
	)
	for _, c := range []struct {
		name string
		rib  RIB
		text string
		want []string
	}{
		{"a route", Post, up(openOurs, openTheirs) + routes("", attrs, nlri), []string{mine}},
		{"host bits are of no meaning", Post, up(openOurs, openTheirs) + routes("", attrs, `17 c63365`), nil},
		{"others cost nothing", Post, up(openOurs, openTheirs) + routes("", attrs, `18 c63365 10 c633`), nil},
		{"withdrawn", Post, up(openOurs, openTheirs) + routes("", attrs, nlri) + routes(nlri, "", ""), nil},
		{"withdrawn and announced at once", Post, up(openOurs, openTheirs) + routes(nlri, attrs, nlri), []string{mine}},
		{"the peer is down", Post, up(openOurs, openTheirs) + routes("", attrs, nlri) + `bmp[ 02 ` + peerPre + ` 01 ] `, nil},
		{"the peer is up again", Post, up(openOurs, openTheirs) + routes("", attrs, nlri) + up(openOurs, openTheirs), nil},
		{"the peer is not up", Post, routes("", attrs, nlri), nil},
		{"of the other table", Pre, up(openOurs, openTheirs) + routes("", attrs, nlri), nil},
		{"ASNs of two octets", Post, up(openOurs, openTheirs) + `bmp[ 00 ` + two + ` bgp[ 02 2[ ] 2[ ` + origin + ` 40 02 1[ 02 01 e11d ] ` + hop + tag + ` ] ` + nlri + ` ] ] `, []string{mine}},
		{"an ASN of four octets behind two", Post, up(openOurs, openTheirs) + `bmp[ 00 ` + two + ` bgp[ 02 2[ ] 2[ ` + origin + ` 40 02 1[ 02 01 5ba0 ] ` + hop + ` c0 11 1[ 02 01 0000e11d ] ` + tag + ` ] ` + nlri + ` ] ] `, []string{mine}},
		{"path identifiers, which both want", Post, up(` bgp[ 01 04 fde9 0009 c00002fe 1[ `+added+` ] ] `, ` bgp[ 01 04 e11d 0009 c0000201 1[ `+added+` ] ] `) +
			routes("", attrs, `00000007`+nlri+`00000008`+nlri) + routes(`00000007`+nlri, "", ""), []string{strings.Replace(mine, "/24", "/24 #8", 1)}},
		{"path identifiers, which we do not want", Post, up(openOurs, ` bgp[ 01 04 e11d 0009 c0000201 1[ `+added+` ] ] `) + routes("", attrs, nlri), []string{mine}},
		{"Loc-RIB", Loc, `bmp[ 03 ` + loc + zeros + ` 00000000 0000 0000 ` + openOurs + openOurs + ` ] bmp[ 00 ` + loc + ` bgp[ 02 2[ ] 2[ ` + attrs + ` ] ` + nlri + ` ] ] `,
			[]string{strings.Replace(mine, "192.0.2.1 AS57629", "invalid IP AS65001", 1)}},
		{"Loc-RIB, where Adj-RIB-In is read", Post, `bmp[ 03 ` + loc + zeros + ` 00000000 0000 0000 ` + openOurs + openOurs + ` ] bmp[ 00 ` + loc + ` bgp[ 02 2[ ] 2[ ` + attrs + ` ] ` + nlri + ` ] ] `, nil},
		{"statistics and mirrored messages", Post, `bmp[ 01 ff ] bmp[ 06 ff ] `, nil},
	} {
		s := fed(t, c.rib, split(t, initiation+c.text)...).state(start)
		if got := lines(s); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestWhatIsMalformedIsRefusedAndChangesNothing(t *testing.T) {
	const attrs = origin + path + hop + tag
	added := `02 1[ 45 1[ 0001 01 03 ] ]`
	before := up(openOurs, openTheirs) + routes("", attrs, nlri)
	for _, c := range []struct{ name, before, text, want string }{
		{"another version", before, `04 00000006 01`, "version 4 of BMP"},
		{"no size", before, `03 00000005 01`, "a message of 5 octets"},
		{"a large size", before, `03 00040001 01`, "a message of 262145 octets"},
		{"another type", before, `bmp[ 07 ]`, "a message of type 7"},
		{"Initiation", before, `bmp[ 04 0002 0001 ]`, "Initiation: it ends inside a field"},
		{"Peer Up", before, `bmp[ 03 ` + peerPre + ` ]`, "Peer Up: peer 192.0.2.1: it ends inside a field"},
		{"a peer's header", before, `bmp[ 03 00 ]`, "Peer Up: it ends inside a field"},
		{"a peer's type", before, `bmp[ 02 04 ` + peerPre[3:] + ` 01 ]`, "Peer Down: a peer of type 4"},
		{"Peer Down", before, `bmp[ 02 ` + peerPre + ` ]`, "Peer Down: it ends inside a field"},
		{"one OPEN", before, up(openOurs, ""), "it ends inside a field"},
		{"no OPEN", before, up(openOurs, ` bgp[ 04 ] `), "a BGP message of type 4 where one of type 1 must be"},
		{"no marker", before, up(openOurs, strings.Repeat("00 ", 29)), "does not start with 16 octets of 255"},
		{"parameters of an OPEN", before, up(openOurs, ` bgp[ 01 04 e11d 0009 c0000201 09 02 ] `), "OPEN: it ends inside a field"},
		{"capabilities of an OPEN", before, up(openOurs, ` bgp[ 01 04 e11d 0009 c0000201 1[ 02 1[ 41 1[ e11d ] ] ] ] `), "OPEN: capability 65 of 2 octets"},
		{"no UPDATE", before, `bmp[ 00 ` + peerPost + ` bgp[ 04 ] ]`, "a BGP message of type 4 where one of type 2 must be"},
		{"more than an UPDATE", before, `bmp[ 00 ` + peerPost + ` bgp[ 02 2[ ] 2[ ] ] 00 ]`, "1 octets are left behind the UPDATE"},
		{"attributes", before, routes("", `40 02 09`, nlri), "path attribute 2"},
		{"AS_PATH", before, routes("", origin+` 40 02 1[ 09 00 ] `, nlri), "segment type 9"},
		{"NEXT_HOP", before, routes("", origin+path+` 40 03 1[ 01 ] `, nlri), "NEXT_HOP of 1 octets"},
		{"communities", before, routes("", attrs+` c0 20 1[ 01 ] `, nlri), "large communities of 1 octets"},
		{"NLRI", before, routes(nlri, attrs, `21 c633640000`), "a prefix is longer than an address"},
		{"MP_REACH_NLRI", before, routes("", origin+path+` 90 0e 2[ 0002 01 10 00 ] `, ""), "MP_REACH_NLRI of 5 octets"},
		{"no path identifiers", up(` bgp[ 01 04 fde9 0009 c00002fe 1[ `+added+` ] ] `, ` bgp[ 01 04 e11d 0009 c0000201 1[ `+added+` ] ] `), routes("", attrs, nlri), "the session has ADD-PATH for ipv4"},
	} {
		table := fed(t, Post, split(t, initiation+c.before)...)
		want := table.state(start)
		_, err := feed(table, octetsOf(t, c.text), start)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if got := table.state(start); !slices.Equal(lines(got), lines(want)) || got.Peers != want.Peers || got.Spoke != want.Spoke {
			t.Errorf("%s: %+v, want %+v", c.name, got, want)
		}
	}
}

func TestARouterSaysWhoItIsFirstAndWhyItGoes(t *testing.T) {
	if _, err := feed(newTable(Post, wanted), octetsOf(t, `bmp[ 01 ]`), start); err == nil || !strings.Contains(err.Error(), "before the Initiation") {
		t.Errorf("%v", err)
	}
	for text, want := range map[string]string{
		`bmp[ 05 0001 2[ 0002 ] ]`:                  "out of resources",
		`bmp[ 05 0001 2[ 0002 ] 0000 2[ 62790a ] ]`: "by?",
		`bmp[ 05 ]`:      "no reason given",
		`bmp[ 05 0001 ]`: "Termination: it ends inside a field",
	} {
		_, err := feed(fed(t, Post, split(t, initiation)...), octetsOf(t, text), start)
		if err == nil || !strings.HasSuffix(err.Error(), want) || errors.Is(err, errEnded) == strings.HasPrefix(want, "Termination") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestATableIsWholeOnceEachPeerHasToldAll has a second peer without an End-of-RIB.
func TestATableIsWholeOnceEachPeerHasToldAll(t *testing.T) {
	eor := routes("", "", "") + routes("", ` 80 0f 1[ 0002 01 ] `, "")
	second := strings.ReplaceAll(up(openOurs, openTheirs), "c0000201", "c0000202")
	if s := fed(t, Post, split(t, initiation)...).state(start.Add(time.Hour)); s.Done != [2]bool{} {
		t.Errorf("whole without a peer: %+v", s)
	}
	table := fed(t, Post, split(t, initiation+up(openOurs, openTheirs)+second+eor)...)
	if s := table.state(start.Add(DumpTime - 1)); s.Done != [2]bool{} || s.Spoke != [2]bool{true, true} {
		t.Errorf("before its time: %+v", s)
	}
	if s := table.state(start.Add(DumpTime)); s.Done != [2]bool{true, true} {
		t.Errorf("after it: %+v", s)
	}
	table = fed(t, Post, split(t, initiation+up(openOurs, openTheirs)+eor)...)
	if s := table.state(start); s.Done != [2]bool{true, true} {
		t.Errorf("after End-of-RIB: %+v", s)
	}
	for _, m := range split(t, second) {
		if _, err := feed(table, m, start); err != nil {
			t.Fatal(err)
		}
	}
	if s := table.state(start); s.Done != [2]bool{true, true} || s.Peers != 2 {
		t.Errorf("with a peer that came later: %+v", s)
	}
}
