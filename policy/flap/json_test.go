package flap

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

// TestJSONIsShortAndSorted: this is what the state file has.
func TestJSONIsShortAndSorted(t *testing.T) {
	l := Ledger{}.Charge(Default(), t0, Withdrawal, key(64501, "192.0.2.0/24"), key(64500, "2001:db8::/32"), video)
	l = l.Charge(Default(), at(15*time.Minute).In(time.FixedZone("", 3600)), Readvertisement, video)
	const want = `{"profiles":["cisco","juniper"],"penalties":[` +
		`{"asn":64500,"prefix":"192.0.2.0/24","at":"2026-03-29T00:45:00Z","points":[1000,3000]},` +
		`{"asn":64500,"prefix":"2001:db8::/32","at":"2026-03-29T00:30:00Z","points":[2000,2000]},` +
		`{"asn":64501,"prefix":"192.0.2.0/24","at":"2026-03-29T00:30:00Z","points":[2000,2000]}]}`
	if got, err := json.Marshal(l); err != nil || string(got) != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
	var state struct {
		Ledger Ledger `json:"ledger,omitzero"`
	}
	if got, err := json.Marshal(state); err != nil || string(got) != "{}" {
		t.Errorf("a state with an empty ledger: %s, %v", got, err)
	}
	if got, err := json.Marshal(Ledger{}); err != nil || string(got) != `{"profiles":[],"penalties":[]}` {
		t.Errorf("an empty ledger: %s, %v", got, err)
	}
	for _, empty := range []string{`{}`, `null`, `{"profiles":["a"],"penalties":[]}`} {
		if err := json.Unmarshal([]byte(empty), &l); err != nil || !l.IsZero() {
			t.Errorf("%s: %d keys, %v", empty, l.Len(), err)
		}
	}
}

// TestReaderRefusesWhatIsNoPenalty: with the place and the reason, and the ledger
// stays as it was.
func TestReaderRefusesWhatIsNoPenalty(t *testing.T) {
	const good = `{"profiles":["a"],"penalties":[{"asn":1,"prefix":"192.0.2.0/24","at":"2026-03-29T00:30:00Z","points":[5]}]}`
	for _, c := range []struct{ from, to, want string }{
		{`[5]`, `[-5]`, `flap ledger: penalty 0 (AS 1, 192.0.2.0/24): points -5: want 0 to 1e+09`},
		{`[5]`, `[1e10]`, `points 1e+10: want 0 to 1e+09`},
		{`[5]`, `[1e999]`, `number 1e999`},
		{`[5]`, `[NaN]`, `invalid character 'N'`},
		{`[5]`, `["NaN"]`, `cannot unmarshal string`},
		{`[5]`, `[5,5]`, `it has points for 2 profiles of 1`},
		{`[5]`, `[]`, `it has points for 0 profiles of 1`},
		{`["a"]`, `[]`, `it has points for 1 profiles of 0`},
		{`192.0.2.0`, `192.0.2.1`, `prefix 192.0.2.1/24: want a prefix without host bits`},
		{`192.0.2.0/24`, ``, `want a prefix without host bits`},
		{`192.0.2.0/24`, `x`, `netip.ParsePrefix`},
		{`"at":"2026-03-29T00:30:00Z",`, ``, `at 0001-01-01 00:00:00 +0000 UTC: want a time of the years 1 to 9999`},
		{`2026-03-29T00:30:00Z`, `9999-12-31T23:59:59-01:00`, `want a time of the years`},
		{`2026-03-29T00:30:00Z`, `soon`, `parsing time`},
		{`"asn":1`, `"asn":-1`, `cannot unmarshal number -1`},
		{`[{`, `[{"asn":1,"prefix":"192.0.2.0/24","at":"2026-03-29T00:30:00Z","points":[6]},{`, `flap ledger: AS 1, 192.0.2.0/24 stands twice`},
	} {
		text := strings.Replace(good, c.from, c.to, 1)
		l := Ledger{}.Charge(Default(), t0, AttributeChange, video)
		if err := json.Unmarshal([]byte(text), &l); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", text, err, c.want)
		}
		near(t, "after "+text, l.Penalty(Default(), video, t0), 1000)
	}
}

