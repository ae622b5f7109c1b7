package policy

import "time"

// LinkDecision is what was found and asked for on a link.
type LinkDecision struct {
	Name string
	// Known is false before the first figure; Stale is true when three were missed.
	Known, Stale bool
	// Utilization is the load in shares of the capacity, Age that of its figure.
	Utilization float64
	Age         time.Duration
	// Demand is what the load would be if nothing were shed, in shares of the
	// capacity; Forecast is where the load is headed.
	Demand, Forecast float64
	// Shed is the share of the demand that the controller wants elsewhere, InForce
	// what the rungs are believed to shed.
	Shed, InForce float64
	// Slowdown is the share of new sessions not to take, Drop that of current ones
	// to move at each segment.
	Slowdown, Drop float64
	// Absorb is true when there is more to shed than anything may take.
	Absorb bool
	// Restraint is what holds the link's climbers back.
	Restraint Restraint
}

// ClimberDecision is where a neighbour stands on its ladder, and what keeps it.
type ClimberDecision struct {
	Name string
	// Rung in force of Rungs; 0: as configured.
	Rung, Rungs int
	// Shed is what the rung is believed to shed of the neighbour's demand.
	Shed float64
	// Penalty is the highest that routers of the neighbour's AS may keep of us.
	Penalty float64
	// Nearness is the highest penalty in shares of that from which its maker's routers
	// suppress: from 1 on they may.
	Nearness float64
	// Moved is true when this decision changed the rung.
	Moved bool
	// Restraint says why it is not on another rung.
	Restraint Restraint
}

// Hindrance names what keeps a neighbour on its rung.
type Hindrance uint8

// The hindrances.
const (
	// Content: the load asks for no other rung.
	Content Hindrance = iota
	// NoController: load control is off.
	NoController
	// Uncontrollable: nothing can be shed on this link.
	Uncontrollable
	// NoLadder: the neighbour has no rungs.
	NoLadder
	// Pinned: an operator's word.
	Pinned
	// NoFigure: the load is not known.
	NoFigure
	// Stale: the load is not known any more.
	Stale
	// SessionsAct: the load is shed by refusing and moving sessions.
	SessionsAct
	// Gathering: the wish for another rung has not lasted long enough.
	Gathering
	// StillNeeded: without the rung the load would be too high.
	StillNeeded
	// Dwelling: the last change of this neighbour is too fresh.
	Dwelling
	// OtherMover: another one of this site moved just now.
	OtherMover
	// Ledger: one more change could make others damp our prefixes.
	Ledger
	// NeedsGrant: the rung withdraws, or makes others withdraw.
	NeedsGrant
	// TopRung: there is none above.
	TopRung
	// WouldLand: what it sheds would overload another link of ours.
	WouldLand
	// NoRoom: the other nodes cannot take what it sheds.
	NoRoom
	// TooMuch: the next step would shed far more than is wanted.
	TooMuch
	// Futile: the last step moved next to nothing.
	Futile
	// NotChosen: another neighbour is better suited.
	NotChosen
)

var hindranceNames = [...]string{"content", "no_controller", "uncontrollable", "no_ladder", "pinned", "no_figure", "stale", "sessions",
	"gathering", "still_needed", "dwelling", "other_mover", "ledger", "needs_grant", "top_rung", "would_land", "no_room", "too_much", "futile", "not_chosen"}

// String gives the name that status and metrics use.
func (h Hindrance) String() string { return name(hindranceNames[:], int(h)) }

// lasting says whether waiting does not help: the link must take what it gets.
func (r Restraint) lasting() bool {
	switch r.Hindrance {
	case Uncontrollable, NoLadder, NeedsGrant, TopRung, WouldLand, NoRoom, TooMuch, Futile:
		return true
	case Ledger:
		return r.Until.IsZero()
	}
	return false
}

// MarshalText gives the name that status and metrics use.
func (h Hindrance) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads that name.
func (h *Hindrance) UnmarshalText(text []byte) error {
	return unname(h, hindranceNames[:], text, "what holds a neighbour back")
}

var hindranceTexts = [...]string{
	Content: "the load asks for no other rung", NoController: "load control is off", Uncontrollable: "nothing can be shed on this link",
	NoLadder: "it has no ladder", Pinned: "pinned", NoFigure: "no figure of the load yet", Stale: "the figure of the load is stale",
	SessionsAct: "sessions are refused and moved instead", Gathering: "not wanted for long enough yet", StillNeeded: "without it the load would be too high", Dwelling: "it moved just now",
	OtherMover: "another neighbour or node moved just now", Ledger: "one more change could make others damp the prefix",
	NeedsGrant: "the next rung withdraws or makes others withdraw, which needs leave", TopRung: "it is on its highest rung",
	WouldLand: "what it sheds would overload another link of this node", NoRoom: "the other nodes have no room for what it sheds", TooMuch: "the next step would shed far more than is wanted", Futile: "the last step moved next to nothing",
	NotChosen: "another neighbour is better suited",
}

// Restraint is what keeps a neighbour on its rung.
type Restraint struct {
	Hindrance Hindrance
	// Until is when the hindrance ends by itself; zero: not known.
	Until time.Time
	// Word is what someone said: of a pin its reason, of a link why it is not
	// controlled.
	Word string
}

// String says it in a short sentence.
func (r Restraint) String() string {
	text := name(hindranceTexts[:], int(r.Hindrance))
	if r.Word != "" {
		text += ": " + r.Word
	}
	if !r.Until.IsZero() {
		text += " (until " + r.Until.UTC().Format(time.RFC3339) + ")"
	}
	return text
}
