package sim

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net/netip"
	"regexp"
	"strconv"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/catchment-bgp/catchment/policy/control"
)

// Parse reads a scenario. Unknown keys are errors. An error is [Problems], each
// with its line; file is the name that they carry.
func Parse(file string, data []byte) (*Scenario, error) {
	r := &reader{file: file}
	root := r.document(data)
	if root == nil {
		return nil, r.problems
	}
	sc := r.scenario(root, false)
	r.variants(root, sc)
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return sc, nil
}

var yamlLineRE = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?(.*)$`)

// document returns the root of the one document in data.
func (r *reader) document(data []byte) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	err := safely(func() error { return dec.Decode(&doc) })
	if err == nil && len(doc.Content) == 1 {
		if err = safely(func() error { return dec.Decode(&more) }); errors.Is(err, io.EOF) {
			return doc.Content[0]
		}
		if err == nil {
			r.problem(&more, "", "a file has one scenario: this is a second document")
			return nil
		}
	}
	if errors.Is(err, io.EOF) || err == nil {
		r.problem(nil, "", "it is empty: a scenario has at least a name, sites and groups")
		return nil
	}
	p := Problem{File: r.file, Text: err.Error()}
	if m := yamlLineRE.FindStringSubmatch(p.Text); m != nil {
		p.Line, _ = strconv.Atoi(m[1])
		p.Text = m[2]
	}
	r.problems = append(r.problems, p)
	return nil
}

// safely turns a panic of the YAML library on hostile input into an error.
func safely(f func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("yaml: it cannot be read")
		}
	}()
	return f()
}

// scenario reads all but the variants.
func (r *reader) scenario(n *yaml.Node, variant bool) *Scenario {
	sc := &Scenario{
		Step: time.Second,
		Sessions: Sessions{Bitrate: 5e6, Min: 15 * time.Minute, Max: 30 * time.Minute,
			Segment: 5 * time.Second, Sticky: true},
		Metrics: Metrics{Period: time.Second, Delay: time.Second},
		BGP:     BGP{DeadMin: 10 * time.Second, DeadMax: 180 * time.Second, Exploration: 2},
		Load: Load{Target: 0.82, DwellUp: 2 * time.Minute, DwellDown: 15 * time.Minute, DownAfter: 10 * time.Minute,
			DeadTime: 180 * time.Second, Makers: []Maker{Cisco, Juniper}, Exploration: 2, Margin: 0.1},
	}
	f := r.mapping(n, "")
	f.text("name", &sc.Name)
	f.text("about", &sc.About)
	f.duration("duration", &sc.Duration)
	f.duration("step", &sc.Step)
	f.word("actuator", map[string]func(){
		"routes": func() { sc.Actuator = ByRoutes }, "sessions": func() { sc.Actuator = BySessions }})
	if n := f.get("sessions"); n != nil {
		r.sessions(n, &sc.Sessions)
	}
	if n := f.get("metrics"); n != nil {
		r.metrics(n, &sc.Metrics)
	}
	if n := f.get("bgp"); n != nil {
		r.bgp(n, &sc.BGP)
	}
	if n := f.get("load"); n != nil {
		r.load(n, &sc.Load)
	}
	f.list("prefixes", func(n *yaml.Node, path string) { sc.Prefixes = append(sc.Prefixes, r.weighted(n, path)) })
	if len(sc.Prefixes) == 0 {
		sc.Prefixes = []Prefix{{netip.MustParsePrefix("198.51.100.0/24"), 1}}
	}
	f.list("sites", func(n *yaml.Node, path string) { sc.Sites = append(sc.Sites, r.site(n, path, sc)) })
	f.list("groups", func(n *yaml.Node, path string) { sc.Groups = append(sc.Groups, r.group(n, path, sc)) })
	f.list("events", func(n *yaml.Node, path string) { sc.Events = append(sc.Events, r.event(n, path)) })
	if n := f.get("window"); n != nil {
		w := r.mapping(n, "window")
		w.duration("from", &sc.Window.From)
		w.duration("to", &sc.Window.To)
		w.done()
	} else {
		sc.Window.To = sc.Duration
	}
	if f.asked = append(f.asked, "variants"); !variant {
		f.done()
	}
	r.check(f, sc)
	return sc
}

// word runs what belongs to the word that a key has.
func (f *fields) word(key string, words map[string]func()) {
	v, n, ok := f.scalar(key)
	if !ok {
		return
	}
	if set := words[v]; set != nil {
		set()
		return
	}
	f.r.problem(n, f.at(key), "%q: there are %s", v, keys(words))
}

func (r *reader) sessions(n *yaml.Node, s *Sessions) {
	f := r.mapping(n, "sessions")
	f.rate("bitrate", 0, &s.Bitrate)
	if s.Bitrate <= 0 {
		r.problem(n, "sessions.bitrate", "write a rate such as 5Mbps")
		s.Bitrate = 1
	}
	f.duration("min", &s.Min)
	f.duration("max", &s.Max)
	f.duration("segment", &s.Segment)
	f.boolean("sticky", &s.Sticky)
	f.done()
	if s.Max < time.Second || s.Min > s.Max || s.Max > day {
		r.problem(n, "sessions", "a session lasts from min to max: at least 1s, at most 24h, min not over max")
		s.Min, s.Max = time.Second, time.Second
	}
	if s.Segment < 100*time.Millisecond {
		r.problem(n, "sessions.segment", "write at least 100ms")
	}
}

func (r *reader) metrics(n *yaml.Node, m *Metrics) {
	f := r.mapping(n, "metrics")
	f.duration("period", &m.Period)
	f.duration("delay", &m.Delay)
	f.boolean("mean", &m.Mean)
	f.share("noise", &m.Noise)
	f.done()
}

func (r *reader) bgp(n *yaml.Node, b *BGP) {
	f := r.mapping(n, "bgp")
	if n := f.get("dead_time"); n != nil {
		d := r.mapping(n, "bgp.dead_time")
		d.duration("min", &b.DeadMin)
		d.duration("max", &b.DeadMax)
		d.done()
		if b.DeadMin > b.DeadMax || b.DeadMax > time.Hour {
			r.problem(n, "bgp.dead_time", "min is at most max, max at most 1h")
			b.DeadMin, b.DeadMax = 0, 0
		}
	}
	f.number("exploration", &b.Exploration, 1, 20)
	total := 0.0
	f.list("damping", func(n *yaml.Node, path string) {
		d := r.mapping(n, path)
		var x Damping
		d.share("share", &x.Share)
		d.word("maker", makers(&x.Maker))
		if x.Maker == "" {
			r.problem(n, path+".maker", "say whose defaults: cisco or juniper")
		}
		d.done()
		total += x.Share
		b.Damping = append(b.Damping, x)
	})
	if total > 1 {
		r.problem(n, "bgp.damping", "the shares add up to more than 1")
	}
	f.done()
}

func makers(into *Maker) map[string]func() {
	return map[string]func(){
		string(Cisco):   func() { *into = Cisco },
		string(Juniper): func() { *into = Juniper },
	}
}

func (r *reader) load(n *yaml.Node, l *Load) {
	f := r.mapping(n, "load")
	f.number("target", &l.Target, 0.05, 1)
	f.list("slowdown", func(n *yaml.Node, path string) { l.Slowdown = append(l.Slowdown, r.point(n, path, l.Slowdown)) })
	f.list("drop", func(n *yaml.Node, path string) { l.Drop = append(l.Drop, r.point(n, path, l.Drop)) })
	f.duration("dwell_up", &l.DwellUp)
	f.duration("dwell_down", &l.DwellDown)
	f.duration("down_after", &l.DownAfter)
	f.duration("dead_time", &l.DeadTime)
	f.boolean("allow_withdraw", &l.AllowWithdraw)
	f.share("error", &l.Error)
	f.boolean("centre", &l.Centre)
	f.boolean("turns", &l.Turns)
	if n := f.get("ledger"); n != nil {
		g := r.mapping(n, "load.ledger")
		if g.get("makers") != nil {
			l.Makers = nil
		}
		g.list("makers", func(n *yaml.Node, path string) {
			m := Maker(n.Value)
			if m != Cisco && m != Juniper {
				r.problem(n, path, "%q: there are cisco, juniper", n.Value)
			}
			l.Makers = append(l.Makers, m)
		})
		g.number("exploration", &l.Exploration, 1, 20)
		g.number("margin", &l.Margin, 0, 0.9)
		g.done()
	}
	f.done()
}

// point reads a corner of a curve, [load, share]; each is at a higher load.
func (r *reader) point(n *yaml.Node, path string, before []control.Point) control.Point {
	var v [2]float64
	if n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
		r.problem(n, path, "write a corner as [load, share]")
		return control.Point{}
	}
	for i, high := range []float64{10, 1} {
		r.numberOf(n, path, n.Content[i].Value, &v[i], 0, high)
	}
	if len(before) > 0 && v[0] <= before[len(before)-1].Load {
		r.problem(n, path, "the loads of a curve rise")
	}
	return control.Point{Load: v[0], Share: v[1]}
}

func (r *reader) weighted(n *yaml.Node, path string) Prefix {
	f := r.mapping(n, path)
	p := Prefix{Weight: 1}
	if n := f.get("prefix"); n != nil {
		p.Prefix, _ = r.prefix(n, f.at("prefix"))
	} else {
		r.problem(n, f.at("prefix"), "write the prefix")
	}
	f.number("weight", &p.Weight, 0, 1e6)
	f.done()
	return p
}

func (r *reader) site(n *yaml.Node, path string, sc *Scenario) Site {
	f := r.mapping(n, path)
	s := Site{Edges: 1}
	f.text("name", &s.Name)
	f.integer("edges", &s.Edges, 1, 64)
	f.list("links", func(n *yaml.Node, path string) {
		f := r.mapping(n, path)
		l := Link{Landing: 1}
		f.text("name", &l.Name)
		f.rate("capacity", sc.Sessions.Bitrate, &l.Capacity)
		if l.Capacity <= 0 {
			r.problem(n, f.at("capacity"), "a link needs a capacity")
		}
		f.share("landing", &l.Landing)
		f.text("off", &l.Off)
		f.done()
		s.Links = append(s.Links, l)
	})
	f.list("neighbors", func(n *yaml.Node, path string) {
		f := r.mapping(n, path)
		var nb Neighbor
		asn := 0
		f.text("name", &nb.Name)
		f.integer("asn", &asn, 1, 4294967294)
		nb.ASN = uint32(asn)
		f.text("link", &nb.Link)
		f.list("ladder", func(n *yaml.Node, path string) { nb.Ladder = append(nb.Ladder, r.rung(n, path)) })
		f.done()
		s.Neighbors = append(s.Neighbors, nb)
	})
	f.done()
	return s
}

func (r *reader) rung(n *yaml.Node, path string) Rung {
	f := r.mapping(n, path)
	g := Rung{Sheds: math.NaN()}
	f.share("steer", &g.Steer)
	f.integer("prepend", &g.Prepend, 0, 10)
	f.boolean("gshut", &g.Gshut)
	f.boolean("withdraw", &g.Withdraw)
	f.share("sheds", &g.Sheds)
	f.list("prefixes", func(n *yaml.Node, path string) {
		if p, ok := r.prefix(n, path); ok {
			g.Prefixes = append(g.Prefixes, p)
		}
	})
	f.done()
	if g.Steer == 0 && g.Prepend == 0 && !g.Gshut && !g.Withdraw {
		r.problem(n, path, "a rung does something: steer, prepend, gshut or withdraw")
	}
	return g
}
