package central

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/registry"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

func TestATagNeedsAMeaningAndMustBeOurs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		l.f.w.settings.Registry = documented(t, "57629:666", "57629:3xx")
		l.join(2)
		pass(time.Minute)
		for _, tt := range []struct {
			name string
			r    *centralv1.TagNodeRequest
			code codes.Code
			text string
		}{
			{"good", &centralv1.TagNodeRequest{Node: "n01", Value: "57629:101", Meaning: "Moscow"}, codes.OK, ""},
			{"large", &centralv1.TagNodeRequest{Node: "n01", Value: "57629:1:101", Meaning: "Moscow"}, codes.OK, ""},
			{"again, other words", &centralv1.TagNodeRequest{Node: "n01", Value: "57629:101", Meaning: "Moscow 1"}, codes.OK, ""},
			{"no meaning", &centralv1.TagNodeRequest{Node: "n01", Value: "57629:102"}, codes.FailedPrecondition, "no meaning"},
			{"another node's", &centralv1.TagNodeRequest{Node: "n02", Value: "57629:101", Meaning: "Moscow"}, codes.FailedPrecondition, "n01 has tag 57629:101"},
			{"shared", &centralv1.TagNodeRequest{Node: "n02", Value: "57629:101", Meaning: "Moscow", Shared: true}, codes.OK, ""},
			{"another AS", &centralv1.TagNodeRequest{Node: "n01", Value: "65001:1", Meaning: "x"}, codes.FailedPrecondition, "not of our AS 57629"},
			{"another AS, large", &centralv1.TagNodeRequest{Node: "n01", Value: "65001:1:1", Meaning: "x"}, codes.FailedPrecondition, "not of our AS"},
			{"another AS, extended", &centralv1.TagNodeRequest{Node: "n01", Value: "rt:65001:1", Meaning: "x"}, codes.FailedPrecondition, "not of our AS"},
			{"well-known", &centralv1.TagNodeRequest{Node: "n01", Value: "no-export", Meaning: "x"}, codes.FailedPrecondition, "well-known"},
			{"graceful shutdown", &centralv1.TagNodeRequest{Node: "n01", Value: "65535:0", Meaning: "x"}, codes.FailedPrecondition, "well-known"},
			{"an action", &centralv1.TagNodeRequest{Node: "n01", Value: "57629:666", Meaning: "x"}, codes.FailedPrecondition, "blackhole"},
			{"an action by a pattern", &centralv1.TagNodeRequest{Node: "n01", Value: "57629:305", Meaning: "x"}, codes.FailedPrecondition, "as57629.txt:3"},
			{"no community", &centralv1.TagNodeRequest{Node: "n01", Value: "hello", Meaning: "x"}, codes.InvalidArgument, "not a community"},
			{"no node", &centralv1.TagNodeRequest{Node: "n09", Value: "57629:103", Meaning: "x"}, codes.InvalidArgument, `no node "n09"`},
		} {
			_, err := l.api.TagNode(l.ctx(), tt.r)
			if status.Code(err) != tt.code || err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%s: %v, want %s %s", tt.name, err, tt.code, tt.text)
			}
		}
		pass(time.Second)
		in := l.edges["n01"].intent()
		if len(in.GetTags()) != 2 || in.GetTags()[0].GetMeaning() != "Moscow 1" || in.GetTags()[0].GetBy() != "noc/anna" {
			t.Errorf("the edge has %v", in.GetTags())
		}
		if _, err := l.api.UntagNode(l.ctx(), &centralv1.UntagNodeRequest{Node: "n01", Value: "57629:101"}); err != nil {
			t.Error(err)
		}
		if n, err := l.api.GetNode(l.ctx(), &centralv1.GetNodeRequest{Name: "n01"}); err != nil || len(n.GetTags()) != 1 {
			t.Errorf("%v, %v", n.GetTags(), err)
		}
		if _, err := l.api.UntagNode(l.ctx(), &centralv1.UntagNodeRequest{Node: "n01", Value: "57629:101"}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("once more: %v", err)
		}
	})
}

func TestManyTagsAtOnceWaitForWhatNeighboursTolerate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		l.join(1)
		pass(time.Minute)
		for _, v := range []string{"57629:1", "57629:2", "57629:3", "57629:4"} {
			if _, err := l.api.TagNode(l.ctx(), &centralv1.TagNodeRequest{Node: "n01", Value: v, Meaning: "x"}); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Second)
		if n := len(l.edges["n01"].intent().GetTags()); n != 3 {
			t.Errorf("%d tags told at once; three changes are 1500 points, a fourth would be 2000", n)
		}
		node, err := l.api.GetNode(l.ctx(), &centralv1.GetNodeRequest{Name: "n01"})
		if err != nil {
			t.Fatal(err)
		}
		for i, tag := range node.GetTags() {
			if waits := tag.GetAfter() != nil && tag.GetAfter().AsTime().After(time.Now()); waits != (i == 3) {
				t.Errorf("the NOC reads of %s: on routes from %v", tag.GetValue(), tag.GetAfter())
			}
		}
		pass(15 * time.Minute)
		if n := len(l.edges["n01"].intent().GetTags()); n != 4 {
			t.Errorf("%d tags told after a half-life", n)
		}
	})
}

