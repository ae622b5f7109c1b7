package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Series is what was measured, once per run.
type Series []time.Duration

// Median is the middle value, the lower one of two; 0 of none.
func (s Series) Median() time.Duration {
	if len(s) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(s))[(len(s)-1)/2]
}

// Worst is the largest value; 0 of none.
func (s Series) Worst() time.Duration {
	if len(s) == 0 {
		return 0
	}
	return slices.Max(s)
}

// MarshalJSON writes milliseconds: the median, the worst, and every run in order.
func (s Series) MarshalJSON() ([]byte, error) {
	runs := []float64{}
	for _, d := range s {
		runs = append(runs, milliseconds(d))
	}
	return json.Marshal(map[string]any{"median_ms": milliseconds(s.Median()), "worst_ms": milliseconds(s.Worst()), "runs_ms": runs})
}

func milliseconds(d time.Duration) float64 { return float64(d.Round(time.Microsecond)) / 1e6 }

// Table lines up rows of cells; the first row is the head.
func Table(rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // to a strings.Builder
	return b.String()
}

// WriteJSON writes figures to a file; an empty path means none.
func WriteJSON(path string, figures any) error {
	if path == "" {
		return nil
	}
	text, err := json.MarshalIndent(figures, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
