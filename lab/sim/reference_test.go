package sim

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/internal/pages"
)

// TestTheReferenceHasEveryKeyAndNoOther asks the reader for its keys by giving it
// one that there is not: the answer lists those that there are.
func TestTheReferenceHasEveryKeyAndNoOther(t *testing.T) {
	page, err := pages.Read("docs/reference/scenario.md")
	if err != nil {
		t.Fatal(err)
	}
	for section, where := range map[string]string{
		"scenario": "%s: 1", "sessions": "sessions: {%s: 1}", "metrics": "metrics: {%s: 1}", "bgp": "bgp: {%s: 1}", "load": "load: {%s: 1}",
		"prefix": "prefixes: [{%s: 1}]", "site": "sites: [{%s: 1}]", "link": "sites: [{links: [{%s: 1}]}]", "neighbor": "sites: [{neighbors: [{%s: 1}]}]",
		"rung": "sites: [{neighbors: [{ladder: [{%s: 1}]}]}]", "group": "groups: [{%s: 1}]", "via": "groups: [{via: [{%s: 1}]}]",
		"event": "events: [{%s: 1}]", "variant": "variants: [{%s: 1}]",
	} {
		table, err := page.Table(section)
		if err != nil {
			t.Error(err)
			continue
		}
		var documented []string
		for _, row := range table.Rows {
			documented = append(documented, strings.Trim(row[0], "`"))
		}
		slices.Sort(documented)
		_, err = Parse("f", []byte(fmt.Sprintf(where, "nosuchkey")))
		if err == nil {
			t.Errorf("%s: a key that is not there was taken", section)
			continue
		}
		m := regexp.MustCompile(`nosuchkey: there is no such key; there are (.*)`).FindStringSubmatch(err.Error())
		if m == nil {
			t.Errorf("%s: %v", section, err)
			continue
		}
		if known := strings.Join(documented, ", "); m[1] != known {
			t.Errorf("%s: the page has %s\nthe reader %s", section, known, m[1])
		}
	}
}

func TestTheExampleOfTheReferenceWorks(t *testing.T) {
	page, err := pages.Read("docs/reference/scenario.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, b := range page.Blocks() {
		if b.Lang == "yaml" {
			n++
			Run(parse(t, "scenario.md", b.Text), "none", 1, nil)
		}
	}
	if n != 1 {
		t.Errorf("the page has %d examples, want 1", n)
	}
}

func TestTheExplanationHasEveryFigureControllerAndScenario(t *testing.T) {
	page, err := pages.Read("docs/explanation/simulator.md")
	if err != nil {
		t.Fatal(err)
	}
	column := func(section string) []string {
		table, err := page.Table(section)
		if err != nil {
			t.Error(err)
			return nil
		}
		var out []string
		for _, row := range table.Rows {
			out = append(out, strings.Trim(row[0], "`"))
		}
		return out
	}
	var figures []string
	for _, f := range AllFigures() {
		figures = append(figures, f.String())
	}
	if got := column("Figures"); !slices.Equal(got, figures) {
		t.Errorf("figures: the page has %q, want %q", got, figures)
	}
	if got, want := column("Controllers"), append(Controllers(), Oracle); !slices.Equal(got, want) {
		t.Errorf("controllers: the page has %q, want %q", got, want)
	}
	got := column("Scenarios")
	for _, name := range []string{"worldcup", "reserve-avalanche", "node-loss", "flash-crowd", "diurnal", "all-hot", "stale-metrics", "lying-prediction", "damping-upstreams"} {
		if !slices.Contains(got, name) {
			t.Errorf("scenarios: the page has no %s", name)
		}
	}
}