// An edge charges a change twice what it is, for the paths that others try meanwhile. What
// it has reported is not charged once more.
func TestATagThatWasReportedIsChargedOnce(t *testing.T) {
	now := time.Now()
	hello := &centralv1.Hello{Node: "n01", Asn: 57629, Neighbors: []*centralv1.EdgeNeighbor{{Name: "a", Asn: 65001}}}
	for _, tt := range []struct {
		reported float64
		waits    bool
	}{{0, false}, {400, false}, {1000, false}, {1001, true}} {
		w := newWorld(Settings{})
		doc := nodeDoc{Tags: []tagDoc{{Value: "57629:1", After: now.Add(-time.Second)}}}
		doc.Hello.m = hello
		w.nodes["n01"], w.nodes["n02"] = entry[nodeDoc]{doc: doc}, entry[nodeDoc]{doc: nodeDoc{Hello: doc.Hello}}
		v := &view{penalty: map[uint32]float64{65001: tt.reported}, own: map[string]map[uint32]float64{"n01": {65001: tt.reported}}}
		if wait := w.tagWait("n02", v, now); (wait > 0) != tt.waits {
			t.Errorf("with %v reported the next tag waits %v", tt.reported, wait)
		}
	}
}

func TestGenerationsGrowOverRestartsOfTheCentre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		e := l.join(1)[0]
		pass(time.Minute)
		last := e.intent().GetGeneration()
		for i := range 5 {
			e.leave()
			l.kill()
			if i == 3 { // a centre that knows less than the edge
				_ = l.store.Close()
				l.store = store.NewMemory()
			}
			l.start()
			e.connect()
			pass(5 * time.Second)
			if g := e.intent().GetGeneration(); g <= last {
				t.Fatalf("restart %d: generation %d after %d", i, g, last)
			}
			last = e.intent().GetGeneration()
		}
		pass(10 * time.Minute)
		if g := e.intent().GetGeneration(); g > last+3 {
			t.Errorf("nothing has changed, and the generation went from %d to %d", last, g)
		}
	})
}

func TestANodeIsOutOnlyWithTheLimitsLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 2})
		l.join(3)
		pass(time.Minute)
		set := func(name string, disabled, override bool) error {
			_, err := l.api.SetNode(l.ctx(), &centralv1.SetNodeRequest{Name: name, Disabled: proto.Bool(disabled), Reason: "rack", OverrideSafety: override})
			return err
		}
		if err := set("n01", true, false); err != nil {
			t.Fatal(err)
		}
		pass(30 * time.Second)
		if n := l.announcing(); n != 2 {
			t.Errorf("%d announce", n)
		}
		if err := set("n02", true, false); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("the second: %v", err)
		}
		if err := set("n02", true, true); err != nil {
			t.Errorf("in spite of it: %v", err)
		}
		records, err := l.api.ListAudit(l.ctx(), &centralv1.ListAuditRequest{Target: "n02"})
		if err != nil || len(records.GetRecords()) != 2 || records.GetRecords()[0].GetOutcome() != "done" || !strings.Contains(records.GetRecords()[0].GetDetail(), "in spite of") ||
			records.GetRecords()[1].GetOutcome() != "refused" || records.GetRecords()[1].GetWho() != "noc/anna" {
			t.Errorf("audit: %v, %v", records, err)
		}
		for _, name := range []string{"n01", "n02"} {
			if err := set(name, false, false); err != nil {
				t.Error(err)
			}
		}
		pass(2 * time.Minute)
		if n := l.announcing(); n != 3 {
			t.Errorf("%d announce in the end", n)
		}
		if v, err := l.api.VerifyAudit(l.ctx(), nil); err != nil || !v.GetOk() {
			t.Errorf("%v, %v", v, err)
		}
	})
}

func TestHistoryTellsHowItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		edges := l.join(3)
		pass(5 * time.Minute)
		before := time.Now()
		edges[0].leave()
		pass(5 * time.Minute)
		count := func(at time.Time) (int, error) {
			s, err := l.api.History(l.ctx(), &centralv1.HistoryRequest{At: timestamppb.New(at)})
			if err != nil {
				return 0, err
			}
			return int(s.GetServices()[0].GetAnnouncing()), nil
		}
		if n, err := count(before); err != nil || n != 3 {
			t.Errorf("before: %d, %v", n, err)
		}
		if n, err := count(time.Now()); err != nil || n != 2 {
			t.Errorf("now: %d, %v", n, err)
		}
		if _, err := count(before.Add(-time.Hour)); status.Code(err) != codes.InvalidArgument {
			t.Errorf("before everything: %v", err)
		}
		old, _, _ := l.store.List(t.Context(), kindHistory+"/")
		if err := l.f.record(t.Context(), l.fleet(), time.Now().Add(recordKeep+time.Hour)); err != nil {
			t.Fatal(err)
		}
		if items, _, err := l.store.List(t.Context(), kindHistory+"/"); err != nil || len(old) == 0 || len(items) != 1 {
			t.Errorf("a week later %d of %d records are kept, %v", len(items), len(old), err)
		}
	})
}

func TestANodeThatIsGoneIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		edges := l.join(2)
		pass(time.Minute)
		forget := func() error {
			_, err := l.api.SetNode(l.ctx(), &centralv1.SetNodeRequest{Name: "n01", Forget: true, Reason: "sold"})
			return err
		}
		if err := forget(); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("while it is connected: %v", err)
		}
		edges[0].leave()
		pass(time.Second)
		if err := forget(); err != nil {
			t.Error(err)
		}
		if s := l.fleet(); len(s.GetNodes()) != 1 {
			t.Errorf("%v", s.GetNodes())
		}
	})
}

// documented is a registry with actions of our AS.
func documented(t *testing.T, patterns ...string) *registry.Registry {
	t.Helper()
	var entries []registry.Entry
	for _, text := range patterns {
		p, err := community.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, registry.Entry{Pattern: p, Kind: registry.KindAction, Meaning: "blackhole", Owner: 57629, Source: registry.Source{File: "as57629.txt", Line: 3}})
	}
	return registry.New(entries...)
}
