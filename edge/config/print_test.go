package config

import (
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/healthcheck"
	"github.com/catchment-bgp/catchment/load"
)

func TestPrintedConfigLoadsAgain(t *testing.T) {
	for _, name := range []string{"minimal.yaml", "contract.yaml", "edge.yaml", "problems/base.yaml"} {
		t.Run(name, func(t *testing.T) {
			first, _ := parseFile(t, name)
			text := printed(t, first)
			second, _, err := Parse("printed", []byte(text), Options{ReadFile: testOptions().ReadFile})
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			mask(first)
			if !reflect.DeepEqual(first, second) {
				t.Errorf("first  %+v\nsecond %+v\n%s", first, second, text)
			}
		})
	}
}

func TestAPrintedReserveLoadsAgain(t *testing.T) {
	c := edited(t, "x", "key: edge.key}", "key: edge.key}, standby: true")
	again, _, err := Parse("printed", []byte(printed(t, c)), Options{ReadFile: testOptions().ReadFile})
	if err != nil || !again.Central.Standby {
		t.Errorf("%v: a reserve is printed as %s", err, printed(t, c))
	}
}

func printed(t interface{ Fatal(...any) }, cfg *Config) string {
	data, err := cfg.YAML()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// mask does to a Config what printing does to its passwords.
func mask(cfg *Config) {
	for i := range cfg.Neighbors {
		if n := &cfg.Neighbors[i]; n.Password != "" && n.PasswordFile == "" {
			n.Password = Mask
		}
	}
}

func TestPrintingNeverShowsAPassword(t *testing.T) {
	cfg, _ := parseFile(t, "edge.yaml")
	text := printed(t, cfg)
	for _, n := range cfg.Neighbors {
		if n.Password != "" && strings.Contains(text, n.Password) {
			t.Errorf("the password of %s is printed", n.Name)
		}
	}
	if !strings.Contains(text, "password: '********'") && !strings.Contains(text, `password: "********"`) {
		t.Errorf("no mask in\n%s", text)
	}
}

func TestPrintingMasksCredentialsOfChecks(t *testing.T) {
	text := strings.Replace(read(t, "minimal.yaml"), `http: {url: "http://198.51.100.1:8080/health"}`,
		`http: {url: "http://u:hunter2@198.51.100.1/", headers: {authorization: Bearer hunter3, X-Y: seen}}`, 1)
	cfg, _, err := Parse("f", []byte(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if h := cfg.Services[0].Checks[0].HTTP; h.URL != "http://u:hunter2@198.51.100.1/" || h.Headers["authorization"] != "Bearer hunter3" {
		t.Fatalf("check: %+v", h)
	}
	out := printed(t, cfg)
	if strings.Contains(out, "hunter") || !strings.Contains(out, "X-Y: seen") || !strings.Contains(out, "u:xxxxx@198") {
		t.Errorf("printed:\n%s", out)
	}
	_, _, err = Parse("f", []byte(strings.Replace(text, "http://u:", "ftp://u:", 1)), Options{})
	if err == nil || strings.Contains(err.Error(), "hunter") {
		t.Errorf("message: %v", err)
	}
	_, _, err = Parse("f", []byte(strings.Replace(text, "hunter2@", "hunter2@%zz", 1)), Options{})
	if err == nil || strings.Contains(err.Error(), "hunter") {
		t.Errorf("message: %v", err)
	}
}

func TestPrintedMinimalShowsEveryDefault(t *testing.T) {
	cfg, _ := parseFile(t, "minimal.yaml")
	text := printed(t, cfg)
	for _, want := range []string{
		"control: unix:///run/catchment/edge.sock", "state_dir: /var/lib/catchment", "port: 179", "multihop: 1",
		"hold_time: 9s", "families: [ipv4]", "neighbors: [transit-a]", "require: all", "interval: 1s",
		"fast_interval: 500ms", "timeout: 500ms", "rise: 2", "fall: 2", "jitter: 0.1", "scope: hard", "restart_grace: 1s",
		"drain: 30s", "leave_hold: 2s", "mode: \"off\"", "dwell_up: 2m", "dwell_down: 15m", "return_after: [10s, 1m, 5m, 30m]",
		"ipv4: 10.77.1.1", "return: routed", "require: default", "grace: 5s", "interface: lo",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestWhateverIsValidPrintsAndLoadsAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawConfig(t)
		text := printed(t, want)
		got, _, err := Parse("printed", []byte(text), Options{ReadFile: os.ReadFile})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v\n%s", got, want, text)
		}
	})
}

func drawDuration(t *rapid.T, lo, hi time.Duration, label string) time.Duration {
	return time.Duration(rapid.Int64Range(int64(lo), int64(hi)).Draw(t, label))
}

// drawText draws texts that YAML likes to take for something else.
func drawText(t *rapid.T, label string) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "true", "no", "~", "null", "1e3", "0x10", "- a", "a: b", "#x", "${", "'", `"`, "1:30", "é☃"}),
		rapid.StringMatching(`[ -~]{1,20}`),
	).Filter(func(s string) bool { return !variableRE.MatchString(s) }).Draw(t, label)
}

