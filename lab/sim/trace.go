package sim

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Trace plays a scenario once and writes a line of CSV for each link and step:
// time in seconds, link as SITE/LINK, load and capacity in bit/s, the rung of the
// link's neighbour that sheds most, slowdown and drop.
func Trace(w io.Writer, sc *Scenario, controller string, seed uint64) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"time", "link", "load", "capacity", "rung", "slowdown", "drop"}); err != nil {
		return err
	}
	var failed error
	Run(sc, controller, seed, func(s *Snapshot) {
		for i := range s.Links {
			l := &s.Links[i]
			if failed == nil {
				failed = out.Write([]string{plain(s.Now.Seconds(), -1), l.Site + "/" + l.Link, plain(l.Load, 0), plain(l.Capacity, 0),
					strconv.Itoa(l.Rung), plain(l.Slowdown, 4), plain(l.Drop, 4)})
			}
		}
	})
	out.Flush()
	if failed != nil {
		return failed
	}
	return out.Error()
}

func plain(x float64, digits int) string { return strconv.FormatFloat(x, 'f', digits, 64) }

// Why plays a scenario once and writes a line whenever a neighbour's rung changes,
// or what keeps it there.
func Why(w io.Writer, sc *Scenario, controller string, seed uint64) error {
	out := bufio.NewWriter(w)
	Run(sc, controller, seed, func(s *Snapshot) {
		for _, note := range s.Notes {
			fmt.Fprintf(out, "%s %s\n", clock(s.Now), note) // the first error stays with out
		}
	})
	return out.Flush()
}

// clock writes a time as h:mm:ss.
func clock(t time.Duration) string {
	s := int(t / time.Second)
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}
