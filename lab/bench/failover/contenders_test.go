package failover

import (
	"fmt"
	"os"
	"strings"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// catchment runs catchment-edge with one check that has these fields.
func catchment(check ...string) func(*world) {
	return func(w *world) {
		w.Edge.WriteFile("/run/edge.yaml", fmt.Sprintf(`node: edge
asn: %d
router_id: 10.77.0.1
control: unix:///run/edge.sock
way_back: {require: none}
return_after: [1s]
neighbors:
  - {name: frr, address: %s, asn: %d, kind: transit, local_address: %s}
  - {name: bird, address: %s, asn: %d, kind: transit, local_address: %s}
services:
  - name: video
    prefixes: [%s]
    checks:
      - {name: web, http: {url: "http://127.0.0.1:8080/health"}, interval: 1s, fall: 2, rise: 2, %s}
`, edgeASN, w.ToFRR.Peer4, frrASN, w.ToFRR.Edge4, w.ToBIRD.Peer4, birdASN, w.ToBIRD.Edge4, prefix, strings.Join(check, ", ")))
		if err := os.Chmod(w.Edge.HostPath("/run/edge.yaml"), 0o600); err != nil {
			w.b.Fatal(err)
		}
		w.Edge.Start("catchment-edge", netlab.Binary(w.b, "./cmd/catchment-edge"), "--config", "/run/edge.yaml")
	}
}

// exaBGP runs ExaBGP with the program that comes with it, which starts curl for each check. Its own default for
// --fast-interval is 1, too.
func exaBGP(w *world) {
	var b strings.Builder
	fmt.Fprintf(&b, `process check {
  run /usr/bin/exabgp-healthcheck --no-ack --no-syslog --name video --interval 1 --fast-interval 1 --rise 2 --fall 2 --timeout 1 --no-ip-setup --withdraw-on-down --ip %s --cmd "curl -sf -m 0.5 -o /dev/null http://127.0.0.1:8080/health";
  encoder text;
}
`, prefix)
	for _, n := range []struct {
		netlab.Wire
		asn uint32
	}{{w.ToFRR, frrASN}, {w.ToBIRD, birdASN}} {
		fmt.Fprintf(&b, "neighbor %s {\n  router-id 10.77.0.1;\n  local-address %s;\n  local-as %d;\n  peer-as %d;\n  hold-time 9;\n  family { ipv4 unicast; }\n  api { processes [ check ]; }\n}\n",
			n.Peer4, n.Edge4, edgeASN, n.asn)
	}
	w.Edge.WriteFile("/run/exabgp.conf", b.String())
	w.Edge.StartEnv("exabgp", netlab.ExaBGPEnv(), "/usr/sbin/exabgp", "/run/exabgp.conf")
}

// script runs BIRD on the edge, and a loop that switches its route.
func script(w *world) {
	w.Edge.BIRD(netlab.BIRDConfig{ASN: edgeASN, RouterID: "10.77.0.1", Neighbors: []netlab.BIRDNeighbor{
		{Name: "to_frr", Address: w.ToFRR.Peer4, Local: w.ToFRR.Edge4, ASN: frrASN, Export: `where proto = "service"`},
		{Name: "to_bird", Address: w.ToBIRD.Peer4, Local: w.ToBIRD.Edge4, ASN: birdASN, Export: `where proto = "service"`},
	}, Global: []string{"protocol static service { disabled; ipv4; route " + prefix.String() + " blackhole; }"}}.String())
	w.Edge.WriteFile("/run/check.sh", `failed=0 passed=0
while :; do
  if curl -sf -m 0.5 -o /dev/null http://127.0.0.1:8080/health; then
    failed=0 passed=$((passed + 1))
    [ $passed -ne 2 ] || birdc -s /run/bird/bird.ctl enable service
  else
    passed=0 failed=$((failed + 1))
    [ $failed -ne 2 ] || birdc -s /run/bird/bird.ctl disable service
  fi
  sleep 1
done
`)
	w.Edge.Start("check.sh", "/bin/sh", "/run/check.sh")
}
