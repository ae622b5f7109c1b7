package central

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/audit"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// loses has an edge ask for leave to take prefixes away, and then, if it may, do so.
func (e *simEdge) loses(override bool, prefixes ...string) (refused string) {
	e.set(func(e *simEdge) {
		e.extra = &centralv1.GrantRequest{Id: "config", Service: video, Kind: "override", Prefixes: prefixes, Reason: "a new file", OverrideSafety: override}
	})
	pass(time.Second)
	defer e.set(func(e *simEdge) { e.extra = nil })
	for _, r := range e.intent().GetRefusals() {
		return r.GetLimit()
	}
	e.hello = proto.CloneOf(e.hello)
	s := e.hello.Services[0]
	s.Prefixes = without(s.Prefixes, prefixes)
	e.set(func(e *simEdge) { e.say = e.hello })
	return ""
}

func without(all, some []string) (out []string) {
	for _, p := range all {
		if !strings.Contains(strings.Join(some, " "), p) {
			out = append(out, p)
		}
	}
	return out
}

// TestAFileWithoutAPrefixOnEveryEdgeLeavesItAnnouncedAtEnoughOfThem is one bad file
// pushed to all: each edge announces the service's other prefix all the time.
func TestAFileWithoutAPrefixOnEveryEdgeLeavesItAnnouncedAtEnoughOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 2})
		edges := l.join(5)
		for _, e := range edges {
			e.hello = proto.CloneOf(e.hello)
			e.hello.Services[0].Prefixes = []string{"198.51.100.0/24", "192.0.2.0/24"}
			e.set(func(e *simEdge) { e.say = e.hello })
		}
		pass(time.Minute)
		var got []string
		for _, e := range edges {
			got = append(got, e.loses(false, "192.0.2.0/24"))
			pass(time.Minute)
		}
		if want := []string{"", "", "", "min_announcing", "min_announcing"}; strings.Join(got, ",") != strings.Join(want, ",") {
			t.Errorf("refused %q, want %q", got, want)
		}
		if len(l.fleet().GetGrants()) != 0 || l.announcing() != 5 {
			t.Errorf("grants %v, %d announce", l.fleet().GetGrants(), l.announcing())
		}
		if r := edges[4].loses(true, "192.0.2.0/24"); r != "" {
			t.Errorf("with --override-safety: %s", r)
		}
		pass(time.Second)
		records, err := l.api.ListAudit(l.ctx(), &centralv1.ListAuditRequest{})
		if err != nil {
			t.Fatal(err)
		}
		refused, broke := 0, 0
		for _, e := range records.GetRecords() {
			if e.GetOutcome() == string(audit.Refused) && strings.HasPrefix(e.GetDetail(), "min_announcing") {
				refused++
			}
			if e.GetMethod() == "grant" && strings.HasPrefix(e.GetDetail(), "in spite of a limit: min_announcing") && e.GetOutcome() == string(audit.Done) && e.GetReason() == "a new file" {
				broke++
			}
		}
		if refused != 2 || broke != 1 {
			t.Errorf("%d refusals and %d overrides in %v", refused, broke, records.GetRecords())
		}
	})
}

func TestWhatIsGoneAlreadyIsAuditedAsDoneInSpiteOfTheLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		e := l.join(2)[0]
		pass(time.Minute)
		e.set(func(e *simEdge) {
			e.extra = &centralv1.GrantRequest{Id: "config", Service: "dns", Kind: "override", Reason: "rack on fire", OverrideSafety: true}
		})
		pass(time.Second)
		records, err := l.api.ListAudit(l.ctx(), &centralv1.ListAuditRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records.GetRecords() {
			if r.GetReason() == "rack on fire" && r.GetOutcome() == string(audit.Done) && strings.Contains(r.GetDetail(), "done all the same") {
				return
			}
		}
		t.Errorf("%v", records.GetRecords())
	})
}
