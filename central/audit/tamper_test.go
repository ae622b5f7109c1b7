package audit

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/catchment-bgp/catchment/central/store"
)

// forger changes a log behind its back.
type forger struct {
	t *rapid.T
	s *store.Memory
	n uint64 // records
}

// any draws a record's number.
func (f forger) any(name string) uint64 { return rapid.Uint64Range(1, f.n).Draw(f.t, name) }

func (f forger) get(number uint64) Record {
	item, err := f.s.Get(context.Background(), key(number))
	if err != nil {
		f.t.Fatal(err)
	}
	var r Record
	if err := json.Unmarshal(item.Value, &r); err != nil {
		f.t.Fatal(err)
	}
	return r
}

func (f forger) write(key string, value []byte) {
	if _, err := f.s.Commit(context.Background(), nil, []store.Op{{Key: key, Value: value}}); err != nil {
		f.t.Fatal(err)
	}
}

// put writes a record under a number.
func (f forger) put(number uint64, r Record) {
	op, err := document(key(number), r)
	if err != nil {
		f.t.Fatal(err)
	}
	f.write(op.Key, op.Value)
}

// before is the hash of the record before one.
func (f forger) before(number uint64) (sum [32]byte) {
	if number == 1 {
		return sum
	}
	sum, err := parseHash(f.get(number - 1).Hash)
	if err != nil {
		f.t.Fatal(err)
	}
	return sum
}

// forgeries are ways to change a log. Each returns the first number that is not
// as it was written.
var forgeries = map[string]func(f forger) uint64{
	"another text": func(f forger) uint64 {
		n := f.any("number")
		r := f.get(n)
		texts := []*string{&r.Who, &r.Role, &r.Method, &r.Target, &r.Reason, &r.Ticket, &r.Outcome, &r.Detail, &r.Before, &r.After, &r.Hash}
		*texts[rapid.IntRange(0, len(texts)-1).Draw(f.t, "text")] += rapid.StringN(1, 3, -1).Draw(f.t, "more")
		f.put(n, r)
		return n
	},
	"another time": func(f forger) uint64 {
		n := f.any("number")
		r := f.get(n)
		r.At = r.At.Add(1)
		f.put(n, r)
		return n
	},
	"a boundary between texts moved": func(f forger) uint64 {
		n := f.any("number")
		r := f.get(n)
		r.Method, r.Target = r.Method+r.Target[:1], r.Target[1:]
		f.put(n, r)
		return n
	},
	"another byte": func(f forger) uint64 {
		n := f.any("number")
		item, err := f.s.Get(context.Background(), key(n))
		if err != nil {
			f.t.Fatal(err)
		}
		value := append([]byte{}, item.Value...)
		at := rapid.IntRange(0, len(value)-1).Draw(f.t, "at")
		value[at] ^= byte(rapid.IntRange(1, 127).Draw(f.t, "bits"))
		if !json.Valid(value) {
			f.t.Skip("the store refuses it")
		}
		f.write(item.Key, value)
		return n
	},
	"a removal": func(f forger) uint64 {
		n := f.any("number")
		f.write(key(n), nil)
		return n
	},
	"a removal, the rest moved down": func(f forger) uint64 {
		n := f.any("number")
		for i := n; i < f.n; i++ {
			r := f.get(i + 1)
			r.Number = i
			f.put(i, r)
		}
		f.write(key(f.n), nil)
		return n
	},
	"all removed but the head": func(f forger) uint64 {
		for i := uint64(1); i <= f.n; i++ {
			f.write(key(i), nil)
		}
		return 1
	},
	"the head removed": func(f forger) uint64 {
		f.write(headKey, nil)
		return f.n + 1
	},
	"the head set back": func(f forger) uint64 {
		if f.n == 1 {
			f.t.Skip("there is only one")
		}
		f.write(headKey, fmt.Appendf(nil, `{"number":%d,"hash":%q}`, f.n-1, f.get(f.n-1).Hash))
		return f.n + 1
	},
	"two in another order": func(f forger) uint64 {
		a, b := f.any("one"), f.any("other")
		if a == b {
			f.t.Skip("the same")
		}
		first, second := f.get(a), f.get(b)
		if rapid.Bool().Draw(f.t, "renumbered") {
			first.Number, second.Number = second.Number, first.Number
		}
		f.put(b, first)
		f.put(a, second)
		return min(a, b)
	},
	"an insertion": func(f forger) uint64 {
		n := f.any("number")
		for i := f.n; i >= n; i-- {
			r := f.get(i)
			r.Number = i + 1
			f.put(i+1, r)
		}
		r := f.get(f.any("copy"))
		r.Number, r.Target = n, "inserted"
		sum := r.sum(f.before(n))
		r.Hash = hex.EncodeToString(sum[:])
		f.put(n, r)
		return n + 1 // the inserted one is right in itself
	},
	"an addition after the head": func(f forger) uint64 {
		r := f.get(f.n)
		r.Number++
		sum := r.sum(f.before(r.Number))
		r.Hash = hex.EncodeToString(sum[:])
		f.put(r.Number, r)
		return f.n + 2
	},
	"another text and its right hash": func(f forger) uint64 {
		n := f.any("number")
		r := f.get(n)
		r.Reason += "!"
		sum := r.sum(f.before(n))
		r.Hash = hex.EncodeToString(sum[:])
		f.put(n, r)
		return n + 1
	},
	"a stranger among the records": func(f forger) uint64 {
		f.write(recordKey+rapid.SampledFrom([]string{"0", "x", "00000000000000000001a"}).Draw(f.t, "name"), []byte(`{}`))
		return 0 // anywhere
	},
}

func TestEveryForgeryIsFoundAtItsFirstRecord(t *testing.T) {
	for name, forge := range forgeries {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				s := store.NewMemory()
				l := New(s, clock, nil)
				n := rapid.Uint64Range(1, 6).Draw(rt, "records")
				for i := range n {
					appended(t, l, fmt.Sprint("node", i))
				}
				if v := verified(t, l); !v.OK || v.Records != n {
					rt.Fatalf("before: %+v", v)
				}
				want := forge(forger{rt, s, n})
				v := verified(t, l)
				if v.OK || v.Detail == "" || v.BrokenAt == 0 || v.Records != v.BrokenAt-1 || want != 0 && v.BrokenAt != want {
					rt.Fatalf("found %+v, want it broken at %d", v, want)
				}
			})
		})
	}
}

func TestAChainMadeAnewIsFoundByAnAnchor(t *testing.T) {
	old := New(store.NewMemory(), clock, nil)
	appended(t, old, "a", "b", "c")
	anchor := verified(t, old).Head
	if v := verified(t, old, anchor); !v.OK {
		t.Errorf("the same chain: %+v", v)
	}
	appended(t, old, "d")
	if v := verified(t, old, anchor); !v.OK {
		t.Errorf("a longer chain: %+v", v)
	}
	anew := New(store.NewMemory(), clock, nil)
	appended(t, anew, "a", "x", "c", "d")
	if v := verified(t, anew, anchor); v.OK || v.BrokenAt != 3 {
		t.Errorf("another chain: %+v", v)
	}
	short := New(store.NewMemory(), clock, nil)
	appended(t, short, "a", "b")
	if v := verified(t, short, anchor); v.OK || v.BrokenAt != 3 {
		t.Errorf("a shorter chain: %+v", v)
	}
}
