package edge

import (
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/announcer"
)

// told is what a neighbour was told last, or could not be told.
type told struct {
	routes []announcer.Route
	fault  string    // why not; empty: it was told
	retry  time.Time // when to try again; zero: it was told
}

// tell tells the announcer what a neighbour shall know, if that is new. What
// fails is tried again, at the latest after retryAfter.
func (e *Edge) tell(now time.Time, neighbor string, routes []announcer.Route) {
	was, known := e.told[neighbor]
	same := known && (sameSlice(was.routes, routes) || slices.EqualFunc(was.routes, routes, announcer.Route.Equal))
	if same && (was.retry.IsZero() || now.Before(was.retry)) {
		return
	}
	is := told{routes: routes}
	if err := e.opt.Announcer.Set(neighbor, routes); err != nil {
		is.fault, is.retry = err.Error(), now.Add(retryAfter)
	}
	e.told[neighbor] = is
	switch {
	case is.fault == was.fault:
	case is.fault != "":
		e.log.Error("the neighbour could not be told; it is tried again", "neighbor", neighbor, "error", is.fault)
	default:
		e.log.Info("the neighbour could be told after all", "neighbor", neighbor)
	}
}

// sameSlice says whether two lists of routes are one.
func sameSlice(a, b []announcer.Route) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
