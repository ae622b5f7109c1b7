package doctor

import (
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	centralconfig "github.com/catchment-bgp/catchment/central/config"
	"github.com/catchment-bgp/catchment/edge/config"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const nodeText = `
node: msk1
asn: 57629
router_id: 10.77.0.1
state_dir: /var/lib/catchment
control: unix:///run/catchment/edge.sock
central: {address: "central.example.net:7179", tls: {ca: /etc/ca.pem, cert: /etc/edge.pem, key: /etc/edge.key}}
neighbors:
  - {name: transit-a, address: 10.77.1.2, asn: 65001, kind: transit, local_address: 10.77.1.1, password_file: /etc/a.key, next_hop: {ipv6: "fd77:1::1"}, families: [ipv4, ipv6]}
  - {name: transit-b, address: 10.77.2.2, asn: 65002, kind: transit, local_address: 10.77.2.1}
services:
  - name: video
    prefixes: [198.51.100.0/24, "2001:db8:100::/48"]
    vips: [198.51.100.1/32]
    neighbors: [transit-a, transit-b]
    checks: [{name: web, tcp: {address: "198.51.100.1:80"}}]
`

func configOf(t *testing.T, text string) *config.Config {
	t.Helper()
	c, _, err := config.Parse("edge.yaml", []byte(text), config.Options{ReadFile: func(string) ([]byte, error) { return []byte("secret"), nil }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// healthy is a node at which nothing is wrong.
func healthy(t *testing.T) *Node {
	t.Helper()
	return &Node{
		Now: now, File: "edge.yaml", Config: configOf(t, nodeText), EnvFile: "edge.env",
		VRPs: []VRP{{57629, netip.MustParsePrefix("198.51.100.0/24"), 24}, {57629, netip.MustParsePrefix("2001:db8::/32"), 48}}, VRPSource: "vrps.json",
		Routes: []RouteObject{{netip.MustParsePrefix("198.51.100.0/24"), 57629}, {netip.MustParsePrefix("2001:db8:100::/48"), 57629}}, IRRSource: "irr.txt",
		Sysctls: map[string]string{
			"net.ipv4.tcp_mtu_probing": "1", "net.ipv4.ip_nonlocal_bind": "0", "net.ipv4.conf.all.rp_filter": "0", "net.ipv4.conf.eth1.rp_filter": "2", "net.ipv4.conf.eth2.rp_filter": "0",
			"net.ipv4.conf.all.arp_ignore": "1", "net.ipv4.conf.all.arp_announce": "2",
		},
		Interfaces: []Interface{
			{"lo", true, []netip.Prefix{netip.MustParsePrefix("198.51.100.1/32")}},
			{"eth1", true, []netip.Prefix{netip.MustParsePrefix("10.77.1.1/30")}}, {"eth2", true, []netip.Prefix{netip.MustParsePrefix("10.77.2.1/30")}},
		},
		Claimed:  []netip.Prefix{netip.MustParsePrefix("198.51.100.1/32")},
		WayBack4: true, WayBack6: true,
		Paths: map[string]Path{"transit-a": {Interface: "eth1"}, "transit-b": {Interface: "eth2"}},
		Clock: Clock{Synchronised: true}, User: "catchment",
		Files: map[string]File{
			"/var/lib/catchment":       {Exists: true, Dir: true, Mode: 0o750, Readable: true, Writable: true},
			"/run/catchment/edge.sock": {Exists: true, Mode: 0o660, Writable: true}, "/etc/a.key": {Exists: true, Mode: 0o640, Readable: true}, "/etc/edge.key": {Exists: true, Mode: 0o600, Readable: true},
		},
		Certs: map[string]Cert{
			"/etc/ca.pem":   {CA: true, NotAfter: now.AddDate(5, 0, 0)},
			"/etc/edge.pem": {Name: "spiffe://catchment/edge/msk1", NotAfter: now.AddDate(0, 6, 0)},
		},
		Daemon: Daemon{Running: true, Node: "msk1", Version: "1.0", Installed: "1.0", Capabilities: 1 << capNetAdmin, KnowsCapabilities: true, NoFile: 65536, Planned: true,
			Announced: map[string]bool{"video": true}},
	}
}

func text(all []Result) string {
	var out strings.Builder
	for _, r := range all {
		out.WriteString(string(r.Level) + " " + r.Check + ": " + r.Found + " -> " + r.Mend + "\n")
	}
	return out.String()
}

func TestNothingIsWrongWithAHealthyNode(t *testing.T) {
	all := CheckNode(healthy(t))
	if n := Count(all, OK); n != len(all) || n < 20 || Failed(all) {
		t.Errorf("%d of %d are ok:\n%s", n, len(all), text(all))
	}
}

// Each fault is told by one result more that is not ok, with what mends it.
func TestEachFaultOfANodeIsToldWithWhatMendsIt(t *testing.T) {
	for name, tt := range map[string]struct {
		fault func(n *Node)
		want  string // level, check, found and mend, in part
		mend  string
	}{
		"config":             {func(n *Node) { n.Config, n.Problem = nil, "edge.yaml:3: asn: needed" }, "fail config: edge.yaml:3", "--check"},
		"config warning":     {func(n *Node) { n.Warnings = []string{"edge.yaml:9: odd"} }, "warn config: edge.yaml:9: odd", "docs/reference/config.md"},
		"secret":             {func(n *Node) { n.Unset = []string{"TRANSIT_A"} }, "warn secrets: not set here: TRANSIT_A", "edge.env"},
		"long prefix":        {func(n *Node) { n.Config.Services[0].Prefixes[0] = netip.MustParsePrefix("198.51.100.0/25") }, "warn prefix length: 198.51.100.0/25 is longer than /24", "/24"},
		"roa of another":     {func(n *Node) { n.VRPs[0].ASN = 64500 }, "fail roa: 198.51.100.0/24 from AS57629 is invalid: another AS by AS64500 198.51.100.0/24-24", "origin AS57629, prefix 198.51.100.0/24, max length 24"},
		"roa too short":      {func(n *Node) { n.VRPs[1].MaxLength = 32 }, "fail roa: 2001:db8:100::/48 from AS57629 is invalid: too long by AS57629 2001:db8::/32-32", "max length 48"},
		"no roa":             {func(n *Node) { n.VRPs = n.VRPs[1:] }, "warn roa: 198.51.100.0/24 from AS57629 is not found", "create a ROA"},
		"vrps":               {func(n *Node) { n.VRPProblem = "connection refused" }, "warn roa: the VRPs cannot be read: connection refused", "--vrps"},
		"no vrps":            {func(n *Node) { n.VRPSource = "" }, "skip roa: not looked at", ""},
		"no route":           {func(n *Node) { n.Routes = n.Routes[1:] }, "fail route object: 198.51.100.0/24 has none", `"route: 198.51.100.0/24": "origin: AS57629"`},
		"route6 of another":  {func(n *Node) { n.Routes[1].Origin = 1 }, "fail route object: 2001:db8:100::/48 has only AS1 as origin", "route6: 2001:db8:100::/48"},
		"route also another": {func(n *Node) { n.Routes = append(n.Routes, RouteObject{n.Routes[0].Prefix, 7}) }, "warn route object: 198.51.100.0/24 has AS57629, and also AS7", "deleted"},
		"wider route":        {func(n *Node) { n.Routes[0].Prefix = netip.MustParsePrefix("198.51.0.0/16") }, "warn route object: 198.51.100.0/24 has none of its own; 198.51.0.0/16 has", "create"},
		"router id":          {func(n *Node) { n.Config.RouterID = n.Config.Neighbors[0].Address }, "fail router_id: 10.77.1.2 is the address of neighbor transit-a", "router_id:"},
		"local address":      {func(n *Node) { n.Interfaces[1].Addresses = nil }, "fail local_address: 10.77.1.1 (neighbor transit-a) is on no interface", "ip address add 10.77.1.1/"},
		"interface down":     {func(n *Node) { n.Interfaces[1].Up = false }, "fail local_address: 10.77.1.1 (neighbor transit-a) is on eth1, which is down", "ip link set eth1 up"},
		"no way":             {func(n *Node) { n.Paths["transit-a"] = Path{Problem: "network is unreachable"} }, "fail neighbor: transit-a: no way to 10.77.1.2: network is unreachable", "ip route add 10.77.1.2"},
		"behind a router": {func(n *Node) {
			n.Paths["transit-b"] = Path{Interface: "eth2", Gateway: netip.MustParseAddr("10.77.2.9")}
		}, "fail neighbor: transit-b: 10.77.2.2 is behind the router 10.77.2.9", "multihop: 2"},
		"no default":         {func(n *Node) { n.WayBack6 = false }, "fail default route: IPv6 has none", "ip -6 route add default"},
		"default not needed": {func(n *Node) { n.WayBack4, n.Config.WayBack.Required = false, false }, "warn default route: IPv4 has none, and way_back does not ask", "ip route add default"},
		"strict":             {func(n *Node) { n.Sysctls["net.ipv4.conf.eth2.rp_filter"] = "1" }, "fail rp_filter: eth2: 1, strict (net.ipv4.conf.eth2.rp_filter)", "sysctl -w net.ipv4.conf.eth2.rp_filter=2"},
		"strict on all":      {func(n *Node) { n.Sysctls["net.ipv4.conf.all.rp_filter"] = "1" }, "fail rp_filter: eth2: 1, strict (net.ipv4.conf.all.rp_filter)", "sysctl -w net.ipv4.conf.eth2.rp_filter=2"},
		"strict, one link": {func(n *Node) {
			n.Paths["transit-b"] = n.Paths["transit-a"]
			n.Sysctls["net.ipv4.conf.eth1.rp_filter"] = "1"
		}, "warn rp_filter: eth1: 1, strict", "=2"},
		"arp_ignore":    {func(n *Node) { n.Sysctls["net.ipv4.conf.all.arp_ignore"] = "0" }, "warn arp_ignore: eth1: 0", "arp_ignore=1"},
		"arp_announce":  {func(n *Node) { n.Sysctls["net.ipv4.conf.all.arp_announce"] = "1" }, "warn arp_announce: eth2: 1", "arp_announce=2"},
		"mtu probing":   {func(n *Node) { n.Sysctls["net.ipv4.tcp_mtu_probing"] = "0" }, "warn tcp_mtu_probing: 0", "tcp_mtu_probing=1"},
		"nonlocal bind": {func(n *Node) { n.Sysctls["net.ipv4.ip_nonlocal_bind"] = "1" }, "warn ip_nonlocal_bind: net.ipv4.ip_nonlocal_bind is 1", "=0"},
		"vip gone":      {func(n *Node) { n.Interfaces[0].Addresses = nil }, "fail vip: 198.51.100.1/32 of service video is on no interface, and the service is announced", "ip address add 198.51.100.1/32 dev lo"},
		"vip elsewhere": {func(n *Node) {
			n.Interfaces[0].Addresses, n.Interfaces[1].Addresses = nil, append(n.Interfaces[1].Addresses, netip.MustParsePrefix("198.51.100.1/32"))
		}, "warn vip: 198.51.100.1/32 of service video is on eth1, not on lo", "ip address del"},
		"vip left":            {func(n *Node) { n.Daemon = Daemon{Problem: "nobody answers"} }, "warn vip: 198.51.100.1/32 of service video is on lo, and no daemon runs", "ip address del 198.51.100.1/32 dev lo"},
		"clock":               {func(n *Node) { n.Clock.Synchronised = false }, "fail clock: not synchronised", "systemd-timesyncd"},
		"password file":       {func(n *Node) { n.Files["/etc/a.key"] = File{Exists: true, Mode: 0o644, Readable: true} }, "fail password_file: every user can read /etc/a.key (mode 0644)", "chmod o= /etc/a.key"},
		"password unreadable": {func(n *Node) { n.Files["/etc/a.key"] = File{Exists: true, Mode: 0o600} }, "fail password_file: /etc/a.key cannot be read by catchment", "chgrp catchment"},
		"password missing":    {func(n *Node) { n.Files["/etc/a.key"] = File{} }, "fail password_file: /etc/a.key is not there", "transit-a"},
		"state_dir":           {func(n *Node) { n.Files["/var/lib/catchment"] = File{Exists: true, Dir: true, Mode: 0o750} }, "fail state_dir: /var/lib/catchment cannot be written by catchment", "chown catchment"},
		"state_dir missing":   {func(n *Node) { n.Files["/var/lib/catchment"] = File{} }, "fail state_dir: /var/lib/catchment is not there", "install -d -o catchment"},
		"state_dir open":      {func(n *Node) { f := n.Files["/var/lib/catchment"]; f.Mode = 0o777; n.Files["/var/lib/catchment"] = f }, "fail state_dir: everyone can write", "chmod 0750"},
		"socket":              {func(n *Node) { n.Files["/run/catchment/edge.sock"] = File{Exists: true, Mode: 0o666} }, "fail socket: everyone can speak to /run/catchment/edge.sock", "chmod o="},
		"capability":          {func(n *Node) { n.Daemon.Capabilities = 0 }, "fail capabilities: the daemon lacks CAP_NET_ADMIN, for VIPs", "AmbientCapabilities=CAP_NET_ADMIN"},
		"descriptors":         {func(n *Node) { n.Daemon.NoFile = 100 }, "fail file descriptors: the daemon may have 100", "LimitNOFILE=65536"},
		"no centre in tls":    {func(n *Node) { n.Config.Central.Insecure = true }, "warn certificate: central: insecure", "join"},
		"certificate of else": {func(n *Node) {
			k := n.Certs["/etc/edge.pem"]
			k.Name = "spiffe://catchment/edge/spb1"
			n.Certs["/etc/edge.pem"] = k
		}, "fail certificate: /etc/edge.pem is for spiffe://catchment/edge/spb1, not for node msk1", "join"},
		"certificate soon": {func(n *Node) {
			k := n.Certs["/etc/edge.pem"]
			k.NotAfter = now.Add(49 * time.Hour)
			n.Certs["/etc/edge.pem"] = k
		}, "warn certificate: /etc/edge.pem ends in 2 days", "pki renew /etc/edge.pem"},
		"certificate ended": {func(n *Node) { k := n.Certs["/etc/ca.pem"]; k.NotAfter = now; n.Certs["/etc/ca.pem"] = k }, "fail certificate: /etc/ca.pem ended on 2026-03-01", "pki renew"},
		"key":               {func(n *Node) { n.Files["/etc/edge.key"] = File{Exists: true, Mode: 0o604, Readable: true} }, "fail key: every user can read /etc/edge.key", "chmod o="},
		"no daemon":         {func(n *Node) { n.Daemon = Daemon{Problem: "nobody answers"}; n.Interfaces[0].Addresses = nil }, "warn daemon: nobody answers", "systemctl start catchment-edge"},
		"another node":      {func(n *Node) { n.Daemon.Node = "spb1" }, `fail daemon: the one that answers is node "spb1", the file is of "msk1"`, "--edge unix:/run/catchment/edge.sock"},
		"old version":       {func(n *Node) { n.Daemon.Installed = "1.1" }, "warn version: 1.0 runs, 1.1 is installed", "systemctl restart"},
		"replaced":          {func(n *Node) { n.Daemon.Replaced = true }, "warn version: the program was replaced", "systemctl restart"},
		"reload":            {func(n *Node) { n.Daemon.Changes = []string{"transit-a: session kept, routes 0 new, 1 other, 0 gone"} }, "warn reload: edge.yaml differs from what runs: transit-a", "systemctl reload catchment-edge"},
		"other figures":     {func(n *Node) { n.Daemon.Differences, n.Daemon.Compared = []string{"load.target: 0.82 -> 0.7"}, true }, "warn reload: edge.yaml differs from what runs: load.target: 0.82 -> 0.7", "systemctl reload catchment-edge"},
		"many other figures": {func(n *Node) {
			n.Daemon.Changes, n.Daemon.Differences, n.Daemon.Compared = []string{"a: session restarted"}, strings.Split("1 2 3 4 5 6 7 8 9 10", " "), true
		}, "warn reload: edge.yaml differs from what runs: a: session restarted; 1; 2; 3; 4; 5; 6; 7; 8; and 2 more", "systemctl reload catchment-edge"},
		"refused":        {func(n *Node) { n.Daemon.PlanProblem = "node is another" }, "warn reload: the daemon would not take the file up: node is another", "mend edge.yaml"},
		"trial":          {func(n *Node) { n.Daemon.Trial = true }, "warn reload: a configuration is on trial", "catchment edge confirm"},
		"session":        {func(n *Node) { n.Daemon.Down = []string{"transit-a: the session is not up (connect)"} }, "warn session: transit-a", "catchment edge status"},
		"daemon warning": {func(n *Node) { n.Daemon.Warnings = []string{"odd"} }, "warn daemon: odd", "catchment edge status"},
	} {
		t.Run(name, func(t *testing.T) {
			n := healthy(t)
			tt.fault(n)
			all := CheckNode(n)
			found := false
			for _, r := range all {
				line := string(r.Level) + " " + r.Check + ": " + r.Found
				if (r.Level == Warn || r.Level == Fail) && (r.Mend == "" || strings.Contains(r.Mend, "%!")) || strings.Contains(r.Found, "%!") {
					t.Errorf("no mend, or a broken one: %s -> %s", line, r.Mend)
				}
				found = found || strings.HasPrefix(line, tt.want) && strings.Contains(r.Mend, tt.mend)
			}
			if !found {
				t.Errorf("want %q and %q in\n%s", tt.want, tt.mend, text(all))
			}
		})
	}
}

func TestWhatIsNotKnownIsSkippedAndNeverWell(t *testing.T) {
	n := &Node{Now: now, File: "edge.yaml", Config: configOf(t, nodeText), WayBackProblem: "netlink"}
	all := CheckNode(n)
	for _, r := range all {
		switch r.Check {
		case "config", "prefix length", "router_id", "ip_nonlocal_bind", "vip":
		default:
			if r.Level == OK {
				t.Errorf("ok without facts: %s: %s", r.Check, r.Found)
			}
		}
	}
}

func TestAUnitStandsInForADaemonThatDoesNotRun(t *testing.T) {
	unit, err := os.ReadFile("../../../../deploy/systemd/catchment-edge.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ unit, want string }{
		{string(unit), "ok capabilities: the unit gives CAP_NET_ADMIN"},
		{string(unit), "ok file descriptors: the unit may have 65536"},
		{string(unit) + "\nAmbientCapabilities=\nLimitNOFILE=64\n", "fail capabilities: the unit does not give CAP_NET_ADMIN"},
		{string(unit) + "\nLimitNOFILE=64\n", "fail file descriptors: the unit may have 64"},
		{"[Service]\nUser=root\n", "ok capabilities: the unit gives CAP_NET_ADMIN"},
		{"", "skip capabilities: CAP_NET_ADMIN is needed for VIPs"},
	} {
		n := healthy(t)
		n.Daemon, n.Unit = Daemon{}, tt.unit
		if got := text(CheckNode(n)); !strings.Contains(got, tt.want) {
			t.Errorf("want %q in\n%s", tt.want, got)
		}
	}
}

func theCentre(t *testing.T) *Centre {
	t.Helper()
	cfg, err := centralconfig.Parse("central.yaml", []byte(`
data: /var/lib/catchment-central/store
listen: 192.0.2.1:7179
http: 192.0.2.1:7180
domain: catchment
tls: {ca: /etc/ca.pem, cert: /etc/central.pem, key: /etc/central.key}
services: [{name: video, min_announcing: 2}]
`), "/etc")
	if err != nil {
		t.Fatal(err)
	}
	return &Centre{Now: now, File: "central.yaml", Config: cfg, Clock: Clock{Synchronised: true}, Free: 50 << 30, Size: 100 << 30, Health: "200 OK",
		Files: map[string]File{"/etc/central.key": {Exists: true, Mode: 0o600, Readable: true}, "/var/lib/catchment-central/store": {Exists: true, Dir: true, Mode: 0o700, Writable: true}},
		Certs: map[string]Cert{"/etc/ca.pem": {CA: true, NotAfter: now.AddDate(1, 0, 0)},
			"/etc/central.pem": {Name: "spiffe://catchment/central/c1", Hosts: []string{"central.example.net"}, NotAfter: now.AddDate(1, 0, 0)}},
		Listening: map[string]bool{"192.0.2.1:7179": true, "192.0.2.1:7180": true},
		Fleet:     map[string]Standing{"video": {Nodes: 3, Announcing: 3, MinAnnouncing: 2}}}
}

func TestEachFaultOfACentreIsToldWithWhatMendsIt(t *testing.T) {
	if all := CheckCentre(theCentre(t)); Failed(all) || Count(all, Warn) > 0 || Count(all, OK) < 9 {
		t.Errorf("something is wrong with a healthy centre:\n%s", text(all))
	}
	for name, tt := range map[string]struct {
		fault      func(c *Centre)
		want, mend string
	}{
		"config":     {func(c *Centre) { c.Config, c.Problem = nil, "central.yaml:1: odd" }, "fail config: central.yaml:1", "--check"},
		"clock":      {func(c *Centre) { c.Clock = Clock{} }, "fail clock: not synchronised", "chrony"},
		"no tls":     {func(c *Centre) { c.Config.TLS = nil }, "warn certificate: no tls", "pki init"},
		"no host":    {func(c *Centre) { c.Certs["/etc/central.pem"] = Cert{Name: "x", NotAfter: now.AddDate(1, 0, 0)} }, "fail certificate: /etc/central.pem has no host", "pki renew"},
		"unreadable": {func(c *Centre) { c.Certs["/etc/ca.pem"] = Cert{Problem: "no such file"} }, "fail certificate: /etc/ca.pem: no such file", "pki renew"},
		"ca key": {func(c *Centre) {
			c.Config.PKI = "/pki"
			c.Files["/pki/ca.key"] = File{Exists: true, Mode: 0o644, Readable: true}
		}, "fail key: every user can read /pki/ca.key", "chmod o="},
		"data": {func(c *Centre) {
			c.Files["/var/lib/catchment-central/store"] = File{Exists: true, Mode: 0o755, Writable: true}
		}, "fail data: every user can look into", "chmod 0700"},
		"data not ours": {func(c *Centre) { c.Files["/var/lib/catchment-central/store"] = File{Exists: true, Mode: 0o700} }, "fail data: /var/lib/catchment-central/store cannot be written", "chown -R catchment-central"},
		"disk":          {func(c *Centre) { c.Free = 1 << 29 }, "fail data: 0.5 of 100.0 GiB are free", "larger disk"},
		"not listening": {func(c *Centre) { c.Listening["192.0.2.1:7179"] = false }, "fail listen: 192.0.2.1:7179 does not answer", "systemctl start"},
		"not ready":     {func(c *Centre) { c.Health = "503 Service Unavailable" }, "fail health: /readyz says 503", "journalctl"},
		"registry":      {func(c *Centre) { c.Registry = []string{"a.txt:3: two meanings"} }, "warn registry: a.txt:3: two meanings", "community lint"},
		"not asked":     {func(c *Centre) { c.Fleet, c.FleetProblem = nil, "denied" }, "skip limits: the fleet was not asked: denied", ""},
		"below":         {func(c *Centre) { c.Fleet["video"] = Standing{Nodes: 3, Announcing: 1, MinAnnouncing: 2} }, "fail limits: service video: at least 2 of 3 nodes must announce, 1 do", "fleet status"},
		"too tight":     {func(c *Centre) { c.Fleet["video"] = Standing{Nodes: 2, Announcing: 2, MinAnnouncing: 2} }, "warn limits: service video: at least 2 of 2 nodes must announce, 2 do: no maintenance", "min_announcing: 1"},
		"small share": {func(c *Centre) {
			c.Fleet["video"] = Standing{Nodes: 5, Announcing: 5, MinAnnouncing: 1, MaxWithdrawn: 0.1}
		}, "warn limits: service video", "max_withdrawn: 0.2"},
		"unknown": {func(c *Centre) { c.Fleet = map[string]Standing{} }, "warn limits: service video has limits, and no node has it", "services:"},
	} {
		t.Run(name, func(t *testing.T) {
			c := theCentre(t)
			tt.fault(c)
			found := false
			all := CheckCentre(c)
			for _, r := range all {
				found = found || strings.HasPrefix(string(r.Level)+" "+r.Check+": "+r.Found, tt.want) && strings.Contains(r.Mend, tt.mend)
			}
			if !found {
				t.Errorf("want %q and %q in\n%s", tt.want, tt.mend, text(all))
			}
		})
	}
}

func TestTheFileIsSaidToBeInForceOnlyByADaemonThatLooked(t *testing.T) {
	for compared, want := range map[bool]string{true: "ok reload: edge.yaml is the configuration in force", false: "ok reload: edge.yaml announces what the daemon announces"} {
		n := healthy(t)
		n.Daemon.Compared = compared
		if got := text(CheckNode(n)); !strings.Contains(got, want) {
			t.Errorf("compared %v: %s", compared, got)
		}
	}
}
