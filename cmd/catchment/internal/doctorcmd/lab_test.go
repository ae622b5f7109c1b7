package doctorcmd

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// A machine with two routers, whose settings kill answers that leave by the other one.
func TestDoctorFindsWhatIsWrongOnARealMachine(t *testing.T) {
	lab := netlab.New(t, netlab.Root)
	edge, a, b := lab.Node("edge"), lab.Node("a"), lab.Node("b")
	lab.Link(edge, a, []string{"10.77.1.1/30"}, []string{"10.77.1.2/30"})
	lab.Link(edge, b, []string{"10.77.2.1/30"}, []string{"10.77.2.2/30"})
	edge.WriteFile("/run/edge.yaml", `
node: msk1
asn: 57629
router_id: 10.77.0.1
state_dir: /run/state
neighbors:
  - {name: a, address: 10.77.1.2, asn: 65001, kind: transit, local_address: 10.77.1.1}
  - {name: b, address: 10.77.2.2, asn: 65002, kind: transit, local_address: 10.77.2.1}
services:
  - {name: video, prefixes: [198.51.100.0/24], vips: [198.51.100.1/32], checks: [{name: web, tcp: {address: "198.51.100.1:80"}}]}
`)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	look := func() result {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		out, err := edge.Run(ctx, "env", asProgram+"=1", self, "--config", "/run/edge.yaml")
		r := result{stdout: out}
		if err != nil {
			r.code, r.stderr = 1, err.Error()
		}
		return r
	}
	ways := func() (first, second string) {
		t.Helper()
		for _, to := range []string{"10.77.1.2", "10.77.2.2"} {
			_, rest, _ := strings.Cut(edge.MustRun("ip", "route", "get", to), "dev ")
			first, second = second, strings.Fields(rest)[0]
		}
		return first, second
	}
	first, second := ways()
	for _, setting := range []string{first + ".rp_filter=1", second + ".rp_filter=0", "all.rp_filter=0", "all.arp_announce=0", "all.arp_ignore=1"} {
		edge.MustRun("sysctl", "-w", "net.ipv4.conf."+setting)
	}
	edge.MustRun("ip", "address", "add", "198.51.100.1/32", "dev", first)
	r := look()
	r.has(t, fmt.Sprintf("fail rp_filter %s: 1, strict (net.ipv4.conf.%s.rp_filter)", first, first), "-> sysctl -w net.ipv4.conf."+first+".rp_filter=2", "ok rp_filter "+second+": 0",
		"ok arp_ignore "+second+": 1", "warn arp_announce "+second+": 0", "fail default route IPv4 has none", "ok local_address 10.77.1.1 (neighbor a) is on "+first, "ok neighbor b: 10.77.2.2 by "+second,
		"warn vip 198.51.100.1/32 of service video is on "+first+", not on lo", "fail state_dir /run/state is not there")
	if r.code == 0 {
		t.Error("it exits with 0")
	}
	// What it says is done, but for the daemon and the clock, which this machine has not.
	edge.MustRun("sysctl", "-w", "net.ipv4.conf."+first+".rp_filter=2", "net.ipv4.conf.all.arp_announce=2")
	edge.MustRun("ip", "route", "add", "default", "via", "10.77.1.2")
	edge.MustRun("ip", "address", "del", "198.51.100.1/32", "dev", first)
	edge.MustRun("mkdir", "/run/state")
	edge.MustRun("ip", "link", "set", "dev", second, "down")
	look().has(t, "ok rp_filter "+first+": 2", "ok arp_announce "+first+": 2", "ok default route IPv4", "ok vip 198.51.100.1/32 of service video is not there yet", "ok state_dir /run/state",
		"fail local_address 10.77.2.1 (neighbor b) is on "+second+", which is down")
}
