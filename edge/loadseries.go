package edge

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/policy"
)

// The load of each link is kept in steps of seriesStep, for seriesSteps of them: a day.
const (
	seriesStep  = 5 * time.Minute
	seriesSteps = 288
)

// loadStep is the load of a link in one step, in bit/s.
type loadStep struct {
	at        int64 // steps since 1970
	sum, most float64
	n         int
}

// linkSeries is the load of a link over a day, oldest first; steps without a figure are
// left out.
type linkSeries struct {
	seen  time.Time // of the last figure
	steps []loadStep
}

// add takes a figure in. A clock that was set back takes the steps after it away.
func (s *linkSeries) add(now time.Time, sample policy.Sample) {
	if !sample.At.After(s.seen) {
		return
	}
	s.seen = sample.At
	at := now.Unix() / int64(seriesStep/time.Second)
	s.steps = slices.DeleteFunc(s.steps, func(p loadStep) bool { return p.at > at || p.at <= at-seriesSteps })
	if n := len(s.steps); n == 0 || s.steps[n-1].at != at {
		s.steps = append(s.steps, loadStep{at: at})
	}
	last := &s.steps[len(s.steps)-1]
	last.sum, last.most, last.n = last.sum+sample.Load, max(last.most, sample.Load), last.n+1
}

// proto is the series with a figure for each step; negative: there was none.
func (s *linkSeries) proto(link string) *centralv1.LoadSeries {
	if len(s.steps) == 0 {
		return nil
	}
	first := s.steps[0].at
	out := &centralv1.LoadSeries{Link: link, Start: timestamppb.New(time.Unix(first*int64(seriesStep/time.Second), 0)), Step: durationpb.New(seriesStep)}
	for _, p := range s.steps {
		for int64(len(out.Mean)) < p.at-first {
			out.Mean, out.Most = append(out.Mean, -1), append(out.Most, -1)
		}
		out.Mean, out.Most = append(out.Mean, float32(p.sum/float64(p.n))), append(out.Most, float32(p.most))
	}
	return out
}

// allSeries has the series of the links by name.
type allSeries map[string]*linkSeries

// add takes the newest figure of each link in.
func (a allSeries) add(now time.Time, samples map[string]policy.Sample) {
	for link, sample := range samples {
		if a[link] == nil {
			a[link] = &linkSeries{}
		}
		a[link].add(now, sample)
	}
}

// proto has those that have a figure, in the order of their links' names.
func (a allSeries) proto() []*centralv1.LoadSeries {
	var out []*centralv1.LoadSeries
	for _, link := range slices.Sorted(maps.Keys(a)) {
		if s := a[link].proto(link); s != nil {
			out = append(out, s)
		}
	}
	return out
}