// TestResumeGoesByThisRunsClock: after Resume the times carry the reading of the
// monotonic clock, so that setting the wall clock forgives nothing; a time that is
// still to come is now. What was charged in this run stays as it is.
func TestResumeGoesByThisRunsClock(t *testing.T) {
	c, now := Default(), time.Now()
	for name, written := range map[string]time.Duration{"before": -15 * time.Minute, "after the clock was set back": time.Hour} {
		var l Ledger
		file, err := json.Marshal(Ledger{}.Charge(c, now.Add(written), AttributeChange, video))
		if err == nil {
			err = json.Unmarshal(file, &l)
		}
		if err != nil {
			t.Fatal(err)
		}
		for how, resumed := range map[string]Ledger{
			"Resume": l.Resume(now),
			"Charge": l.Charge(c, now, AttributeChange, key(1, "2001:db8::/32")),
		} {
			i, _ := resumed.find(video, -1)
			if at := resumed.entries[i].at; at == at.Round(0) || at.After(now) {
				t.Errorf("%s, %s: at %v", name, how, at)
			}
			near(t, name+", "+how, resumed.Penalty(c, video, now), 1000*math.Exp2(float64(min(written, 0))/float64(15*time.Minute)))
			near(t, name+", "+how+", later", resumed.Penalty(c, video, now.Add(30*time.Minute)), 250*math.Exp2(float64(min(written, 0))/float64(15*time.Minute)))
		}
		near(t, name+", read", l.Penalty(c, video, now), 1000*math.Exp2(float64(min(written, 0))/float64(15*time.Minute)))
	}
	hot := Ledger{}.Charge(c, at(time.Hour), AttributeChange, video)
	near(t, "of this run", hot.Resume(t0).Penalty(c, video, at(90*time.Minute)), 250)
}

// FuzzReader: whatever stands in the file, what is read is a ledger: its penalties
// are numbers, it can be asked and charged, and it is written as it was read.
func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"profiles":["cisco","juniper"],"penalties":[{"asn":1,"prefix":"192.0.2.0/24","at":"2026-03-29T00:30:00Z","points":[5,1e9]}]}`))
	f.Add([]byte(`{"profiles":["a","a"],"penalties":[{"asn":1,"prefix":"::ffff:192.0.2.0/120","at":"0001-01-01T00:00:01Z","points":[5,-0]}]}`))
	f.Add([]byte(`{"profiles":[""],"penalties":[{"asn":4294967295,"prefix":"::/0","at":"9999-12-31T23:59:59.999999999Z","points":[0]},{}]}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var l Ledger
		if err := json.Unmarshal(data, &l); err != nil {
			if !l.IsZero() {
				t.Fatalf("%v, and the ledger has %d keys", err, l.Len())
			}
			return
		}
		text, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		var again Ledger
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatalf("%s cannot be read: %v", text, err)
		}
		if second, err := json.Marshal(again); err != nil || string(second) != string(text) {
			t.Fatalf("%s became %s, %v", text, second, err)
		}
		for _, e := range l.entries {
			if p := l.Penalty(Default(), e.key, t0); !(p >= 0 && p <= mostPenalty) {
				t.Fatalf("%v has the penalty %v", e.key, p)
			}
			charged := l.Charge(Default(), t0, Withdrawal, e.key)
			if ok, _ := charged.Allow(Default(), Share{}, t0, AttributeChange, e.key); ok {
				t.Fatalf("%v: a change is allowed after a withdrawal", e.key)
			}
			charged.Resume(t0).Allow(Default(), Share{3, 1}, t0, AttributeChange, e.key)
		}
	})
}
