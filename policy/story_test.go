package policy

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A story of load control is told like the transcripts beside it: a line that
// begins with "> " says what is the case from then on, and what follows is what
// was decided, whenever a rung, or what holds it, changes. There is a figure of
// each link each second:
//
//	> 0s a=0.6 b=0.5
//	> 60s a=0.6..1.2 for=1m      (a ramp)
//	> 10m b=stale others pin(a 2 circuit work) free lost(a)
//	> 20m restart
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/load/*.txt")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d stories, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := &teller{t: t, c: loadNode("a", "b"), loads: map[string]ramp{}, losses: map[string]uint64{}}
			for i := range p.c.Load.Links {
				p.c.Load.Links[i].Landing = 0.2
			}
			got := p.tell(string(want))
			if err := Replay(p.c, p.records); err != nil {
				t.Error(err)
			}
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if !*update && !bytes.Equal(got, want) {
				t.Errorf("%s; go test ./policy -run Stories -update writes it anew. Now:\n%s", file, got)
			}
		})
	}
}

// ramp is a load that changes evenly from one time to another.
type ramp struct {
	from, to    float64
	begin, time time.Duration
}

func (r ramp) at(d time.Duration) float64 {
	if r.time == 0 {
		return r.to
	}
	return r.from + (r.to-r.from)*clamp01(float64(d-r.begin)/float64(r.time))
}

type teller struct {
	t       *testing.T
	c       Config
	s       State
	now     time.Duration
	loads   map[string]ramp
	pins    []Pin
	losses  map[string]uint64
	others  time.Time
	last    string
	out     bytes.Buffer
	records []Record
}

func (p *teller) tell(text string) []byte {
	for line := range strings.Lines(text) {
		command, told := strings.CutPrefix(line, "> ")
		if !told {
			if strings.HasPrefix(line, "#") {
				p.out.WriteString(line)
			}
			continue
		}
		when, rest, _ := strings.Cut(strings.TrimSpace(command), " ")
		d, err := time.ParseDuration(when)
		if err != nil {
			p.t.Fatalf("%q: %v", command, err)
		}
		for ; p.now < d; p.now += time.Second {
			p.ask()
		}
		fmt.Fprintf(&p.out, "> %s\n", strings.TrimSpace(command))
		for _, word := range fields(rest) {
			p.take(word)
		}
	}
	p.ask()
	return p.out.Bytes()
}

func (p *teller) take(word string) {
	name, said, _ := strings.Cut(strings.TrimSuffix(word, ")"), "(")
	key, value, isValue := strings.Cut(word, "=")
	switch {
	case name == "pin":
		parts := strings.SplitN(said, " ", 3)
		rung, err := strconv.Atoi(parts[1])
		if err != nil {
			p.t.Fatal(err)
		}
		p.pins = []Pin{{Neighbor: parts[0], Rung: rung, Reason: parts[2], Since: at(p.now)}}
	case word == "free":
		p.pins = nil
	case name == "lost":
		p.losses[said]++
	case word == "others":
		p.others = at(p.now)
	case word == "restart":
		p.s = restart(p.t, p.s)
		p.losses = map[string]uint64{}
		p.records = nil
	case key == "for":
		d, err := time.ParseDuration(value)
		if err != nil {
			p.t.Fatal(err)
		}
		for l, r := range p.loads {
			if r.begin == p.now && r.from != r.to {
				r.time = d
				p.loads[l] = r
			}
		}
	case isValue && value == "stale":
		delete(p.loads, key)
	case isValue:
		from, to, isRamp := strings.Cut(value, "..")
		if !isRamp {
			to = from
		}
		p.loads[key] = ramp{p.number(from), p.number(to), p.now, 0}
	default:
		p.t.Fatalf("%q is no word of a story", word)
	}
}

func (p *teller) number(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

func (p *teller) ask() {
	in := healthy(at(p.now))
	in.Samples, in.Sessions, in.Pins, in.OthersMoved = map[string]Sample{}, map[string]Session{}, p.pins, p.others
	for l, r := range p.loads {
		in.Samples[l] = Sample{Load: r.at(p.now), At: in.Now}
	}
	for _, n := range p.c.Load.Climbers {
		in.Sessions[n.Name] = Session{Up: true, Losses: p.losses[n.Name]}
	}
	rec := Record{Config: Digest(p.c), Input: in}
	if len(p.records) == 0 || p.now%time.Minute == 0 {
		m := MemoryOf(p.s)
		rec.Memory = &m
	}
	p.s, rec.Decision = Next(p.c, p.s, in)
	p.records = append(p.records, rec)
	p.write(rec.Decision)
}

// write says what is new.
func (p *teller) write(d Decision) {
	var key, said strings.Builder
	for _, c := range d.Climbers {
		fmt.Fprintf(&key, "%s %d %v; ", c.Name, c.Rung, c.Restraint.Hindrance)
		fmt.Fprintf(&said, "  %s on rung %d, penalty %.0f: %s\n", c.Name, c.Rung, c.Penalty, strings.ReplaceAll(c.Restraint.String(), "2026-03-29T", ""))
	}
	for _, l := range d.Links {
		fmt.Fprintf(&key, "%v %v; ", l.Absorb, l.Stale)
	}
	if key.String() == p.last {
		return
	}
	p.last = key.String()
	fmt.Fprintf(&p.out, "%v\n", p.now)
	for _, l := range d.Links {
		fmt.Fprintf(&p.out, "  %s at %.2f, expects %.2f, wants %.2f shed, has %.2f", l.Name, l.Utilization, l.Forecast, l.Shed, l.InForce)
		if l.Absorb {
			p.out.WriteString(", absorbs")
		}
		p.out.WriteString("\n")
	}
	p.out.WriteString(said.String())
}
