package flap

import (
	"math"
	"time"
)

// ClockError is how far the clocks of two edges that share a budget may differ.
const ClockError = 30 * time.Second

const (
	mostEdges  = 4096
	longest    = 7 * 24 * time.Hour // slot, beyond which it is never
	windowPart = 3                  // of the shortest half-life
	never      = time.Duration(math.MaxInt64)
	// rounding keeps a wait from ending a hair too early.
	rounding = time.Millisecond
)

// Allow says whether an automatic change may be made at these keys now; if so
// next is now. If not, next is the earliest time at which it may, should nothing
// else be charged until then; the zero time says never: it fits below no
// threshold by itself, or not beside the changes of the other edges. The event
// counts for each key once for each time that the key is named. Keys in
// ascending order are fastest. Nothing is charged.
//
// What costs nothing is always allowed. Edges that share a budget take turns: see
// Config.Slot. There a change that costs more than an attribute change, or that
// names a key twice, is never allowed.
func (l Ledger) Allow(c Config, s Share, now time.Time, e Event, keys ...Key) (ok bool, next time.Time) {
	return l.allow(c, c.turns(s), func(Profile) float64 { return 0 }, now, e, keys)
}

// allow is Allow with turns, and with a penalty by profile that is kept besides ours.
func (l Ledger) allow(c Config, t turns, besides func(Profile) float64, now time.Time, e Event, keys []Key) (ok bool, next time.Time) {
	if len(keys) == 0 || c.free(e) {
		return true, now
	}
	var wait time.Duration
	once := ascending(keys)
	for n, p := range c.Profiles {
		a := ask{profile: p, column: l.column(n, p.Name), cost: c.cost(p, e), room: c.limit(p), besides: besides(p), turns: t}
		if t.blind() {
			a.most = c.cost(p, AttributeChange)
			a.room -= t.others(p, a.most)
		}
		wait = max(wait, l.wait(a, now, keys, once))
		if wait == never {
			return false, time.Time{}
		}
	}
	if t.edges > 1 {
		if t.length == 0 {
			return false, time.Time{}
		}
		wait += t.wait(now.Add(wait))
	}
	return wait == 0, now.Add(wait)
}

// free reports whether the event costs nothing.
func (c Config) free(e Event) bool {
	for _, p := range c.Profiles {
		if !(c.cost(p, e) == 0) {
			return false
		}
	}
	return true
}

// ascending reports whether each key is greater than the one before.
func ascending(keys []Key) bool {
	for i := 1; i < len(keys); i++ {
		if keys[i-1].compare(keys[i]) >= 0 {
			return false
		}
	}
	return true
}

// ask is one profile's side of a question.
type ask struct {
	profile    Profile
	column     int
	cost, room float64 // room: for our own penalty, what is kept besides, and the charge
	besides    float64
	most       float64 // that one change of a shared budget may cost
	turns      turns
}

// wait returns how long the change must wait for the profile; at most never.
func (l Ledger) wait(a ask, now time.Time, keys []Key, once bool) (longest time.Duration) {
	hint := -1
	for _, k := range keys {
		plain, ok := k.plain()
		if !ok {
			return never
		}
		cost := a.cost
		if !once {
			cost *= float64(count(keys, plain))
		}
		room := a.room - cost
		switch {
		case cost == 0:
			continue
		case a.turns.blind() && !(cost <= a.most), !(room >= 0):
			return never
		}
		i, found := l.find(plain, hint)
		if found {
			hint = i
			longest = max(longest, l.decay(a, i, room, now.Sub(l.entries[i].at)))
		} else if a.besides > 0 {
			longest = max(longest, a.falls(a.besides, room))
		}
	}
	return longest
}

// decay is how long it takes until entry i, of that age, fits in the room, and
// until the turn after its last charge.
func (l Ledger) decay(a ask, i int, room float64, age time.Duration) time.Duration {
	age = max(age, -never/8)
	wait := max(a.turns.apart-age, 0)
	left := a.profile.decayed(l.at(i, a.column), age) + a.besides
	if left <= room {
		return wait
	}
	d := a.falls(left, room)
	if d == never || d-min(age, 0) >= never/8 {
		return never
	}
	return max(wait, d-min(age, 0))
}

// falls is how long it takes until a penalty fits in the room; at most never.
func (a ask) falls(left, room float64) time.Duration {
	if left <= room {
		return 0
	}
	if a.profile.HalfLife <= 0 {
		return never
	}
	d := float64(a.profile.HalfLife) * math.Log2(left/room)
	if !(d < float64(never)/8) {
		return never
	}
	return time.Duration(d) + rounding
}

// count is how often the key is named.
func count(keys []Key, k Key) (n int) {
	for _, other := range keys {
		if plain, _ := other.plain(); plain == k {
			n++
		}
	}
	return n
}
