package fleet

import "time"

const (
	days  = 7
	hours = days * 24
)

// Peaks remembers the highest load of each hour of the last seven days. The zero
// value remembers nothing. It is plain data: to be kept as JSON, for instance.
type Peaks struct {
	// Hours holds by hour since 1970, modulo their number, when it was and its peak.
	Hours [hours]HourPeak `json:"hours"`
}

// HourPeak is the peak of one hour, in bit/s; Hour counts since 1970 and 0 means
// that nothing is known.
type HourPeak struct {
	Hour int64   `json:"h,omitempty"`
	Load float64 `json:"l,omitempty"`
}

func hourOf(t time.Time) int64 { return t.Unix() / 3600 }

// Add returns the peaks after a figure of the load at a moment.
func (p Peaks) Add(at time.Time, load float64) Peaks {
	hour := hourOf(at)
	if hour <= 0 || !(load >= 0) {
		return p
	}
	switch slot := &p.Hours[hour%hours]; {
	case slot.Hour == hour:
		slot.Load = max(slot.Load, load)
	case slot.Hour < hour:
		*slot = HourPeak{Hour: hour, Load: load}
	}
	return p
}

// Between returns the highest load in the same hours of the last seven days as
// those from start to end, as it is known now. An hour on either side counts, too:
// clocks are put forward and back, and evenings differ.
func (p Peaks) Between(now, start, end time.Time) Figure {
	first, last := hourOf(start)-1, hourOf(end)+1
	if last-first > 24 {
		last = first + 24
	}
	wanted := map[int64]bool{}
	for h := first; h <= last; h++ {
		wanted[((h%24)+24)%24] = true
	}
	var most Figure
	for _, slot := range p.Hours {
		age := hourOf(now) - slot.Hour
		if slot.Hour > 0 && age >= 0 && age < hours && wanted[slot.Hour%24] {
			most = Figure{Value: max(most.Value, slot.Load), Known: true}
		}
	}
	return most
}
