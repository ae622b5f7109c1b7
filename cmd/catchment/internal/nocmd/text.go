package nocmd

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

// cells makes plain cells of texts.
func cells(texts ...string) []output.Cell {
	out := make([]output.Cell, len(texts))
	for i, t := range texts {
		out[i].Text = t
	}
	return out
}

// clock is a moment in UTC, to the second.
func clock(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Format(time.RFC3339)
}

// percent writes a share of 1.
func percent(v float64) string { return fmt.Sprintf("%.0f%%", 100*v) }

// rate writes bit/s in the unit that fits.
func rate(v float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"Tbps", 1e12}, {"Gbps", 1e9}, {"Mbps", 1e6}, {"kbps", 1e3}} {
		if v >= u.size {
			return fmt.Sprintf("%.3g%s", v/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.0fbps", v)
}

// whom is a selector in words.
func whom(s *centralv1.Selector) string {
	var parts []string
	for _, p := range []struct {
		what  string
		names []string
	}{{"nodes", s.GetNodes()}, {"sites", s.GetSites()}, {"neighbours", s.GetNeighbors()}, {"services", s.GetServices()}} {
		if len(p.names) > 0 {
			parts = append(parts, p.what+" "+strings.Join(p.names, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

func yes(b bool, word string) string {
	if b {
		return word
	}
	return ""
}

// colour is that of a node's state.
func colour(coloured bool, state string) output.Colour {
	switch {
	case !coloured:
		return output.Plain
	case state == "announced":
		return output.Green
	case state == "withdrawn", state == "unseen":
		return output.Red
	}
	return output.Yellow
}
