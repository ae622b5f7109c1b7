package maintnote

import (
	"cmp"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/maintenance"
)

// Status is X-MAINTNOTE-STATUS (BCOP, section 3.6.6).
type Status string

// The statuses.
const (
	Tentative Status = "TENTATIVE"
	Confirmed Status = "CONFIRMED"
	Cancelled Status = "CANCELLED"
	InProcess Status = "IN-PROCESS"
	Completed Status = "COMPLETED"
)

// Impact is X-MAINTNOTE-IMPACT (BCOP, section 3.6.5). Words that are not listed here
// count as Outage.
type Impact string

// The impacts.
const (
	NoImpact          Impact = "NO-IMPACT"
	ReducedRedundancy Impact = "REDUCED-REDUNDANCY"
	Degraded          Impact = "DEGRADED"
	Outage            Impact = "OUTAGE"
)

// Action is what a person is asked to confirm.
type Action string

// The actions. What they are about is the maintenance: all windows that were made of
// mails with the same provider, account and maintenance ID.
const (
	Open   Action = "open"   // Window, in the place of one made of an older mail
	End    Action = "end"    // the window that runs: the work is done
	Cancel Action = "cancel" // the window: the work is called off
	None   Action = "none"   // nothing; Why says why
)

// Neighbor names a neighbour of a node.
type Neighbor struct {
	Node string `json:"node"`
	Name string `json:"name"`
}

// Object is a circuit or a service that the work touches (BCOP, section 3.6.4).
type Object struct {
	ID     string `json:"id"`
	Line   int    `json:"line"`
	Altrep string `json:"altrep,omitempty"` // where the provider says more of it
	Impact Impact `json:"impact,omitempty"` // its own, or that of the whole
	// Circuit is the label that it was matched by: the ID or, where a line was folded
	// wrongly, the ID with what follows. Empty: no neighbour has such a label.
	Circuit   string     `json:"circuit,omitempty"`
	Neighbors []Neighbor `json:"neighbors"`
}

// Proposal is what one event of a mail asks for. Lists are never nil.
type Proposal struct {
	Source string `json:"source"` // the file, and the part of a mail
	Line   int    `json:"line"`   // of BEGIN:VEVENT

	Provider      string    `json:"provider"`
	Account       string    `json:"account"`
	MaintenanceID string    `json:"maintenance_id"` // the primary one
	OtherIDs      []string  `json:"other_ids"`
	UID           string    `json:"uid"`
	Sequence      int       `json:"sequence"`
	Stamp         time.Time `json:"stamp,omitzero"`
	Status        Status    `json:"status"`
	Impact        Impact    `json:"impact"`
	Summary       string    `json:"summary"`
	Organizer     string    `json:"organizer"`
	Start         time.Time `json:"start,omitzero"`
	End           time.Time `json:"end,omitzero"`
	Objects       []Object  `json:"objects"`

	Action Action `json:"action"`
	Why    string `json:"why"` // the action in words
	// Window is what Action "open" would open; null where something that it needs is
	// missing or cannot be understood. It has no ID, and is marked as proposed.
	Window *maintenance.Window `json:"window"`
	// Lacks are the properties that the BCOP asks for and the event has not.
	Lacks []string `json:"lacks"`
	// Problems are what cannot be understood. With any, there is no Window.
	Problems []Remark `json:"problems"`
	// Notes are what was read otherwise than it stands there.
	Notes []Remark `json:"notes"`
}

// Order says how one mail stands to another.
type Order int

// The orders. Unclear: the same maintenance, but of another event (UID), or equally
// new with other content; a person has to say whether it replaces the other or is one
// more window.
const (
	Unrelated Order = iota
	Older
	Same
	Newer
	Unclear
)

// String gives the order in one word.
func (o Order) String() string {
	names := [...]string{"unrelated", "older", "same", "newer", "unclear"}
	if o < 0 || int(o) >= len(names) {
		return "order"
	}
	return names[o]
}

// Key says which maintenance it is: provider, account and maintenance ID; empty where
// the mail does not say.
func (p Proposal) Key() string {
	if p.Provider == "" || p.MaintenanceID == "" {
		return ""
	}
	return strings.ToLower(p.Provider) + "\n" + p.Account + "\n" + p.MaintenanceID
}

// Compare says whether p is newer than other: by SEQUENCE, then by DTSTAMP (RFC 5546,
// section 2.1.5).
func (p Proposal) Compare(other Proposal) Order {
	switch {
	case p.Key() == "" || p.Key() != other.Key():
		return Unrelated
	case p.UID != other.UID:
		return Unclear
	}
	switch c := cmp.Or(cmp.Compare(p.Sequence, other.Sequence), p.Stamp.Compare(other.Stamp)); {
	case c < 0:
		return Older
	case c > 0:
		return Newer
	case p.asks() != other.asks():
		return Unclear
	}
	return Same
}

// asks is what two copies of one mail have in common.
func (p Proposal) asks() string {
	parts := []string{string(p.Status), string(p.Impact), p.Start.UTC().String(), p.End.UTC().String()}
	for _, o := range p.Objects {
		parts = append(parts, o.ID, string(o.Impact))
	}
	return strings.Join(parts, "\n")
}
