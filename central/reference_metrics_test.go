package central

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/internal/pages"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

const metricsPage = "docs/reference/central-metrics.md"

// metricRows are the metrics that the source of this package declares, as the page has them.
func metricRows(t *testing.T) [][]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`\b(desc|counter|vec)\("(\w+)",\s*"([^"]+)"((?:,\s*"\w+")*)`)
	var rows [][]string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			kind := "gauge"
			if m[1] != "desc" {
				kind = "counter"
			}
			labels := regexp.MustCompile(`\w+`).FindAllString(m[4], -1)
			slices.Sort(labels)
			for i, l := range labels {
				labels[i] = "`" + l + "`"
			}
			rows = append(rows, []string{"`catchment_central_" + m[2] + "`", kind, strings.Join(labels, ", "), m[3]})
		}
	}
	slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return rows
}

func TestTheReferenceHasEveryMetricOfTheCentre(t *testing.T) {
	page, err := pages.Read(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	table, err := page.Table("Metrics")
	if err != nil {
		t.Fatal(err)
	}
	want := metricRows(t)
	if len(want) < 20 {
		t.Fatalf("only %d metrics were found in the source", len(want))
	}
	for _, row := range want {
		if !slices.ContainsFunc(table.Rows, func(r []string) bool { return slices.Equal(r, row) }) {
			t.Errorf("%s:%d: there is no row | %s |", metricsPage, table.Line, strings.Join(row, " | "))
		}
	}
	if len(table.Rows) != len(want) {
		t.Errorf("%s:%d: %d rows, and the source has %d metrics", metricsPage, table.Line, len(table.Rows), len(want))
	}
	if !slices.IsSortedFunc(table.Rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) }) {
		t.Errorf("%s:%d: sort the rows by name", metricsPage, table.Line)
	}
}

// What the page says of names is true of a centre that runs.
func TestMetricsOfARunningCentreAreThoseOfThePage(t *testing.T) {
	var known []string
	for _, row := range metricRows(t) {
		known = append(known, strings.Trim(row[0], "`"))
	}
	families, err := newLab(t, fleet.Limits{MinAnnouncing: 1}).f.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range families {
		name := f.GetName()
		if !strings.HasPrefix(name, "catchment_") {
			continue // of Go and of the process
		}
		seen++
		if !slices.Contains(known, name) {
			t.Errorf("a centre shows %s, which is in no declaration that %s is held to", name, metricsPage)
		}
	}
	if seen < 8 {
		t.Errorf("it shows %d metrics", seen)
	}
}
