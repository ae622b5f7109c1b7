package central

import (
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

func (l *lab) detail(name string) *centralv1.NodeDetail {
	l.t.Helper()
	d, err := l.api.GetNodeDetail(l.ctx(), &centralv1.GetNodeRequest{Name: name})
	if err != nil {
		l.t.Fatal(err)
	}
	return d
}

// said is a detail with a load of one step that began an age ago.
func saidInFull(text string, age time.Duration, load float32) *centralv1.Detail {
	return &centralv1.Detail{Status: &edgev1.StatusResponse{Node: text},
		Series: []*centralv1.LoadSeries{{Link: "a", Step: durationpb.New(5 * time.Minute), Start: timestamppb.New(time.Now().Add(-age).Truncate(5 * time.Minute)),
			Mean: []float32{load}, Most: []float32{load}}}}
}

func TestWhatANodeSaidInFullOutlivesNodeAndCentre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		e := l.join(1)[0]
		pass(time.Second)
		if d := l.detail("n01"); d.GetDetail() != nil || d.GetNode().GetName() != "n01" {
			t.Errorf("before it said anything: %v", d)
		}
		e.set(func(e *simEdge) { e.detail = saidInFull("first", time.Hour, 5) })
		synctest.Wait()
		if d := l.detail("n01").GetDetail(); d.GetStatus().GetNode() != "first" {
			t.Errorf("at once: %v", d)
		}
		pass(2 * detailWrite)
		e.set(func(e *simEdge) { e.detail = saidInFull("second", 0, 7) }) // it has begun anew
		pass(2 * detailWrite)
		e.leave()
		l.kill()
		l.start()
		d := l.detail("n01")
		if d.GetDetail().GetStatus().GetNode() != "second" || d.GetAt() == nil {
			t.Fatalf("after all have gone: %v", d)
		}
		s := d.GetDetail().GetSeries()[0]
		if s.GetMean()[0] != 5 || s.GetMean()[len(s.GetMean())-1] != 7 || len(s.GetMean()) != 13 {
			t.Errorf("the load of an hour is %v", s.GetMean())
		}
	})
}

func TestATooLongDetailIsPassedOverAndTheLastOneStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		e := l.join(1)[0]
		e.set(func(e *simEdge) { e.detail = saidInFull("good", 0, 1) })
		pass(time.Second)
		e.set(func(e *simEdge) { e.detail = saidInFull(strings.Repeat("x", detailMost+1), 0, 1) })
		pass(time.Minute)
		if got := l.detail("n01").GetDetail().GetStatus().GetNode(); got != "good" {
			t.Errorf("%.20q stands", got)
		}
	})
}

func TestAForgottenNodeLeavesNothingInFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		e := l.join(1)[0]
		e.set(func(e *simEdge) { e.detail = saidInFull("good", 0, 1) })
		pass(time.Minute)
		e.leave()
		pass(time.Minute)
		if err := l.forget("n01"); err != nil {
			t.Fatal(err)
		}
		if _, err := l.api.GetNodeDetail(l.ctx(), &centralv1.GetNodeRequest{Name: "n01"}); status.Code(err) != codes.NotFound && status.Code(err) != codes.InvalidArgument {
			t.Errorf("asked for it: %v", err)
		}
		l.f.mu.RLock()
		defer l.f.mu.RUnlock()
		if len(l.f.w.details) != 0 {
			t.Errorf("kept: %v", l.f.w.details)
		}
	})
}

