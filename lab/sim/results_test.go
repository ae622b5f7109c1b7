package sim

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/internal/pages"
)

// go test ./lab/sim -run Results -results plays everything and writes the page:
// minutes.
var writeResults = flag.Bool("results", false, "write docs/explanation/simulator-results.md anew")

const resultsPage = "docs/explanation/simulator-results.md"

// told are the figures that the page has.
var told = []Figure{OverloadSeconds, ExcessBytes, Peak, PeakToPeak, Antiphase, UpdatesPerHour, WithdrawalsPerHour, PrefixesDamped,
	SessionsBroken, AwayShare, HomeSeconds, SecondaryOverloads}

// all are the scenarios and variants by title.
func all(t *testing.T) (titles []string, scenarios []*Scenario) {
	t.Helper()
	files, err := filepath.Glob("scenarios/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		sc := load(t, strings.TrimSuffix(filepath.Base(file), ".yaml"))
		titles, scenarios = append(titles, sc.Name), append(scenarios, sc)
		for _, v := range sc.Variants {
			titles, scenarios = append(titles, sc.Name+", "+v.Name), append(scenarios, v)
		}
	}
	return titles, scenarios
}

func TestResultsOfAllScenariosAndControllersAreWritten(t *testing.T) {
	titles, scenarios := all(t)
	if *writeResults {
		writePage(t, titles, scenarios)
	}
	page, err := pages.Read(resultsPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, title := range titles {
		table, err := page.Table(title)
		if err != nil {
			t.Error(err)
			continue
		}
		var names []string
		for _, row := range table.Rows {
			names = append(names, strings.Trim(row[0], "`"))
		}
		if want := append(Controllers(), Oracle); !slices.Equal(names, want) {
			t.Errorf("%s: the rows are %q, want %q", title, names, want)
		}
	}
}

func writePage(t *testing.T, titles []string, scenarios []*Scenario) {
	t.Helper()
	var out strings.Builder
	fmt.Fprintf(&out, "# What the simulator shows\n\nMedian / worst of %d seeds, as `go test ./lab/sim -run Results -results` wrote it; "+
		"what the columns mean stands in\n[the simulator](simulator.md#figures).\n", seeds)
	for i, sc := range scenarios {
		alone := *sc
		alone.Variants = nil
		r, err := Compare(t.Context(), &alone, Options{Seeds: seeds})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "\n## %s\n\n|", titles[i])
		for _, f := range told {
			fmt.Fprintf(&out, " | %s", strings.ReplaceAll(f.String(), "_", " "))
		}
		fmt.Fprintf(&out, " |\n|%s\n", strings.Repeat(" --- |", len(told)+1))
		for _, name := range append(Controllers(), Oracle) {
			s := r.Controllers[name]
			if name == Oracle {
				s = *r.Oracle
			}
			fmt.Fprintf(&out, "| `%s`", name)
			for _, f := range told {
				if math.IsNaN(s[f].Median) {
					fmt.Fprint(&out, " |")
					continue
				}
				fmt.Fprintf(&out, " | %s / %s", Short(s[f].Median), Short(s[f].Worst))
			}
			fmt.Fprint(&out, " |\n")
		}
	}
	root, err := pages.Root()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, resultsPage), []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
