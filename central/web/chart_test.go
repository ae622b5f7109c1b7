package web

import (
	"encoding/xml"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestAnyChartIsWellFormedAndStaysWithinItself draws what nodes could say, and worse.
func TestAnyChartIsWellFormedAndStaysWithinItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		load := rapid.OneOf(rapid.Float32Range(-2, 2e12), rapid.SampledFrom([]float32{-1, 0, float32(math.Inf(1)), float32(math.NaN())}))
		s := &centralv1.LoadSeries{Link: rapid.SampledFrom([]string{"transit-a", `<b onx="1">&"'`}).Draw(t, "link"),
			Step: durationpb.New(5 * time.Minute), Start: timestamppb.New(noon.Add(-time.Duration(rapid.IntRange(0, 72).Draw(t, "hours")) * time.Hour)),
			Mean: rapid.SliceOfN(load, 1, 300).Draw(t, "mean")}
		s.Most = rapid.SliceOfN(load, len(s.Mean), len(s.Mean)).Draw(t, "most")
		l := &centralv1.LinkReport{Name: s.Link, Capacity: rapid.Float64Range(0, 1e12).Draw(t, "capacity"), Target: rapid.Float64Range(0, 1).Draw(t, "target")}
		marks := []decisionView{{Mark: 1, At: noon.Add(-time.Duration(rapid.IntRange(-100, 2000).Draw(t, "minutes")) * time.Minute)}}
		text := string(drawChart(s, l, marks, noon))
		d := xml.NewDecoder(strings.NewReader(text))
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			if e, is := token.(xml.StartElement); is {
				within(t, e)
			}
		}
	})
}

// within checks the coordinates of an element.
func within(t *rapid.T, e xml.StartElement) {
	for _, a := range e.Attr {
		most := 0.0
		switch a.Name.Local {
		case "x", "x1", "x2":
			most = chartWidth
		case "y", "y1", "y2":
			most = chartHeight
		case "d":
			for _, f := range strings.FieldsFunc(a.Value, func(r rune) bool { return strings.ContainsRune("MLZ ", r) }) {
				if v, err := strconv.ParseFloat(f, 64); err != nil || v < 0 || v > chartWidth {
					t.Fatalf("a path with %q", f)
				}
			}
		default:
			continue
		}
		if v, err := strconv.ParseFloat(a.Value, 64); most > 0 && (err != nil || v < 0 || v > most) {
			t.Fatalf("<%s> has %s=%q", e.Name.Local, a.Name.Local, a.Value)
		}
	}
}

func TestAGapInTheFiguresIsAGapInTheCurve(t *testing.T) {
	s := &centralv1.LoadSeries{Link: "a", Step: durationpb.New(5 * time.Minute), Start: timestamppb.New(noon.Add(-time.Hour)),
		Mean: []float32{1, 2, -1, -1, 3}, Most: []float32{2, 3, -1, -1, 4}}
	runs := runsOf(s, noon)
	if len(runs) != 2 || len(runs[0]) != 4 || len(runs[1]) != 2 {
		t.Fatalf("%d runs: %v", len(runs), runs)
	}
	if got := runs[1][0].at; !got.Equal(noon.Add(-40 * time.Minute)) {
		t.Errorf("the second run begins at %v", got)
	}
}

func TestTheCapacityIsBelowTheUpperEdgeAndSoIsALoadAboveIt(t *testing.T) {
	s := &centralv1.LoadSeries{Most: []float32{15}}
	for _, l := range []*centralv1.LinkReport{{Capacity: 10}, {Capacity: 20}, {}} {
		if top := topOf(s, l); top <= l.GetCapacity() || top <= 15 {
			t.Errorf("capacity %v: the upper edge is %v", l.GetCapacity(), top)
		}
	}
}
