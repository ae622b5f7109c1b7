package load

import "fmt"

// Reason is why there was no figure of a source, or why it was refused.
type Reason uint8

// The reasons.
const (
	// Unreachable: the source did not answer as it should: connection, status,
	// timeout; an interface that is not there.
	Unreachable Reason = iota + 1
	// Malformed: what it answered could not be read.
	Malformed
	// Absent: the answer was good and had no figure, as when a query finds nothing.
	Absent
	// Negative: a load below zero.
	Negative
	// NotANumber: NaN or infinite.
	NotANumber
	// Future: true only later, by more than 5 s.
	Future
	// Older: from before the last figure.
	Older
	// OverCapacity: more than ten times the capacity.
	OverCapacity
	reasons
)

var reasonNames = [...]string{
	Unreachable: "unreachable", Malformed: "malformed", Absent: "absent", Negative: "negative",
	NotANumber: "not_a_number", Future: "future", Older: "older", OverCapacity: "over_capacity",
}

// String is a word for metrics: "unreachable", "over_capacity".
func (r Reason) String() string {
	if r == 0 || r >= reasons {
		return fmt.Sprintf("reason_%d", uint8(r))
	}
	return reasonNames[r]
}

// Refusal is a figure that was refused, or could not be had.
type Refusal struct {
	Reason Reason
	// Text says what was found and, where that is known, what to do.
	Text string
}

// Error has the reason and the text.
func (r *Refusal) Error() string { return r.Reason.String() + ": " + r.Text }

func refuse(reason Reason, format string, args ...any) error {
	return &Refusal{reason, fmt.Sprintf(format, args...)}
}
