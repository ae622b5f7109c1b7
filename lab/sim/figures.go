package sim

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
)

// Figure names what is measured of a run.
type Figure int

// The figures of a run. Ratios are in shares of a capacity or of all traffic.
const (
	// OverloadSeconds of the worst site: a link of it carries more than it can.
	OverloadSeconds Figure = iota
	// ExcessBytes are those above capacities.
	ExcessBytes
	// Peak is the highest utilization of a link.
	Peak
	// Undershoot is how far below its target a link was at most while it shed
	// although its own clients would have filled it; in the window.
	Undershoot
	// PeakToPeak is the greatest swing of a link's utilization in the window.
	PeakToPeak
	// SettledError is the greatest distance of a shedding link from its target in
	// the window.
	SettledError
	// SettledHighSeconds is how long a link was over 0.95 in the window.
	SettledHighSeconds
	// Antiphase is the lowest correlation of two links of one site in the window; 0
	// where they hardly move.
	Antiphase
	// Reversals is how often the rung of a neighbour, or for sessions the shed of a
	// link, changed its direction: the most of any.
	Reversals
	// UpdatesPerHour and WithdrawalsPerHour are the most of any prefix, edge and
	// neighbour, in any hour.
	UpdatesPerHour
	WithdrawalsPerHour
	// PrefixesDamped counts the prefixes, by neighbour AS, that somebody damped.
	PrefixesDamped
	// SessionsBroken were carried to another site, or found nobody to take them.
	SessionsBroken
	// SessionsMoved went to another link without a break.
	SessionsMoved
	// AwayShare is the share of the traffic that was not where it is with nothing
	// shed.
	AwayShare
	// UnservedShare is the share of the demand that nobody served.
	UnservedShare
	// HomeSeconds is how long after the last need to shed everything was home.
	HomeSeconds
	// SecondaryOverloads counts how often a link was overloaded that would not have
	// been if nobody had shed.
	SecondaryOverloads
	figures // how many there are
)

var figureNames = [figures]string{
	"overload_seconds", "excess_bytes", "peak", "undershoot", "peak_to_peak", "settled_error", "settled_high_seconds",
	"antiphase_correlation", "reversals", "updates_per_hour", "withdrawals_per_hour", "prefixes_damped",
	"sessions_broken", "sessions_moved", "away_share", "unserved_share", "home_seconds", "secondary_overloads",
}

// String gives the name that JSON has.
func (f Figure) String() string {
	if f < 0 || f >= figures {
		return "invalid(" + strconv.Itoa(int(f)) + ")"
	}
	return figureNames[f]
}

// AllFigures lists the figures.
func AllFigures() []Figure {
	out := make([]Figure, figures)
	for i := range out {
		out[i] = Figure(i)
	}
	return out
}

// Figures are those of one run. NaN: there is none.
type Figures [figures]float64

// Summary is a figure over all seeds.
type Summary struct {
	Median float64 `json:"median"`
	Worst  float64 `json:"worst"`
}

// Summaries are those of all figures. NaN: there is none.
type Summaries [figures]Summary

// MarshalJSON writes an object with the figures that there are.
func (s Summaries) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, v := range s {
		if math.IsNaN(v.Median) {
			continue
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		text, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		out.WriteString(strconv.Quote(figureNames[i]) + ":")
		out.Write(text)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// summarize takes the median and the worst of many runs. The worst is the highest,
// but for the correlation.
func summarize(runs []Figures) Summaries {
	var out Summaries
	values := make([]float64, len(runs))
	for f := range figures {
		for i := range runs {
			values[i] = runs[i][f]
		}
		slices.Sort(values) // NaN first: where one run has none, all have
		n := len(values)
		median := (values[(n-1)/2] + values[n/2]) / 2
		worst := values[n-1]
		if f == Antiphase {
			worst = values[0]
		}
		out[f] = Summary{round(median), round(worst)}
	}
	return out
}

// round keeps six digits: what the order of additions changes is not printed.
func round(x float64) float64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return x + 0 // no -0
	}
	scale := math.Pow(10, 5-math.Floor(math.Log10(math.Abs(x))))
	r := math.Round(x*scale) / scale
	if math.Abs(r) < 1e-9 {
		return 0
	}
	return r
}
