package topcmd

import (
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

// board is what there is to show, whoever told it. Its texts are printable.
type board struct {
	title   string   // whose status it is
	summary string   // one sentence: what is going on
	notes   []string // what is wrong beyond single rows
	titles  [columns]string
	groups  string // what the groups of rows are
	rows    []row
	// subjects are for those who read lines.
	subjects []output.Subject
}

// The columns of a row, from left to right.
const (
	columnName = iota
	columnState
	columnLoad
	columnSessions
	columnExtra
	columnReason
	columns
)

// row is one node of the fleet, or one neighbour of a node.
type row struct {
	// group is what it stands under, heading how that is written.
	group, heading string
	name           string
	state          string // announced, steered, draining, withdrawn or unseen
	colour         output.Colour
	load           gauge
	sessions       string
	extra          string
	reason         string
	more           []string // in full
}

// key tells rows apart.
func (r row) key() string { return r.group + "\x00" + r.name }

// gauge is a link's load as a share of its capacity.
type gauge struct {
	known, stale bool
	value        float64
	target       float64 // what the load controller aims at; 0: not known
	name         string  // of the link, where there are several
}

// ranks orders states, the worst first.
var ranks = map[string]int{"withdrawn": 0, "unseen": 1, "draining": 2, "steered": 3, "announced": 4}

// rank of a state; one that is not known is bad.
func rank(state string) int { return ranks[state] }
