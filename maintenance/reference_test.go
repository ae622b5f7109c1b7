package maintenance

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/internal/pages"
)

// rows are those of the table of a section, without backticks.
func rows(t *testing.T, section string) [][]string {
	t.Helper()
	page, err := pages.Read("docs/reference/maintenance.md")
	if err != nil {
		t.Fatal(err)
	}
	table, err := page.Table(section)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range table.Rows {
		for i := range row {
			row[i] = strings.ReplaceAll(row[i], "`", "")
		}
	}
	return table.Rows
}

func TestTheReferenceHasEveryKeyOfAWindow(t *testing.T) {
	var want, got []string
	for i := range reflect.TypeFor[Window]().NumField() {
		key, _, _ := strings.Cut(reflect.TypeFor[Window]().Field(i).Tag.Get("json"), ",")
		want = append(want, key)
	}
	for _, row := range rows(t, "Window") {
		got = append(got, row[0])
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestTheReferenceHasTheBounds(t *testing.T) {
	want := []string{Duration(MaxFor).String(), Duration(MaxLead).String(), Duration(Horizon).String(), fmt.Sprint(Quiet*100) + " %"}
	var got []string
	for _, row := range rows(t, "Bounds") {
		got = append(got, row[1])
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestTheReferenceSaysWhenWindowsStart(t *testing.T) {
	for _, row := range rows(t, "Start") {
		now := time.Time{}
		if row[2] != "" {
			now = at(t, row[2])
		}
		start, _, err := ParseStart(row[0], row[1], now)
		if err != nil || stamp(start) != row[3] {
			t.Errorf("%s: %s, error %v, want %s", row[0], stamp(start), err, row[3])
		}
	}
	fits := map[Fit]string{Exact: "exact", Gap: "gap", Overlap: "overlap"}
	for _, row := range rows(t, "Where clocks are set") {
		start, fit, err := ParseStart(row[1], row[0], time.Time{})
		if err != nil || stamp(start) != row[3] || fits[fit] != row[2] {
			t.Errorf("%s in %s: %s (%s), error %v, want %s (%s)", row[1], row[0], stamp(start), fits[fit], err, row[3], row[2])
		}
	}
}

func TestTheReferenceSaysWhichPartsOfARuleAreRead(t *testing.T) {
	for _, row := range rows(t, "Rule") {
		rule := row[0]
		switch {
		case strings.HasPrefix(rule, "BYSETPOS"):
			rule = "FREQ=MONTHLY;BYDAY=TU;" + rule
		case !strings.HasPrefix(rule, "FREQ"):
			rule = "FREQ=MONTHLY;" + rule
		}
		if _, err := ParseRule(rule); (err == nil) != strings.HasPrefix(row[1], "yes") {
			t.Errorf("%s: error %v, but the page says %s", rule, err, row[1])
		}
	}
}

func TestTheReferenceHasThePhases(t *testing.T) {
	for i, row := range rows(t, "Phases") {
		if want := Phase(i).String(); row[0] != want {
			t.Errorf("%s, want %s", row[0], want)
		}
	}
}
