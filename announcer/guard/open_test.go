package guard

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// unhex reads hex with spaces.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const ffs = "ffffffffffffffffffffffffffffffff"

func TestOpenGoldenBytes(t *testing.T) {
	both := familySet(1<<IPv4 | 1<<IPv6)
	id := netip.MustParseAddr("10.77.0.1")
	for name, tt := range map[string]struct {
		open open
		want string
	}{
		"everything": {
			open{asn: 57629, hold: 9, id: id, families: both, refresh: true, extended: true, role: Customer, fourOctet: true},
			ffs + "003e 01 04 e11d 0009 0a4d0001 21" +
				"02 1f 0104 0001 00 01 0104 0002 00 01 0200 0506 0001 0001 0002 0901 03 4104 0000e11d",
		},
		"four-octet AS number": {
			open{asn: 4200000000, hold: 90, id: id, families: 1 << IPv6, fourOctet: true},
			ffs + "002b 01 04 5ba0 005a 0a4d0001 0e 02 0c 0104 0002 00 01 4104 fa56ea00",
		},
		"no capability": {
			open{asn: 65001, hold: 180, id: id},
			ffs + "001d 01 04 fde9 00b4 0a4d0001 00",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got, want := tt.open.append(nil), unhex(t, tt.want); !bytes.Equal(got, want) {
				t.Errorf("\n got %x\nwant %x", got, want)
			}
		})
	}
}

func TestOpenSurvivesTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := open{
			asn:       rapid.Uint32Range(1, 1<<32-2).Draw(t, "asn"),
			hold:      rapid.Uint16().Draw(t, "hold"),
			id:        netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "id"))),
			families:  familySet(rapid.SampledFrom([]int{2, 4, 6}).Draw(t, "families")),
			refresh:   rapid.Bool().Draw(t, "refresh"),
			extended:  rapid.Bool().Draw(t, "extended"),
			role:      Role(rapid.IntRange(0, 5).Draw(t, "role")),
			fourOctet: true, multiprotocol: true,
		}
		b := want.append(nil)
		kind, length, f := checkHeader(b[:headerLen])
		if f != nil || kind != typeOpen || length != len(b) {
			t.Fatalf("header of type %d, length %d, %v", kind, length, f)
		}
		got, f := parseOpen(b[headerLen:])
		if f != nil || got != want {
			t.Fatalf("\n got %+v (%v)\nwant %+v", got, f, want)
		}
	})
}

// fixed is the part of an OPEN before the optional parameters' length.
const fixed = "04 fde9 005a 0a000002 "