// TestMergedSeriesHaveEachStepOfADayOnce compares with a map of steps.
func TestMergedSeriesHaveEachStepOfADayOnce(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	step := 5 * time.Minute
	series := func(t *rapid.T, name string) *centralv1.LoadSeries {
		s := &centralv1.LoadSeries{Link: "a", Step: durationpb.New(step), Start: timestamppb.New(now.Add(-step * time.Duration(rapid.IntRange(-3, 400).Draw(t, name+" age"))))}
		s.Mean = rapid.SliceOfN(rapid.SampledFrom([]float32{-1, 0, 1, 2, 3}), 1, 400).Draw(t, name)
		s.Most = s.Mean
		return s
	}
	rapid.Check(t, func(t *rapid.T) {
		before, said := series(t, "before"), series(t, "said")
		want := map[int64]float32{}
		for _, s := range []*centralv1.LoadSeries{before, said} {
			for i, v := range s.Mean {
				if at := s.Start.AsTime().Unix()/300 + int64(i); v >= 0 && at > now.Unix()/300-288 && at <= now.Unix()/300+1 {
					want[at] = v
				}
			}
		}
		got := mergeSeries([]*centralv1.LoadSeries{before}, []*centralv1.LoadSeries{said}, now)[0]
		for i, v := range got.GetMean() {
			at := got.Start.AsTime().Unix()/300 + int64(i)
			if w, ok := want[at]; ok != (v >= 0) || ok && w != v {
				t.Fatalf("step %d is %v, not %v (%v)", at, v, w, ok)
			}
			delete(want, at)
		}
		if len(want) != 0 {
			t.Fatalf("missing: %v", want)
		}
	})
}

func TestASeriesThatCannotBeIsPassedOver(t *testing.T) {
	for _, s := range []*centralv1.LoadSeries{
		{Link: "no step", Mean: []float32{1}, Most: []float32{1}},
		{Link: "uneven", Step: durationpb.New(5 * time.Minute), Mean: []float32{1}},
		{Link: "tiny", Step: durationpb.New(time.Nanosecond), Mean: []float32{1}, Most: []float32{1}},
	} {
		if got := mergeSeries(nil, []*centralv1.LoadSeries{s}, time.Now()); len(got) != 0 {
			t.Errorf("%s: %v", s.GetLink(), got)
		}
	}
}

// FuzzDetailDocuments opens what a store may hold.
func FuzzDetailDocuments(f *testing.F) {
	good, err := pack(&centralv1.Detail{LeftOut: []string{"all"}}, time.Now())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good.Data)
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := detailDoc{Data: data}.open()
		if err == nil && len(data) > 0 && d == nil {
			t.Error("neither a detail nor an error")
		}
		if d != nil && proto.Size(d) > 2*detailMost {
			t.Error("it is longer than may be read")
		}
	})
}

func TestWhatAHostileNodeSaysStaysSmallOnThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		e := l.join(1)[0]
		said := func(d *centralv1.Detail) *centralv1.Detail {
			e.set(func(e *simEdge) { e.detail = d })
			pass(time.Second)
			return l.detail("n01").GetDetail()
		}
		// A minute's steps of all links would be more than is read back.
		for _, age := range []time.Duration{23 * time.Hour, 0} {
			d := saidInFull("wide", 0, 1)
			for i := range 2 * detailLinks {
				for _, step := range []time.Duration{time.Minute, 5 * time.Minute} {
					d.Series = append(d.Series, &centralv1.LoadSeries{Link: strconv.Itoa(i % detailLinks), Step: durationpb.New(step),
						Start: timestamppb.New(time.Now().Add(-age)), Mean: []float32{1}, Most: []float32{1}})
				}
			}
			links := map[string]bool{}
			for _, s := range said(d).GetSeries() {
				if links[s.GetLink()] {
					t.Fatalf("link %s is there twice", s.GetLink())
				}
				links[s.GetLink()] = true
			}
		}
		// Decisions are marks on each curve.
		d := saidInFull("marks", 0, 1)
		for range 5000 {
			d.Decisions, d.Steering = append(d.Decisions, &edgev1.Decision{}), append(d.Steering, &edgev1.LoadDecision{})
		}
		if got := said(d); len(got.GetDecisions()) != detailDecisions || len(got.GetSteering()) != detailDecisions {
			t.Errorf("%d decisions and %d on rungs stand", len(got.GetDecisions()), len(got.GetSteering()))
		}
		// Two bytes of a message are hundreds of a page.
		d = saidInFull("parts", 0, 1)
		for range detailItems {
			d.Status.Services = append(d.Status.Services, &edgev1.Service{})
		}
		if got := said(d).GetStatus().GetNode(); got != "marks" {
			t.Errorf("%q stands", got)
		}
	})
}

