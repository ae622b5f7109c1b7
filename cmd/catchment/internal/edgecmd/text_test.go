package edgecmd

import (
	"math"
	"testing"
	"time"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
)

func TestSpanNamesTheTwoLargestUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour:                       "0s",
		999 * time.Millisecond:           "0s",
		59 * time.Second:                 "59s",
		time.Minute:                      "1m",
		100 * time.Second:                "1m40s",
		time.Hour + 59*time.Second:       "1h",
		3*time.Hour + 12*time.Minute:     "3h12m",
		24 * time.Hour:                   "1d",
		124*time.Hour + 30*time.Minute:   "5d4h",
		time.Duration(math.MaxInt64):     "106751d23h",
		time.Duration(math.MinInt64 + 1): "0s",
	} {
		if got := span(d); got != want {
			t.Errorf("span(%s) = %q, want %q", d, got, want)
		}
	}
}

func TestFigureHasAReadableUnit(t *testing.T) {
	for seconds, want := range map[float64]string{
		0: "", -1: "", math.NaN(): "", 0.00012: "120µs", 0.0023: "2ms", 0.4567: "457ms", 1.234: "1.23s", 9: "9s", 90: "1m30s",
	} {
		if got := figure(seconds); got != want {
			t.Errorf("figure(%v) = %q, want %q", seconds, got, want)
		}
	}
}

func TestChangeNamesWhatDiffersAndThatAlone(t *testing.T) {
	route := func(prepend int32, communities ...string) *edgev1.Route {
		return &edgev1.Route{Prefix: "198.51.100.0/24", NextHop: "10.77.1.1", Prepend: prepend, Communities: communities}
	}
	for _, tt := range []struct {
		from, to *edgev1.Route
		want     string
	}{
		{route(0), route(3, "65535:0"), "198.51.100.0/24  prepend 0 -> 3, communities +65535:0"},
		{route(1, "65535:0"), route(1), "198.51.100.0/24  communities -65535:0"},
		{route(1), route(1), "198.51.100.0/24  sent again with the same attributes"},
		{nil, route(0), " -> 198.51.100.0/24  next hop  -> 10.77.1.1"},
		{nil, nil, "  sent again with the same attributes"},
	} {
		if got := changeText(tt.from, tt.to); got != tt.want {
			t.Errorf("%v -> %v: %q, want %q", tt.from, tt.to, got, tt.want)
		}
	}
}

func TestStaleAndMissingFiguresAreTold(t *testing.T) {
	half := 0.5
	for _, tt := range []struct {
		link *edgev1.Link
		want string
	}{
		{nil, ""},
		{&edgev1.Link{}, "no figure"},
		{&edgev1.Link{Stale: true}, "no figure"},
		{&edgev1.Link{Utilization: &half}, "50%"},
		{&edgev1.Link{Utilization: &half, Stale: true}, "50% stale"},
	} {
		if got := linkText(tt.link); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.link, got, tt.want)
		}
	}
}
