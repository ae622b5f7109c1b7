package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/catchment-bgp/catchment/lab/router"
)

// clockSlack is how far a router's uptime may lag: some tell whole seconds.
const clockSlack = 1500 * time.Millisecond

// mark remembers how many sessions each router has.
func (w *world) mark(words []string) (answer, error) {
	if len(words) > 0 || w.topology == nil {
		return answer{}, errors.New("write: mark, after: lab TOPOLOGY")
	}
	counts := map[string]int{}
	for _, n := range w.topology.Nodes {
		if !router.Speaks(n.Role()) {
			continue
		}
		list, err := w.neighbors(n.Name)
		if err != nil {
			return answer{}, err
		}
		counts[n.Name] = sessionsOlder(list, 0)
	}
	w.sessionsAt, w.marked = counts, time.Now()
	return answer{}, nil
}

// kept: all sessions of the last mark are up, and older than it.
func (w *world) kept(words []string) (func() error, time.Duration, error) {
	words, within, err := cutWithin(words, conditionWait)
	if err == nil && (len(words) > 0 || w.sessionsAt == nil) {
		err = errors.New("write: kept [within 5s], after: mark")
	}
	return func() error {
		for node, count := range w.sessionsAt {
			age := time.Since(w.marked) - clockSlack
			list, err := w.neighbors(node)
			if got := sessionsOlder(list, age); err != nil || got < count {
				return cmp.Or(err, fmt.Errorf("%s has %d sessions of %v or more, and had %d: %s", node, got, age, count, ages(list)))
			}
		}
		return nil
	}, within, err
}

// sessionsOlder counts the sessions that have been up for so long.
func sessionsOlder(list []router.Neighbor, age time.Duration) (count int) {
	for _, n := range list {
		if n.State == router.Established && n.Uptime >= age {
			count++
		}
	}
	return count
}

func ages(list []router.Neighbor) (text string) {
	for _, n := range list {
		text += fmt.Sprintf("%s %s %v; ", n.Address, n.State, n.Uptime)
	}
	return text
}
