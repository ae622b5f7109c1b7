package edge

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/catchment-bgp/catchment/policy"
)

// edits are changes of the base configuration that go together in any number.
var edits = [][2]string{
	{transitA, transitA + "prepend: 2, "},
	{ixPart, ixPart + "hold_time: 30s, "},
	{"local_address: 10.77.2.1,", "local_address: 10.77.2.1, med: 7,"},
	{`["57629:101"]`, `["57629:101", "57629:1:101"]`},
	{"prefixes: [198.51.100.0/24, ", "prefixes: [198.51.100.0/24, 192.0.2.0/24, "},
	{"neighbors: [transit]", "neighbors: [ix]"},
	{"{prepend: 5, ", "{prepend: 4, "},
	{":8080/health\"}}", ":8080/health\"}, interval: 2s}"},
	{"origin.example", "origin2.example"},
	{"name: web", "name: site"},
	{"services:\n", "  - {name: peer, address: 10.77.3.2, asn: 65003, kind: peer, local_address: 10.77.3.1}\nservices:\n"},
	{"router_id: 10.77.0.1", "router_id: 10.77.0.2"},
	{"drain: 30s", "drain: 1h"},
}

// someEdits draws a subset.
func someEdits(t *rapid.T, label string) []string {
	var out []string
	for i, on := range rapid.SliceOfN(rapid.Bool(), len(edits), len(edits)).Draw(t, label) {
		if on {
			out = append(out, edits[i][:]...)
		}
	}
	return out
}

// tables is what all neighbours were told, by neighbour and prefix.
func (w *world) tables() map[string]map[string]string {
	out := map[string]map[string]string{}
	w.locked(func() {
		for name := range w.neighbors {
			out[name] = map[string]string{}
			for _, r := range w.wanted[name] {
				out[name][r.Prefix.String()] = routeText(r)
			}
		}
	})
	return out
}

// carryOut does to tables what a plan says, and says what does not fit.
func carryOut(tables map[string]map[string]string, plans []Plan) (wrong []string) {
	for _, p := range plans {
		_, there := tables[p.Neighbor]
		if there != (p.Session != "added") {
			wrong = append(wrong, p.Neighbor+" "+p.Session)
		}
		if !there {
			tables[p.Neighbor] = map[string]string{}
		}
		table := tables[p.Neighbor]
		for _, r := range p.Withdrawn {
			if table[r.Prefix.String()] != routeText(r) {
				wrong = append(wrong, fmt.Sprintf("%s: withdrawn %s, there was %s", p.Neighbor, routeText(r), table[r.Prefix.String()]))
			}
			delete(table, r.Prefix.String())
		}
		for _, c := range p.Changed {
			if table[c.From.Prefix.String()] != routeText(c.From) {
				wrong = append(wrong, fmt.Sprintf("%s: changed %s, there was %s", p.Neighbor, routeText(c.From), table[c.From.Prefix.String()]))
			}
			table[c.To.Prefix.String()] = routeText(c.To)
		}
		for _, r := range p.Announced {
			if old, there := table[r.Prefix.String()]; there {
				wrong = append(wrong, fmt.Sprintf("%s: announced %s, there was %s", p.Neighbor, routeText(r), old))
			}
			table[r.Prefix.String()] = routeText(r)
		}
		if p.Session == "removed" {
			delete(tables, p.Neighbor)
		}
	}
	return wrong
}

// TestAPlanChangesNothingAndIsWhatThenHappens draws two configurations and a
// situation, asks for the plan from one to the other, and takes it up.
func TestAPlanChangesNothingAndIsWhatThenHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) { // without its deadline, which is not of the bubble
			w := newWorld(t)
			w.start(someEdits(rt, "running")...)
			w.well()
			defer func() { w.leave(); <-w.node.Gone() }()
			hard := slices.Collect(maps.Keys(w.probes))
			slices.Sort(hard)
			for _, check := range hard {
				if rapid.IntRange(0, 3).Draw(rt, check) == 0 {
					w.report(check, "refused")
				}
			}
			if verb := rapid.SampledFrom([]policy.Verb{0, policy.Drain, policy.Withdraw}).Draw(rt, "word"); verb != 0 {
				w.say(at("ix"), Word{Verb: verb})
			}
			w.rest()

			tables, n, was := w.tables(), w.journal.len(), w.snapshot()
			target := w.config(someEdits(rt, "planned")...)
			plans, _, err := w.node.Plan(context.Background(), target)
			if err != nil {
				rt.Fatal(err)
			}
			w.rest()
			if lines := w.journal.since(n); lines != nil {
				rt.Fatalf("the plan did something: %q", lines)
			}
			if is := w.snapshot(); !reflect.DeepEqual(is, was) {
				rt.Fatalf("the plan changed %+v to %+v", was, is)
			}
			if wrong := carryOut(tables, plans); wrong != nil {
				rt.Fatalf("the plan does not fit: %q", wrong)
			}
			done, err := w.node.Reload(context.Background(), target, nil)
			w.rest()
			if err != nil || !reflect.DeepEqual(done, plans) {
				rt.Fatalf("done %+v, planned %+v, %v", done, plans, err)
			}
			if got := w.tables(); !reflect.DeepEqual(got, tables) {
				rt.Fatalf("there is %v, planned was %v", got, tables)
			}
			fresh := w.journal.since(n, "sessions")
			for _, p := range plans {
				if started := strings.Contains(fresh[len(fresh)-1], p.Neighbor); p.Neighbor != "transit" && started != (p.Session == "restarted" || p.Session == "added") && was.Config.RouterID == target.RouterID {
					rt.Fatalf("%s is %s; %s", p.Neighbor, p.Session, fresh)
				}
			}
		})
	})
}

func TestAPlanCountsNewServicesAsHealthy(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		plans, _, err := w.node.Plan(context.Background(), w.config())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range plans {
			got = append(got, fmt.Sprint(p.Neighbor, " ", p.Session, routeTexts(p.Announced), len(p.Changed), len(p.Withdrawn)))
		}
		if want := []string{"transit kept[203.0.113.0/24 via 10.77.1.1] 0 0", "ix kept[] 0 0"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}, dnsPart, "")
}

func TestAPlanDoesNotCountAChangedCheck(t *testing.T) {
	deep := func(path string) string {
		return web + "\n      - {name: deep, http: {url: \"http://198.51.100.1:8080/" + path + "\"}}"
	}
	bubble(t, func(t *testing.T, w *world) {
		w.start(web, deep("deep"))
		w.rest()
		w.wayBack <- wellBack
		w.report("web", "")
		w.rest()
		w.expect("ix") // deep has no verdict yet
		plans, _, err := w.node.Plan(context.Background(), w.config(web, deep("other")))
		if err != nil || !slices.Equal(routeTexts(plans[1].Announced), []string{ix4, ix6}) {
			t.Errorf("%+v, %v", plans, err)
		}
		w.expect("ix")
		w.reload(web, deep("other"))
		w.expect("ix", ix4, ix6)
	})
}

func TestAPlanNamesWhatIsRemoved(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		ix := baseConfig[strings.Index(baseConfig, "  - {name: ix"):strings.Index(baseConfig, "services:")]
		plans, _, err := w.node.Plan(context.Background(), w.config(ix, ""))
		if err != nil {
			t.Fatal(err)
		}
		if p := plans[1]; p.Neighbor != "ix" || p.Session != "removed" || !slices.Equal(routeTexts(p.Withdrawn), []string{ix4, ix6}) {
			t.Errorf("%+v", p)
		}
	})
}