func TestParseOpenAccepts(t *testing.T) {
	plain := open{asn: 65001, hold: 90, id: routerID, families: 1 << IPv4}
	with := func(change func(*open)) open { o := plain; change(&o); return o }
	for name, tt := range map[string]struct {
		body string
		want open
	}{
		"no parameters: IPv4 is implied": {"00", plain},
		"an unknown capability":          {"06 02 04 46 02 abcd", plain},
		"one parameter for each capability": {"0c 0202 0200 0206 4104 0000fde9", with(func(o *open) {
			o.refresh, o.fourOctet = true, true
		})},
		"IPv6 only": {"08 0206 0104 0002 00 01", with(func(o *open) {
			o.families, o.multiprotocol = 1<<IPv6, true
		})},
		"a family that we do not know": {"08 0206 0104 0001 00 80", with(func(o *open) {
			o.families, o.multiprotocol = 0, true
		})},
		"the same role twice": {"08 0206 0901 03 0901 03", with(func(o *open) { o.role = Customer })},
		"extended length (RFC 9072)": {"ff ff 000e 02 000b 4104 0000fde9 0901 00 0200", with(func(o *open) {
			o.refresh, o.fourOctet, o.role = true, true, Provider
		})},
		"next hop tuples": {"10 020e 050c 0001 0001 0001 0001 0001 0002", with(func(o *open) { o.extended = true })},
	} {
		t.Run(name, func(t *testing.T) {
			got, f := parseOpen(unhex(t, fixed+tt.body))
			if f != nil {
				t.Fatalf("refused: %s", f.reason)
			}
			if got != tt.want {
				t.Errorf("\n got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestParseOpenRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		body    string
		subcode byte
		data    string
	}{
		"version 3":                      {"03 fde9 005a 0a000002 00", openVersion, "0004"},
		"parameters that are not there":  {fixed + "02", openUnspecific, ""},
		"bytes after the parameters":     {fixed + "00 0200", openUnspecific, ""},
		"half a parameter":               {fixed + "01 02", openUnspecific, ""},
		"a parameter that is cut off":    {fixed + "03 02 02 41", openUnspecific, ""},
		"half a capability":              {fixed + "03 02 01 41", openUnspecific, ""},
		"a capability that is cut off":   {fixed + "04 02 02 41 04", openUnspecific, ""},
		"authentication":                 {fixed + "04 01 02 0000", openParameter, ""},
		"a short multiprotocol":          {fixed + "07 0205 0103 000100", openUnspecific, ""},
		"a short AS number":              {fixed + "06 0204 4102 fde9", openUnspecific, ""},
		"a role of two bytes":            {fixed + "06 0204 0902 0303", openUnspecific, ""},
		"a refresh with a value":         {fixed + "05 0203 0201 00", openUnspecific, ""},
		"next hop tuples of five bytes":  {fixed + "09 0207 0505 0001000100", openUnspecific, ""},
		"an extended length too long":    {fixed + "ff ff 0100 02 0000", openUnspecific, ""},
		"an extended length too short":   {fixed + "ff ff 0000 02 0000", openUnspecific, ""},
		"an extended parameter, cut off": {fixed + "ff ff 0002 02 00", openUnspecific, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, f := parseOpen(unhex(t, tt.body))
			if f == nil {
				t.Fatal("accepted")
			}
			n := f.notify
			if n.code != codeOpen || n.subcode != tt.subcode || !bytes.Equal(n.data, unhex(t, tt.data)) {
				t.Errorf("%s (subcode %d, data %x) for: %s", n, n.subcode, n.data, f.reason)
			}
		})
	}
}

func TestNegotiate(t *testing.T) {
	config := Config{LocalASN: ourASN, PeerASN: routerASN, RouterID: ourID, Families: []Family{IPv4, IPv6}}
	for name, tt := range map[string]struct {
		change  func(*open)
		subcode byte
		data    string
	}{
		"another AS":            {func(o *open) { o.asn = 65002 }, openPeerAS, ""},
		"AS 0":                  {func(o *open) { o.asn = 0 }, openPeerAS, ""},
		"router ID 0.0.0.0":     {func(o *open) { o.id = netip.IPv4Unspecified() }, openIdentifier, ""},
		"hold time 0":           {func(o *open) { o.hold = 0 }, openHoldTime, ""},
		"hold time 1":           {func(o *open) { o.hold = 1 }, openHoldTime, ""},
		"hold time 2":           {func(o *open) { o.hold = 2 }, openHoldTime, ""},
		"no family in common":   {func(o *open) { o.families = 0 }, openCapability, "0104 0001 00 01 0104 0002 00 01"},
		"several roles":         {func(o *open) { o.roleConflict = true }, openRole, ""},
		"our router ID in eBGP": {func(o *open) { o.id = ourID }, 0, ""},
		"hold time 3":           {func(o *open) { o.hold = 3 }, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			them := routerOpen()
			tt.change(&them)
			a, f := config.negotiate(config.ours(9*time.Second), them)
			if tt.subcode == 0 {
				if f != nil || a.hold != min(9, time.Duration(them.hold))*time.Second {
					t.Errorf("hold %s, fault %v", a.hold, f)
				}
				return
			}
			if f == nil {
				t.Fatal("accepted")
			}
			if n := f.notify; n.code != codeOpen || n.subcode != tt.subcode || !bytes.Equal(n.data, unhex(t, tt.data)) {
				t.Errorf("%s (data %x) for: %s", n, n.data, f.reason)
			}
		})
	}
}

func TestOurRouterIDIsRefusedInOurAS(t *testing.T) {
	c := Config{LocalASN: ourASN, PeerASN: ourASN, RouterID: ourID, Families: []Family{IPv4}}
	them := routerOpen()
	them.asn, them.id = ourASN, ourID
	if _, f := c.negotiate(c.ours(c.HoldTime), them); f == nil || f.notify.subcode != openIdentifier {
		t.Errorf("fault %+v, want Bad BGP Identifier", f)
	}
}

func TestRolesFitAsRFC9234Says(t *testing.T) {
	allowed := map[[2]Role]bool{
		{Provider, Customer}: true, {Customer, Provider}: true, {RouteServer, RSClient}: true,
		{RSClient, RouteServer}: true, {Peer, Peer}: true,
	}
	for us := NoRole; us <= Peer; us++ {
		for them := NoRole; them <= Peer; them++ {
			c := Config{Role: us}
			want := us == NoRole || them == NoRole || allowed[[2]Role{us, them}]
			f := c.checkRole(open{role: them})
			if (f == nil) != want {
				t.Errorf("%s with %s: fault %v, want accepted %t", us, them, f, want)
			}
			if f != nil && f.notify.subcode != openRole {
				t.Errorf("%s with %s: %s", us, them, f.notify)
			}
		}
	}
}

func TestRoleCapabilities(t *testing.T) {
	for name, tt := range map[string]struct {
		caps string
		ours Role
		want bool // accepted
	}{
		"two equal":                 {"0901 00 0901 00", Customer, true},
		"two different":             {"0901 00 0901 03", Customer, false},
		"two different, none of us": {"0901 00 0901 03", NoRole, false},
		"unknown":                   {"0901 05", Customer, false},
		"unknown, none of us":       {"0901 05", NoRole, true},
		"known and unknown":         {"0901 00 0901 05", NoRole, false},
		"unknown and known":         {"0901 05 0901 00", NoRole, false},
	} {
		t.Run(name, func(t *testing.T) {
			var o open
			if f := o.parseCapabilities(unhex(t, tt.caps)); f != nil {
				t.Fatal(f.reason)
			}
			c := Config{Role: tt.ours}
			if f := c.checkRole(o); (f == nil) != tt.want {
				t.Errorf("fault %v, want accepted %t", f, tt.want)
			}
		})
	}
}
