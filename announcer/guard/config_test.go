package guard

import (
	"net/netip"
	"strings"
	"testing"
	"time"
)

func goodConfig() Config {
	return Config{
		Name: "r1", LocalASN: ourASN, PeerASN: routerASN, RouterID: ourID,
		Peer: netip.MustParseAddrPort("192.0.2.1:179"), HoldTime: 9 * time.Second,
		Families: []Family{IPv4}, Leg: netip.MustParseAddrPort("127.0.0.1:1790"),
	}
}

func TestNewRefuses(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"Name is empty":                func(c *Config) { c.Name = "" },
		"AS number 0 is reserved":      func(c *Config) { c.LocalASN = 0 },
		"AS number 23456 is reserved":  func(c *Config) { c.PeerASN = 23456 },
		"RouterID invalid IP":          func(c *Config) { c.RouterID = netip.Addr{} },
		"RouterID ::1":                 func(c *Config) { c.RouterID = loopback6 },
		"Peer invalid AddrPort":        func(c *Config) { c.Peer = netip.AddrPort{} },
		"Peer 192.0.2.1:0":             func(c *Config) { c.Peer = netip.AddrPortFrom(c.Peer.Addr(), 0) },
		"is link-local: add its inter": func(c *Config) { c.Peer = netip.MustParseAddrPort("[fe80::1]:179") },
		"LocalAddress ::1 has another": func(c *Config) { c.LocalAddress = loopback6 },
		"is too long for an interface": func(c *Config) { c.BindDevice = "sixteen-letters!" },
		"Password has 81 bytes":        func(c *Config) { c.Password = strings.Repeat("x", 81) },
		"LegPassword has 81 bytes":     func(c *Config) { c.LegPassword = strings.Repeat("x", 81) },
		"Leg 192.0.2.1:179":            func(c *Config) { c.Leg = c.Peer },
		"HoldTime 0s":                  func(c *Config) { c.HoldTime = 0 },
		"HoldTime 2s":                  func(c *Config) { c.HoldTime = 2 * time.Second },
		"HoldTime 3.5s":                func(c *Config) { c.HoldTime = 3500 * time.Millisecond },
		"HoldTime 18h12m16s":           func(c *Config) { c.HoldTime = 65536 * time.Second },
		"Families is empty":            func(c *Config) { c.Families = nil },
		"Families has ipv4 twice":      func(c *Config) { c.Families = []Family{IPv4, IPv4} },
		"Families has invalid":         func(c *Config) { c.Families = []Family{9} },
		"ExtendedNextHop is for IPv4":  func(c *Config) { c.Families = []Family{IPv6}; c.ExtendedNextHop = true },
		"Role 6 is unknown":            func(c *Config) { c.Role = 6 },
		"roles are for eBGP":           func(c *Config) { c.Role = Peer; c.PeerASN = c.LocalASN },
		"Multihop 255":                 func(c *Config) { c.TTLSecurity, c.Multihop = true, 255 },
		"SendHoldTime -1s":             func(c *Config) { c.SendHoldTime = -time.Second },
		"guard of neighbour \"r1\"":    func(c *Config) { c.HoldTime = 1 },
	} {
		t.Run(want, func(t *testing.T) {
			c := goodConfig()
			change(&c)
			g, err := New(c)
			if err == nil || g != nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q in it", err, want)
			}
		})
	}
}

func TestNewFindsEverythingAtOnce(t *testing.T) {
	_, err := New(Config{})
	for _, want := range []string{"Name", "AS number 0", "RouterID", "Peer", "Leg", "HoldTime", "Families"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %s", err, want)
		}
	}
}

func TestNewRefusesAListenerOfAnotherFamily(t *testing.T) {
	c := goodConfig()
	c.Listener = newListener(t, "[::1]:0")
	if _, err := New(c); err == nil || !strings.Contains(err.Error(), "has another family") {
		t.Errorf("error %v", err)
	}
}

func TestNewStartsNothing(t *testing.T) {
	c := goodConfig()
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if st := g.Status(); st.State != Idle || st.HoldTime != 9*time.Second || st.LastError != "" {
		t.Errorf("status %+v", st)
	}
}

func TestNamesOfEnums(t *testing.T) {
	var got []string
	for s := Idle; s <= Established+1; s++ {
		got = append(got, s.String())
	}
	for f := Family(0); f <= IPv6; f++ {
		got = append(got, f.String())
	}
	for r := NoRole; r <= Peer+1; r++ {
		got = append(got, r.String())
	}
	want := "idle connect opensent openconfirm established invalid invalid ipv4 ipv6 " +
		"none provider route server route server client customer peer invalid"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("\n got %s\nwant %s", s, want)
	}
}
