package maintnote

import (
	"fmt"
	"slices"
	"strings"
	"testing"

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

func TestTheReferenceHasEveryPropertyThatIsRead(t *testing.T) {
	var got, want []string
	for _, row := range rows(t, "MAINTNOTE") {
		got = append(got, row[0])
	}
	inZones := []string{"BEGIN", "END", "TZID", "TZOFFSETFROM", "TZOFFSETTO"}
	for name := range read {
		if !slices.Contains(inZones, name) && !slices.Contains(repeats, name) {
			want = append(want, name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

// note is a mail that has all that it must.
func note(status, impact string) string {
	return fmt.Sprintf("BEGIN:VCALENDAR\nBEGIN:VEVENT\nX-MAINTNOTE-PROVIDER:p\nX-MAINTNOTE-MAINTENANCE-ID:1\nX-MAINTNOTE-OBJECT-ID:IC-1\n"+
		"X-MAINTNOTE-STATUS:%s\nX-MAINTNOTE-IMPACT:%s\nDTSTART:20261201T010000Z\nDTEND:20261201T020000Z\nEND:VEVENT\nEND:VCALENDAR\n", status, impact)
}

func TestTheReferenceSaysWhatAStatusAndAnImpactLeadTo(t *testing.T) {
	for _, row := range rows(t, "Status and action") {
		got, err := Import("f", []byte(note(row[0], "OUTAGE")), options())
		if err != nil || len(got) != 1 || string(got[0].Action) != row[1] {
			t.Errorf("%s: %+v, error %v, want %s", row[0], got, err, row[1])
		}
	}
	for _, row := range rows(t, "Impact") {
		got, err := Import("f", []byte(note("CONFIRMED", row[0])), options())
		if err != nil || len(got) != 1 || (got[0].Window == nil) != (row[1] == "never") {
			t.Errorf("%s: %+v, error %v, want %s", row[0], got, err, row[1])
		}
	}
}
