package sim

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tiny is a scenario of two sites that tests change.
const tiny = `name: tiny
duration: 10m
sites:
  - name: east
    links:
      - {name: up, capacity: 100Gbps}
    neighbors:
      - {name: carrier, asn: 65001, link: up, ladder: [{steer: 0.5}, {prepend: 1}, {prepend: 2}, {withdraw: true}]}
  - name: west
    links:
      - {name: up, capacity: 100Gbps}
    neighbors:
      - {name: carrier, asn: 65002, link: up}
groups:
  - {name: clients, count: 100, demand: 50Gbps, noise: 0, near: [east, west]}
`

func TestDefaultsAreWhatTheReferenceSays(t *testing.T) {
	sc := parse(t, "tiny", tiny)
	if sc.Step != time.Second || sc.Actuator != ByRoutes || !sc.Sessions.Sticky || sc.Load.Target != 0.82 ||
		sc.BGP.DeadMin != 10*time.Second || sc.BGP.DeadMax != 180*time.Second || sc.Window != (Window{0, 10 * time.Minute}) {
		t.Errorf("the defaults are %+v", sc)
	}
	if len(sc.Prefixes) != 1 || sc.Sites[0].Edges != 1 || sc.Sites[0].Links[0].Landing != 1 {
		t.Errorf("the defaults are %+v", sc)
	}
}

