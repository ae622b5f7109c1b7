package flap

import (
	"slices"
	"time"
)

// Ledger has the penalties that others keep of us. It is a value that never
// changes; the zero value is empty. Its JSON form is sorted and survives restarts.
//
// Times that carry a monotonic clock reading are compared by it, so that a wall
// clock that is set forgives nothing within a run. See Resume for what comes of a
// file.
type Ledger struct {
	names   []string // of the profiles
	entries []entry  // by key
	points  []float64
	cold    bool // read from a file, of another run's clock
}

// entry is one penalty of each profile: points[i*len(names):][:len(names)] are
// those of entries[i] as they were at the time.
type entry struct {
	key Key
	at  time.Time
}

// compare orders keys by ASN, then prefix.
func (k Key) compare(o Key) int {
	switch {
	case k.ASN < o.ASN:
		return -1
	case k.ASN > o.ASN:
		return 1
	}
	return k.Prefix.Compare(o.Prefix)
}

// plain is the key without host bits; false for a prefix that is none.
func (k Key) plain() (Key, bool) {
	k.Prefix = k.Prefix.Masked()
	return k, k.Prefix.IsValid()
}

// Len is the number of keys with a penalty.
func (l Ledger) Len() int { return len(l.entries) }

// IsZero reports whether no key has a penalty, so that `json:",omitzero"` leaves
// an empty ledger out.
func (l Ledger) IsZero() bool { return len(l.entries) == 0 }

// Resume takes a ledger that was read from a file over into this run: from now on
// its times go by the clock of now, and entries of the future (the clock was set
// back meanwhile) count as of now, their penalties whole. Any other ledger is
// returned as it is, at no cost.
func (l Ledger) Resume(now time.Time) Ledger {
	if !l.cold {
		return l
	}
	l.cold, l.entries = false, slices.Clone(l.entries)
	for i := range l.entries {
		age := now.Round(0).Sub(l.entries[i].at)
		l.entries[i].at = now.Add(-max(age, 0))
	}
	return l
}

// SetBack has entries of the future count as of now, their penalties whole: for a
// clock that was set back while the program ran. Otherwise nothing of them would
// be forgotten until the clock is there again.
func (l Ledger) SetBack(now time.Time) Ledger {
	l = l.Resume(now)
	l.entries = slices.Clone(l.entries)
	for i := range l.entries {
		if l.entries[i].at.After(now) {
			l.entries[i].at = now
		}
	}
	return l
}

// Penalty returns the key's penalty by the profile that is nearest to
// suppressing it, in that profile's points, exploration included. 0: none.
func (l Ledger) Penalty(c Config, k Key, now time.Time) float64 {
	penalty, _ := l.Nearest(c, k, now)
	return penalty
}

// Nearest is Penalty, and the points from which that profile suppresses; 0 and 0: none.
func (l Ledger) Nearest(c Config, k Key, now time.Time) (penalty, suppress float64) {
	i, found := l.find(k, -1)
	if !found {
		return 0, 0
	}
	nearest := 0.0
	for n, p := range c.Profiles {
		v := p.decayed(l.at(i, l.column(n, p.Name)), now.Sub(l.entries[i].at))
		if ratio := v / p.Suppress; ratio > nearest {
			nearest, penalty, suppress = ratio, v, p.Suppress
		}
	}
	return penalty, suppress
}

// Charge returns the ledger with the event added for each key, once for each time
// that the key is named: two neighbours of one AS are two changes there. It is
// for everything that others see, asked for or not. Keys without a prefix are
// left out. What has decayed below 0.01 of Suppress is forgotten.
func (l Ledger) Charge(c Config, now time.Time, e Event, keys ...Key) Ledger {
	if len(keys) == 0 || c.free(e) {
		return l
	}
	l = l.Resume(now)
	w := writer{from: l, config: c, now: now, event: e}
	w.out.names = l.header(c)
	w.out.entries = make([]entry, 0, len(l.entries)+len(keys))
	w.out.points = make([]float64, 0, (len(l.entries)+len(keys))*len(c.Profiles))
	var i int
	for rest := sorted(keys); len(rest) > 0; {
		k, n := rest[0], leading(rest)
		rest = rest[n:]
		for i < len(l.entries) && l.entries[i].key.compare(k) < 0 {
			w.keep(i)
			i++
		}
		if i < len(l.entries) && l.entries[i].key == k {
			w.charge(i, k, n)
			i++
			continue
		}
		w.charge(-1, k, n)
	}
	for ; i < len(l.entries); i++ {
		w.keep(i)
	}
	return w.out
}

// sorted returns the keys that have a prefix, in order.
func sorted(keys []Key) []Key {
	out := make([]Key, 0, len(keys))
	for _, k := range keys {
		if k, ok := k.plain(); ok {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, Key.compare)
	return out
}

// leading is how many keys, at least one, are the same as the first.
func leading(keys []Key) int {
	n := 1
	for n < len(keys) && keys[n] == keys[0] {
		n++
	}
	return n
}

// writer builds a ledger out of another.
type writer struct {
	from, out Ledger
	config    Config
	now       time.Time
	event     Event
}

// keep takes over entry i, unless it can be forgotten.
func (w *writer) keep(i int) {
	from := w.from.entries[i]
	gone := true
	for n, p := range w.config.Profiles {
		v := w.from.at(i, w.from.column(n, p.Name))
		w.out.points = append(w.out.points, v)
		gone = gone && p.decayed(v, w.now.Sub(from.at)) < forgotten*p.Suppress
	}
	if gone {
		w.out.points = w.out.points[:len(w.out.points)-len(w.config.Profiles)]
		return
	}
	w.out.entries = append(w.out.entries, from)
}

// charge adds n events to the key, which has entry i; -1: none.
func (w *writer) charge(i int, k Key, n int) {
	at, age := w.now, time.Duration(0)
	if i >= 0 {
		age = w.now.Sub(w.from.entries[i].at)
		at = at.Add(-min(age, 0)) // never back
	}
	for m, p := range w.config.Profiles {
		var v float64
		if i >= 0 {
			v = p.decayed(w.from.at(i, w.from.column(m, p.Name)), age)
		}
		w.out.points = append(w.out.points, p.raised(v, w.config.cost(p, w.event)*float64(n)))
	}
	w.out.entries = append(w.out.entries, entry{k, at})
}

// header returns the names of the configuration's profiles.
func (l Ledger) header(c Config) []string {
	same := func(name string, p Profile) bool { return name == p.Name }
	if slices.EqualFunc(l.names, c.Profiles, same) {
		return l.names
	}
	names := make([]string, len(c.Profiles))
	for i, p := range c.Profiles {
		names[i] = p.Name
	}
	return names
}

// find returns the entry of a key. A hint is the entry of the key before.
func (l Ledger) find(k Key, hint int) (int, bool) {
	k, _ = k.plain()
	if next := hint + 1; next < len(l.entries) && l.entries[next].key == k {
		return next, true
	}
	return slices.BinarySearchFunc(l.entries, k, func(e entry, k Key) int { return e.key.compare(k) })
}

// column returns where the points of a profile stand, the n-th of its
// configuration; -1: the profile is new.
func (l Ledger) column(n int, name string) int {
	if n < len(l.names) && l.names[n] == name {
		return n
	}
	return slices.Index(l.names, name)
}

// at returns entry i's points of a column. What a new profile would have charged
// is not known: the most that any other has.
func (l Ledger) at(i, column int) float64 {
	points := l.points[i*len(l.names):][:len(l.names)]
	if column < 0 {
		return slices.Max(points)
	}
	return points[column]
}