func TestTimesAndLoadsThatAreNoneAreTakenOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		e := l.join(1)[0]
		never := &timestamppb.Timestamp{Seconds: 1 << 60, Nanos: -5}
		inf := float32(math.Inf(1))
		d := saidInFull("times", 0, 1)
		d.Series[0].Mean, d.Series[0].Most = []float32{1, 1, inf}, []float32{1, inf, inf}
		d.Series[0].Start = timestamppb.New(time.Now().Add(-time.Hour))
		d.Status.Started = never
		d.Status.Services = []*edgev1.Service{{Since: never, Neighbors: []*edgev1.Neighbor{{SessionSince: never}}}}
		d.Decisions = []*edgev1.Decision{{At: never}}
		d.Series = append(d.Series, &centralv1.LoadSeries{Link: "b", Start: never, Step: &durationpb.Duration{Seconds: 1 << 62}, Mean: []float32{1}, Most: []float32{1}})
		e.set(func(e *simEdge) { e.detail = d })
		pass(time.Second)
		got := l.detail("n01")
		if _, err := protojson.Marshal(got); err != nil {
			t.Errorf("the JSON API has no answer: %v", err)
		}
		if s := got.GetDetail().GetSeries(); len(s) != 1 || len(s[0].GetMost()) != 1 {
			t.Errorf("loads: %v", s)
		}
	})
}

func TestAReportWithTimesThatAreNoneTakesNobodysAnswerAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		never := &timestamppb.Timestamp{Seconds: 1 << 60, Nanos: -5}
		s, err := l.f.open(l.ctx(), &centralv1.Hello{Node: "evil", Services: []*centralv1.EdgeService{{Name: video}}, Labels: map[string]string{"a": "b"}})
		if err != nil {
			t.Fatal(err)
		}
		m := &centralv1.EdgeMessage{Report: &centralv1.Report{Clock: never, Moved: never, Services: []*centralv1.ServiceReport{{Name: video, State: "announced", Since: never}}}}
		if err := l.f.listen(l.ctx(), s, m, func() (*centralv1.EdgeMessage, error) { return nil, io.EOF }); err != nil {
			t.Fatal(err)
		}
		nodes, err := l.api.ListNodes(l.ctx(), &centralv1.ListNodesRequest{})
		if err != nil || len(nodes.GetNodes()) != 1 || len(nodes.GetNodes()[0].GetServices()) != 1 {
			t.Fatalf("nodes %v, %v", nodes, err)
		}
		if _, err := protojson.Marshal(nodes); err != nil {
			t.Errorf("the JSON API has no answer: %v", err)
		}
	})
}

func TestDetailsAreTakenNoFasterThanNodesSendThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{})
		s, err := l.f.open(l.ctx(), &centralv1.Hello{Node: "evil"})
		if err != nil {
			t.Fatal(err)
		}
		var at []time.Duration
		begun := time.Now()
		next := func() (*centralv1.EdgeMessage, error) {
			if at = append(at, time.Since(begun)); len(at) == 50 {
				return nil, io.EOF
			}
			return &centralv1.EdgeMessage{Detail: &centralv1.Detail{}}, nil
		}
		if err := l.f.listen(l.ctx(), s, &centralv1.EdgeMessage{}, next); err != nil {
			t.Fatal(err)
		}
		if at[detailBurst] != 0 || at[49] < (49-detailBurst-2)*detailPause || at[49] > 49*detailPause {
			t.Errorf("heard at %v", at)
		}
	})
}
