package flap

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/internal/pages"
)

const ledgerPage = "docs/explanation/flap-ledger.md"

// period is a duration as the page writes it.
func period(d time.Duration) string {
	d = d.Round(time.Second)
	if d%time.Minute == 0 {
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
}

// insist changes whenever it is allowed, for a day from a slot's begin.
func insist(s Share) (when []time.Duration) {
	c, begin := Default(), time.Unix(0, 0)
	var l Ledger
	for now := begin; now.Before(begin.Add(24 * time.Hour)); {
		ok, next := l.Allow(c, s, now, AttributeChange, video)
		if ok {
			l = l.Charge(c, now, AttributeChange, video)
			when = append(when, now.Sub(begin))
		}
		now = next
	}
	return when
}

func readLedgerPage(t *testing.T) pages.Page {
	t.Helper()
	page, err := pages.Read(ledgerPage)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// rows compares a table of the page with what the code says.
func rows(t *testing.T, page pages.Page, section string, want [][]string) {
	t.Helper()
	table, err := page.Table(section)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(table.Rows) != fmt.Sprint(want) {
		t.Errorf("%s, %q:\n%v, the code says\n%v", ledgerPage, section, table.Rows, want)
	}
}

// TestPageHasTheProfiles: the table of charges is that of the code.
func TestPageHasTheProfiles(t *testing.T) {
	page, c, j := readLedgerPage(t), Cisco(), Juniper()
	row := func(what string, cisco, juniper float64) []string {
		return []string{what, fmt.Sprint(cisco), fmt.Sprint(juniper)}
	}
	rows(t, page, "What it counts", [][]string{
		row("an attribute changes (a prepend, a community, MED)", c.AttributeChange, j.AttributeChange),
		row("the prefix is withdrawn", c.Withdrawal, j.Withdrawal),
		row("it is announced again", c.Readvertisement, j.Readvertisement),
		row("the prefix is suppressed from", c.Suppress, j.Suppress),
	})
}

// TestPageHasTheFrequencies: the table of how often an edge may change is what comes
// of asking all the time.
func TestPageHasTheFrequencies(t *testing.T) {
	var want [][]string
	for _, edges := range []int{1, 2, 4, 8} {
		var one, all time.Duration
		for i := range edges {
			when := insist(Share{edges, i})
			one = when[len(when)-1] - when[len(when)-2]
			all = one / time.Duration(edges)
		}
		want = append(want, []string{fmt.Sprint(edges), "every " + period(one), "every " + period(all)})
	}
	rows(t, readLedgerPage(t), "How many changes are possible", want)
}

// TestPageHasTheFigures: the figures in the sentences are the code's.
func TestPageHasTheFigures(t *testing.T) {
	c, alone := Default(), insist(Share{})
	var hour int
	for _, d := range alone {
		if d < time.Hour {
			hour++
		}
	}
	length, window := c.Slot()
	page := readLedgerPage(t)
	for _, f := range []struct{ section, says string }{
		{"The flap ledger", "halves in " + fmt.Sprint(Cisco().HalfLife.Minutes(), " minutes")},
		{"What it counts", fmt.Sprint(c.limit(Cisco()), " and ", c.limit(Juniper()), " are the limits")},
		{"What one change costs", fmt.Sprint("An attribute change costs ", c.cost(Cisco(), AttributeChange), " of ", c.limit(Cisco()))},
		{"What one change costs", fmt.Sprint("A withdrawal costs ", c.cost(Cisco(), Withdrawal), ",")},
		{"How many changes are possible", "the second change after " + period(alone[1])},
		{"How many changes are possible", fmt.Sprint("makes ", hour, " in its first hour, and ", len(alone), " in 24 hours")},
		{"Edges that share an AS", "slots of " + period(length)},
		{"Edges that share an AS", "within the first " + period(window)},
		{"Edges that are told of each other", fmt.Sprint(toldSlot.Seconds(), " s, with a window of ", toldWindow.Seconds(), " s")},
		{"Edges that are told of each other", "has its turn every " + period(2*toldSlot) + ", of four every " + period(4*toldSlot)},
		{"Edges that are told of each other", fmt.Sprint("for ", ToldFresh.Seconds(), " s after the report")},
		{"Edges that are told of each other", fmt.Sprint("may be ", ToldLag.Seconds(), " s older")},
		{"Edges that are told of each other", fmt.Sprint("no automatic change for ", ToldHandover.Seconds(), " s")},
		{"Edges that share an AS", fmt.Sprint("differ by up to ", ClockError.Seconds(), " s")},
	} {
		if text := strings.Join(strings.Fields(page.Text(f.section)), " "); !strings.Contains(text, f.says) {
			t.Errorf("%s, %q does not say %q", ledgerPage, f.section, f.says)
		}
	}
}