func TestWhatIsWrongIsSaidWithItsLine(t *testing.T) {
	for _, tc := range []struct{ old, new, want string }{
		{"name: tiny\n", "", "f.yaml: name: a scenario needs a name"},
		{"duration: 10m", "duration: 10m\nduraton: 1h", "f.yaml:3: duraton: there is no such key; there are about, actuator, bgp,"},
		{"duration: 10m", "duration: soon", `f.yaml:2: duration: "soon": write a duration such as 90s or 1h30m`},
		{"duration: 10m", "duration: 10m\nname: again", "f.yaml:3: name: it is there twice"},
		{"duration: 10m", "duration: 10m\nactuator: hands", `f.yaml:3: actuator: "hands": there are routes, sessions`},
		{"duration: 10m", "duration: 10m\nwindow: {from: 5m, to: 20m}", "f.yaml:3: window: it ends after it begins, and not after the run"},
		{"duration: 10m", "duration: 10m\nmetrics: {period: 1s, delay: 5m}", "f.yaml:3: metrics: over 128 figures would be on their way at once"},
		{"duration: 10m", "duration: 10m\nload: {targets: 0.8}", "f.yaml:3: load.targets: there is no such key"},
		{"duration: 10m", "duration: 10m\nload: {slowdown: [[0.9, 0], [0.8, 1]]}", "f.yaml:3: load.slowdown[1]: the loads of a curve rise"},
		{"duration: 10m", "duration: 10m\nload: {error: .nan}", `f.yaml:3: load.error: ".nan": write a number from 0 to 1`},
		{"duration: 10m", "duration: 10m\nbgp: {damping: [{share: 0.2}]}", "f.yaml:3: bgp.damping[0].maker: say whose defaults: cisco or juniper"},
		{"duration: 10m", "duration: 10m\nbgp: {dead_time: {min: 2m, max: 1m}}", "f.yaml:3: bgp.dead_time: min is at most max, max at most 1h"},
		{"duration: 10m", "duration: 10m\nevents: [{at: 1m, down: south}]", `f.yaml:3: events[0].down: there is no site "south"`},
		{"duration: 10m", "duration: 10m\nevents: [{at: 1m, silent: east/down}]", `f.yaml:3: events[0].silent: there is no site or link "east/down"`},
		{"duration: 10m", "duration: 10m\nevents: [{at: 1m}]", "f.yaml:3: events[0]: an event is either down: SITE or silent: SITE or SITE/LINK"},
		{"capacity: 100Gbps}\n    neighbors:\n      - {name: carrier, asn: 65001", "capacity: 100}\n    neighbors:\n      - {name: carrier, asn: 65001",
			`f.yaml:6: sites[0].links[0].capacity: "100": write a rate such as 10Gbps or 500 sessions`},
		{"{steer: 0.5}", "{sheds: 0.5}", "f.yaml:8: sites[0].neighbors[0].ladder[0]: a rung does something: steer, prepend, gshut or withdraw"},
		{"{steer: 0.5}", "{steer: 1.5}", `f.yaml:8: sites[0].neighbors[0].ladder[0].steer: "1.5": write a number from 0 to 1`},
		{"{steer: 0.5}", "{steer: 0.5, prefixes: [192.0.2.0/24]}", "sites[0].neighbors[0].ladder[0].prefixes: 192.0.2.0/24 is not announced"},
		{"link: up, ladder", "link: down, ladder", `sites[0].neighbors[0].link: east has no link "down"`},
		{"name: west", "name: east", "sites[1].name: there are two sites east"},
		{"near: [east, west]", "near: [east, north]", `groups[0].near[1]: there is no site "north", or it is there twice`},
		{", near: [east, west]", "", "groups[0].near: a group needs sites that it can reach: near or via"},
		{"demand: 50Gbps, ", "", "groups[0].demand: a group needs a demand"},
		{"near: [east, west]", "near: [east], shapes: [{wave: {}}]", "groups[0].shapes[0].wave: there is no such shape; there are crowd, diurnal, match, points"},
		{"near: [east, west]", "near: [east], shapes: [{points: [{at: 5m, value: 1}, {at: 1m, value: 2}]}]", "groups[0].shapes[0].points[1]: the times of points rise"},
		{"duration: 10m", "duration: 10m\nvariants: [{name: a, set: {duration: never}}]", `f.yaml:3: duration: "never": write a duration`},
		{"duration: 10m", "duration: 10m\nvariants: [{name: a, set: {durations: 1m}}]", "f.yaml:3: durations: there is no such key"},
		{"duration: 10m", "duration: 10m\nvariants: [{name: a, set: {name: b}}]", "f.yaml:3: variants[0].set.name: a variant cannot set this"},
		{"duration: 10m", "duration: [", "f.yaml"},
		{"duration: 10m", "duration: 10m\n---\nname: second", "f.yaml:3: a file has one scenario: this is a second document"},
	} {
		text := strings.Replace(tiny, tc.old, tc.new, 1)
		if text == tiny {
			t.Errorf("%q is not in the text", tc.old)
		}
		sc, err := Parse("f.yaml", []byte(text))
		if err == nil || sc != nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("with %q: %v\nwant %s", tc.new, err, tc.want)
		}
		var all Problems
		if !errors.As(err, &all) || len(all) == 0 {
			t.Errorf("with %q: %T is no list of problems", tc.new, err)
		}
	}
	for _, empty := range []string{"", "\n", "# nothing\n", "---\n"} {
		if _, err := Parse("f.yaml", []byte(empty)); err == nil || !strings.Contains(err.Error(), "f.yaml") {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

func TestAliasesThatMultiplyAreRefused(t *testing.T) {
	var text strings.Builder
	text.WriteString("name: bomb\nduration: 1m\nx0: &x0 [{name: a, asn: 1, link: up}, {name: a, asn: 1, link: up}]\n")
	text.WriteString("sites:\n")
	for range 200 {
		text.WriteString("  - &s {name: s, links: [{name: up, capacity: 1Gbps}], neighbors: *x0}\n")
	}
	text.WriteString("variants:\n")
	for range 2000 {
		text.WriteString("  - {name: v, set: {duration: 1m}}\n")
	}
	began := time.Now()
	if _, err := Parse("bomb", []byte(text.String())); err == nil {
		t.Error("it was taken")
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("refusing it took %s", took)
	}
}

func TestAVariantChangesWhatItNamesAndNothingElse(t *testing.T) {
	text := tiny + `variants:
  - name: other
    set:
      metrics: {period: 30s}
      sites: [{name: west, links: [{name: up, capacity: 50Gbps}]}]
`
	sc := parse(t, "tiny", text)
	if len(sc.Variants) != 1 || sc.Variants[0].Name != "other" {
		t.Fatalf("the variants are %v", sc.Variants)
	}
	v := sc.Variants[0]
	if v.Metrics.Period != 30*time.Second || sc.Metrics.Period != time.Second || v.Metrics.Delay != sc.Metrics.Delay {
		t.Errorf("metrics: %+v and %+v", sc.Metrics, v.Metrics)
	}
	if v.Sites[1].Links[0].Capacity != 50e9 || sc.Sites[1].Links[0].Capacity != 100e9 || len(v.Sites) != 2 ||
		len(v.Sites[1].Neighbors) != 1 || v.Sites[0].Links[0].Capacity != 100e9 {
		t.Errorf("sites: %+v and %+v", sc.Sites, v.Sites)
	}
}

func TestAllScenariosParseAndAreNamedAsTheirFiles(t *testing.T) {
	files, err := filepath.Glob("scenarios/*.yaml")
	if err != nil || len(files) != 9 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if sc := load(t, name); sc.Name != name || sc.About == "" {
			t.Errorf("%s: name %q, about %q", file, sc.Name, sc.About)
		}
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("scenarios/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(strings.Replace(tiny, "count: 100", "count: 4", 1)))
	f.Add([]byte(twoLinks))
	f.Fuzz(func(t *testing.T, data []byte) {
		sc, err := Parse("f", data)
		if (sc == nil) == (err == nil) {
			t.Fatalf("%v and %v", sc, err)
		}
		if err != nil {
			return
		}
		groups := 0
		for _, g := range sc.Groups {
			groups += g.Count
		}
		if groups > 20 || len(sc.Sites) > 3 || sc.Sessions.Max > time.Hour {
			return // it would take long
		}
		sc.Duration = 20 * sc.Step
		for _, controller := range []string{"pi", "greedy"} {
			if figures := Run(sc, controller, 1, nil); figures[Peak] < 0 {
				t.Errorf("%s: %v", controller, figures)
			}
		}
	})
}