func drawCommunities(t *rapid.T) community.Set {
	return community.NewSet(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) community.Value {
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			return community.NewStandard(rapid.Uint16Max(65534).Draw(t, "asn"), rapid.Uint16().Draw(t, "value"))
		case 1:
			return community.NewLarge(rapid.Uint32().Draw(t, "a"), rapid.Uint32().Draw(t, "b"), rapid.Uint32().Draw(t, "c"))
		}
		return community.NewExtended([8]byte(rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "octets")))
	}), 0, 5).Draw(t, "communities")...)
}

func drawMetric(t *rapid.T, label string) announcer.Metric {
	if !rapid.Bool().Draw(t, label+" set") {
		return announcer.Metric{}
	}
	return announcer.Metric{Value: rapid.Uint32().Draw(t, label), Set: true}
}

func drawConfig(t *rapid.T) *Config {
	cfg := &Config{
		Node: rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,62}`).Draw(t, "node"), ASN: 57629,
		RouterID: netip.AddrFrom4([4]byte{10, 77, 0, rapid.Byte().Draw(t, "router id")}),
		StateDir: "/var/lib/catchment", Control: "/run/edge.sock",
		Metrics: rapid.SampledFrom([]string{"", "127.0.0.1:9179", "[::1]:9179", ":9179"}).Draw(t, "metrics"),
		Load: LoadControl{
			Mode:          rapid.SampledFrom([]LoadMode{LoadOff, LoadThreshold, LoadCurve, LoadDamped, LoadPI}).Draw(t, "mode"),
			Target:        rapid.Float64Range(0.0001, 1).Draw(t, "target"),
			Interval:      drawDuration(t, time.Second, time.Hour, "load interval"),
			AllowWithdraw: rapid.Bool().Draw(t, "allow"),
			DwellUp:       drawDuration(t, time.Second, day, "dwell up"),
			DwellDown:     drawDuration(t, time.Second, day, "dwell down"),
			DownAfter:     drawDuration(t, time.Second, day, "down after"),
			DeadTime:      drawDuration(t, time.Second, time.Hour, "dead time"),
			Node:          drawResources(t),
			Quality:       rapid.SampledFrom([]time.Duration{0, 5 * time.Second, time.Hour}).Draw(t, "quality"),
			Slowdown:      drawCurve(t, "slowdown"), Drop: drawCurve(t, "drop"),
			Flap: Flap{
				Profiles:    rapid.SampledFrom([][]FlapProfile{{FlapCisco}, {FlapJuniper}, {FlapJuniper, FlapCisco}}).Draw(t, "profiles"),
				Exploration: rapid.Float64Range(1, 10).Draw(t, "exploration"), Margin: rapid.Float64Range(0, 0.9).Draw(t, "margin"),
			},
		},
		LeaveHold:   drawDuration(t, 0, time.Minute, "leave hold"),
		WayBack:     WayBack{Required: rapid.Bool().Draw(t, "required"), Grace: drawDuration(t, 0, time.Hour, "grace")},
		ReturnAfter: []time.Duration{drawDuration(t, time.Second, time.Hour, "return"), drawDuration(t, 2*time.Hour, day, "return")},
		Links: []Link{{
			Name: "l", Capacity: rapid.Uint64Range(0, maxBitRate).Draw(t, "capacity"), Landing: rapid.Float64Range(0, 1).Draw(t, "landing"),
			Smooth: drawDuration(t, 0, time.Minute, "smooth"),
			Fast:   &Source{Interface: "eth1", Direction: rapid.SampledFrom([]load.Direction{load.Busier, load.Transmit, load.Receive}).Draw(t, "direction")},
			Exact: &Source{Delay: drawDuration(t, 0, time.Hour, "delay"), Average: drawDuration(t, 0, time.Hour, "average"), Prometheus: &Prometheus{
				URL: "http://x/", Query: drawText(t, "query") + "\nx", Period: drawDuration(t, time.Second, time.Hour, "period"),
			}},
		}},
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "neighbors") {
		cfg.Neighbors = append(cfg.Neighbors, drawNeighbor(t, i))
	}
	cfg.Services = []Service{drawService(t, cfg.Neighbors)}
	return cfg
}

// drawResources draws what is watched, or nothing.
func drawResources(t *rapid.T) load.Resources {
	if !rapid.Bool().Draw(t, "resources") {
		return load.Resources{}
	}
	return load.Resources{
		CPU: true, Interfaces: []load.Interface{{Name: "eth0"}, {Name: "eth1", Speed: 1e9}}, Disks: []string{"*"},
		Sessions: rapid.IntRange(0, 1000).Draw(t, "sessions"), PressureIO: rapid.SampledFrom([]float64{0, 0.2}).Draw(t, "pressure"),
		Period: drawDuration(t, time.Second, time.Minute, "period"), SessionsPeriod: drawDuration(t, time.Second, time.Hour, "sessions period"),
	}
}

// drawCurve draws corners whose loads grow and whose shares do not fall.
func drawCurve(t *rapid.T, label string) []Point {
	var out []Point
	for i := range rapid.IntRange(0, 3).Draw(t, label) {
		out = append(out, Point{float64(i) + rapid.Float64Range(0, 0.9).Draw(t, label), (float64(i) + rapid.Float64Range(0, 1).Draw(t, label)) / 3})
	}
	return out
}

func drawNeighbor(t *rapid.T, i int) Neighbor {
	n := Neighbor{
		Neighbor: announcer.Neighbor{
			Name: fmt.Sprint("n", i), Address: netip.AddrFrom4([4]byte{10, 0, byte(i), 2}),
			Port: rapid.Uint16Min(1).Draw(t, "port"), ASN: rapid.Uint32Range(64512, 65534).Draw(t, "asn"),
			Kind:         rapid.SampledFrom([]announcer.Kind{announcer.Transit, announcer.Peer, announcer.IX, announcer.RouteServer}).Draw(t, "kind"),
			LocalAddress: netip.AddrFrom4([4]byte{10, 0, byte(i), 1}),
			BindDevice:   rapid.SampledFrom([]string{"", "eth1", "1e3", "true"}).Draw(t, "device"),
			Password:     rapid.SampledFrom([]string{"", Mask}).Draw(t, "password"),
			TTLSecurity:  rapid.Bool().Draw(t, "ttl"), Multihop: rapid.Uint8Range(1, 254).Draw(t, "multihop"),
			HoldTime: time.Duration(rapid.IntRange(3, 65535).Draw(t, "hold")) * time.Second,
			IPv4:     true, IPv6: rapid.Bool().Draw(t, "ipv6"),
			Listen: rapid.Bool().Draw(t, "listen"), AcceptDefault: rapid.Bool().Draw(t, "default"),
		},
		AllowPrepend: true, MaxPrefixes: rapid.IntRange(1, 1000).Draw(t, "max"),
		Contact: drawText(t, "contact"), Prepend: rapid.IntRange(0, 5).Draw(t, "prepend"),
		MED: drawMetric(t, "med"), Communities: drawCommunities(t), Link: "l",
		Weight:    rapid.Float64Range(0.001, 1000).Draw(t, "weight"),
		Symmetric: rapid.Bool().Draw(t, "symmetric"), NextHop4: netip.AddrFrom4([4]byte{10, 0, byte(i), 1}),
	}
	if n.Symmetric {
		n.Kind, n.Multihop = announcer.Transit, 1
	}
	if rapid.Bool().Draw(t, "internal") {
		n.Kind, n.ASN, n.Prepend, n.LocalPref = announcer.Internal, 57629, 0, drawMetric(t, "local_pref")
	}
	if rapid.Bool().Draw(t, "extended next hop") {
		n.NextHop4, n.ExtendedNextHop = netip.MustParseAddr("fd77::1"), true
	}
	if rapid.Bool().Draw(t, "labels") {
		n.Labels = map[string]string{"Circuit": drawText(t, "label"), "a.b": drawText(t, "label")}
	}
	if n.Kind != announcer.Internal {
		n.Ladder = append(n.Ladder, Rung{Prepend: n.Prepend + 1, PrependSet: true, Communities: drawCommunities(t)})
	}
	n.Ladder = append(n.Ladder,
		Rung{MED: announcer.Metric{Value: 1, Set: true}, GSHUT: true, Sheds: rapid.Float64Range(0, 1).Draw(t, "sheds"), ShedsSet: true, Leaves: rapid.Bool().Draw(t, "leaves")},
		Rung{Withdraw: true, Prefixes: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}})
	return n
}

func drawService(t *rapid.T, neighbors []Neighbor) Service {
	s := Service{
		Name: "video", Prefixes: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")},
		Interface: rapid.SampledFrom([]string{"lo", "no", "12"}).Draw(t, "interface"), Communities: drawCommunities(t),
		Drain: drawDuration(t, 0, day, "drain"),
		Require: rapid.SampledFrom([]healthcheck.Require{
			{}, {Mode: healthcheck.RequireAny}, {Mode: healthcheck.RequireAtLeast, N: 2}, {Mode: healthcheck.RequirePercent, N: 50},
		}).Draw(t, "require"),
	}
	for _, n := range neighbors {
		s.Neighbors = append(s.Neighbors, n.Name)
	}
	if rapid.Bool().Draw(t, "vip") {
		s.VIPs = []netip.Prefix{netip.MustParsePrefix("198.51.100.1/32")}
	}
	for i := range 2 {
		c := healthcheck.Check{
			Name: fmt.Sprint("c", i), Interval: drawDuration(t, 2*time.Second, time.Hour, "interval"),
			Timeout: drawDuration(t, time.Millisecond, time.Second, "timeout"), Rise: rapid.IntRange(1, 1000).Draw(t, "rise"),
			Fall: rapid.IntRange(1, 1000).Draw(t, "fall"), Soft: rapid.Bool().Draw(t, "soft"),
			Jitter:       rapid.Float64Range(0, 0.5).Draw(t, "jitter"),
			RestartGrace: drawDuration(t, 0, time.Minute, "grace"),
		}
		c.FastInterval = drawDuration(t, time.Second, c.Interval, "fast")
		drawKind(t, &c)
		s.Checks = append(s.Checks, c)
	}
	return s
}

// Small durations and rates print in the largest unit that is exact, and parse
// to the same again.
func TestDurationsAndRatesPrintAsPeopleWriteThem(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 500 * time.Millisecond: "500ms", 9 * time.Second: "9s", time.Minute: "1m", 90 * time.Second: "1m30s",
		time.Hour: "1h", 90 * time.Minute: "1h30m", time.Hour + time.Second: "1h0m1s", 10 * time.Minute: "10m", 100 * time.Hour: "100h",
	} {
		if got := duration(d).String(); got != want {
			t.Errorf("%v prints as %s, want %s", d, got, want)
		}
	}
	for bits, want := range map[uint64]string{1: "1bps", 1500: "1500bps", 2000: "2kbps", 15e8: "1500Mbps", 1e10: "10Gbps", 4e14: "400Tbps"} {
		if got, err := bitRate(bits).MarshalText(); err != nil || string(got) != want {
			t.Errorf("%d bit/s prints as %s, want %s (%v)", bits, got, want, err)
		}
	}
	for text, want := range map[string]uint64{
		"10Gbps": 1e10, "800Mbps": 8e8, "1.5Gbps": 15e8, "0.5kbps": 500, "2.50Tbps": 25e11, "7bps": 7, "1.000bps": 1, "0.001kbps": 1,
	} {
		got, err := parseBitRate(text)
		if err != nil || got != bitRate(want) {
			t.Errorf("%s is %v, want %d (%v)", text, got, want, err)
		}
	}
	for _, text := range []string{"", "10", "Gbps", "-1Gbps", "1.Gbps", "1 Gbps", "1e3Gbps", "0.0001kbps", "9999999999999999Gbps", "999999999999999Tbps"} {
		if got, err := parseBitRate(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func TestNearestKeyIsFoundOnlyWhenNear(t *testing.T) {
	known := []string{"name", "hold_time", "local_address", "address", "asn"}
	for s, want := range map[string]string{
		"hold_tme": "hold_time", "holdtime": "hold_time", "HOLD_TIME": "hold_time", "adress": "address", "localaddress": "local_address",
		"nam": "name", "colour": "", "x": "", "": "", strings.Repeat("name", 100): "",
	} {
		if got := nearest(s, known); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.StringMatching(`[a-c]{0,8}`).Draw(t, "a"), rapid.StringMatching(`[a-c]{0,8}`).Draw(t, "b")
		if got, want := distance(a, b), slowDistance(a, b); got != want {
			t.Fatalf("%q %q: %d, want %d", a, b, got, want)
		}
	})
}

// slowDistance is the definition, as it stands in the books.
func slowDistance(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	replace := 1
	if a[0] == b[0] {
		replace = 0
	}
	return slices.Min([]int{slowDistance(a[1:], b) + 1, slowDistance(a, b[1:]) + 1, slowDistance(a[1:], b[1:]) + replace})
}
