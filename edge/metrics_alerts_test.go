package edge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/policy"
)

// gathered has the families of a scrape.
func gathered(t *testing.T, w *world) []*dto.MetricFamily {
	t.Helper()
	families, err := scrape(t, w).Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// expectSeries compares what a scrape has of some metrics; want lacks HELP and TYPE.
func (w *world) expectSeries(t *testing.T, name, want string) {
	t.Helper()
	got := ""
	for _, f := range gathered(t, w) {
		if f.GetName() != "catchment_"+name {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			if m.GetGauge().GetValue() != 0 {
				got += strings.Join(labels, ",") + "\n"
			}
		}
	}
	if got != want {
		t.Errorf("%s is\n%swant\n%s", name, got, want)
	}
}

func TestAlertsKnowWhomToCall(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.reload("asn: 65002, kind: ix,", `asn: 65002, kind: ix, labels: {circuit: MSK-0042, rack: "7"}, contact: noc@example.net,`)
		w.expectSeries(t, "neighbor_info", "asn=65001,circuit=,contact=,kind=transit,link=uplink,neighbor=transit\n"+
			"asn=65002,circuit=MSK-0042,contact=noc@example.net,kind=ix,link=,neighbor=ix\n")
		w.expectSeries(t, "node_info", "node=msk1,site=\n")
		w.expectSeries(t, "way_back_required", "family=ipv4\nfamily=ipv6\n")
		w.reload("way_back: {require: default, grace: 5s}", "way_back: {require: none}")
		w.expectSeries(t, "way_back_required", "")
		if problems, err := testutil.GatherAndLint(scrape(t, w)); err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
	})
}

func TestAPrefixIsCountedWhereItStands(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		expect := func(want string) {
			t.Helper()
			got := ""
			for _, f := range gathered(t, w) {
				if f.GetName() == "catchment_prefix_neighbors" {
					for _, m := range f.GetMetric() {
						got += fmt.Sprintf("%s %g\n", m.GetLabel()[0].GetValue(), m.GetGauge().GetValue())
					}
				}
			}
			if got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		expect("198.51.100.0/24 2\n2001:db8:100::/48 2\n203.0.113.0/24 1\n")
		w.say(at("ix"), Word{Verb: policy.Withdraw})
		expect("198.51.100.0/24 1\n2001:db8:100::/48 1\n203.0.113.0/24 1\n")
		w.announcerFake.locked(func() { w.announcerFake.down = true })
		w.announcerFake.poke()
		w.rest()
		expect("198.51.100.0/24 0\n2001:db8:100::/48 0\n203.0.113.0/24 0\n")
	})
}

func TestTheReasonOfAServiceIsAMetric(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.report("origin", "502")
		w.rest()
		w.expectSeries(t, "service_reason", "reason=normal,service=dns\nreason=soft_failure,service=video\n")
	})
}

func TestADrainIsMaintenanceAsLongAsItHasAnEnd(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.expectSeries(t, "maintenance_active", "")
		w.say(at("ix"), Word{Verb: policy.Drain})
		w.expectSeries(t, "maintenance_active", "")
		w.say(at("ix"), Word{Verb: policy.Drain, For: time.Hour})
		w.expectSeries(t, "maintenance_active", "neighbor=ix,node=msk1,service=\n")
		w.pass(time.Hour + time.Second)
		w.expectSeries(t, "maintenance_active", "")
	})
}

func TestAWindowIsMaintenanceOfWhatItIsFor(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		c.set(func() { c.refuses = "2 of 3 must announce" })
		c.wants(func(in *centralv1.Intent) { in.Windows = []*centralv1.Window{nodeWindow("w1", 10*time.Minute)} })
		w.pass(2 * time.Second)
		w.expectSeries(t, "maintenance_active", "neighbor=,node=msk1,service=\n")
		w.expectSeries(t, "central_grants_refused", "kind=window\n")
		c.kill()
		w.pass(10*time.Minute + time.Second)
		w.expectSeries(t, "maintenance_active", "")
	})
}

func TestHowNearSuppressionAPrefixIs(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.report("web", "refused")
		w.rest()
		climber := w.snapshot().Decision.Climbers[0]
		if climber.Nearness < 0.5 || climber.Nearness > climber.Penalty/2000 {
			t.Errorf("a withdrawal makes %v points, and a nearness of %v", climber.Penalty, climber.Nearness)
		}
		w.pass(15 * time.Minute)
		if later := w.snapshot().Decision.Climbers[0]; later.Nearness > 0.6*climber.Nearness {
			t.Errorf("after a half-life it is %v and was %v", later.Nearness, climber.Nearness)
		}
	})
}
