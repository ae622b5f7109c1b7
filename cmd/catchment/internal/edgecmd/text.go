package edgecmd

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
)

// span writes a duration with its two largest units at most: 40s, 3m, 1m40s,
// 3h12m, 5d4h. Less than a second, or less than nothing, is 0s.
func span(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	units := []struct {
		name string
		size int64
	}{{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}}
	for i, u := range units {
		if s < u.size {
			continue
		}
		out := fmt.Sprintf("%d%s", s/u.size, u.name)
		if i+1 < len(units) {
			if rest := s % u.size / units[i+1].size; rest > 0 {
				out += fmt.Sprintf("%d%s", rest, units[i+1].name)
			}
		}
		return out
	}
	return "0s"
}

// ago is the span since t; empty when t is not known.
func ago(now time.Time, t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return span(now.Sub(t.AsTime()))
}

// left is the span until t, to the nearest second: an override for 30m has
// 30m left at once, and not 29m59s.
func left(now time.Time, t *timestamppb.Timestamp) string {
	return span(t.AsTime().Sub(now).Round(time.Second))
}

// clock is a moment in UTC, to the second.
func clock(t *timestamppb.Timestamp) string {
	if t == nil {
		return "unknown"
	}
	return t.AsTime().Format(time.RFC3339)
}

// figure writes seconds from a check or a session in a readable unit.
func figure(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case !(seconds > 0): // NaN too
		return ""
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// percent writes a share of 1.
func percent(share float64) string { return strconv.FormatFloat(share*100, 'f', 0, 64) + "%" }

func wayBackText(w *edgev1.WayBack) string {
	switch {
	case w == nil:
		return ""
	case !w.GetRequired():
		return "way back not required"
	}
	return "way back ipv4 " + w.GetIpv4() + ", ipv6 " + w.GetIpv6()
}

// rungText is empty for a neighbour without a ladder.
func rungText(n *edgev1.Neighbor) string {
	if n.GetRungs() == 0 && n.GetRung() == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", n.GetRung(), n.GetRungs())
}

// stateAt is a service's state at a neighbour where that differs from the
// service's own.
func stateAt(s *edgev1.Service, n *edgev1.Neighbor) string {
	if n.GetState() == "" || n.GetState() == s.GetState() && n.GetReason() == s.GetReason() {
		return ""
	}
	return n.GetState() + " (" + n.GetReason() + ")"
}

// routeText is a route in one line; what is not sent is not named.
func routeText(r *edgev1.Route) string {
	return r.GetPrefix() + "  " + strings.Join(attributes(r), ", ")
}

func attributes(r *edgev1.Route) []string {
	out := []string{"next hop " + r.GetNextHop(), fmt.Sprintf("prepend %d", r.GetPrepend())}
	if c := r.GetCommunities(); len(c) > 0 {
		out = append(out, "communities "+strings.Join(c, " "))
	}
	if r.Med != nil {
		out = append(out, fmt.Sprintf("MED %d", r.GetMed()))
	}
	if r.LocalPref != nil {
		out = append(out, fmt.Sprintf("local pref %d", r.GetLocalPref()))
	}
	return out
}

// optional writes a number that may not be set.
func optional(v *uint32, unset string) string {
	if v == nil {
		return unset
	}
	return strconv.FormatUint(uint64(*v), 10)
}
