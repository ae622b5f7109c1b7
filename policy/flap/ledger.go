package flap

import "time"

// Ledger remembers what others were shown. Its zero value is empty.
type Ledger struct{}

// Penalty is the highest that routers may keep for a key.
func (l Ledger) Penalty(c Config, k Key, now time.Time) float64 { return 0 }

// Charge returns the ledger with one more event at each key.
func (l Ledger) Charge(c Config, now time.Time, e Event, keys ...Key) Ledger { return l }

// Allow says whether an automatic change may be made now, and if not, when.
func (l Ledger) Allow(c Config, s Share, now time.Time, e Event, keys ...Key) (bool, time.Time) {
	return true, time.Time{}
}
