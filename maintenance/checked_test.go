package maintenance

import (
	"fmt"
	"testing"
	"time"
)

func TestARuleIsCheckedOnceAndForEachWindowAsItIs(t *testing.T) {
	w := Window{ID: "w", Select: Selector{Nodes: []string{"msk1"}}, Start: time.Date(2027, 1, 2, 1, 0, 0, 0, time.UTC),
		Zone: "Europe/Moscow", Rule: "FREQ=DAILY", For: Duration(time.Hour), Reason: "test"}
	for range 2 {
		if err := w.Validate(); err != nil {
			t.Fatal(err)
		}
	}
	for name, change := range map[string]func(*Window){
		"longer than a day":        func(w *Window) { w.For = Duration(Day) },
		"with the lead":            func(w *Window) { w.For, w.Lead = Duration(Day/2), Duration(Day/2) },
		"another day of the week":  func(w *Window) { w.Rule = "FREQ=WEEKLY;BYDAY=MO" },
		"the day in another zone":  func(w *Window) { w.Rule = "FREQ=WEEKLY;BYDAY=SA"; w.Zone = "America/New_York" },
		"a start on another day":   func(w *Window) { w.Rule = "FREQ=WEEKLY;BYDAY=SA"; w.Start = w.Start.Add(24 * time.Hour) },
		"a rule that is no rule":   func(w *Window) { w.Rule = "FREQ=SECONDLY" },
		"a rule that never starts": func(w *Window) { w.Rule = "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30" },
	} {
		bad := w
		change(&bad)
		first := bad.Validate()
		if again := bad.Validate(); first == nil || again == nil || first.Error() != again.Error() {
			t.Errorf("%s: first %v, then %v", name, first, again)
		}
	}
}

func TestWhatIsRememberedOfRulesIsBounded(t *testing.T) {
	w := Window{ID: "w", Select: Selector{Nodes: []string{"msk1"}}, Start: time.Date(2027, 1, 1, 1, 0, 0, 0, time.UTC),
		Zone: "UTC", For: Duration(time.Hour), Reason: "test"}
	for i := range checkedMost + 10 {
		w.Rule = fmt.Sprintf("FREQ=YEARLY;COUNT=%d", i+1)
		if err := w.Validate(); err != nil {
			t.Fatal(err)
		}
	}
	checked.Lock()
	defer checked.Unlock()
	if len(checked.of) > checkedMost {
		t.Errorf("%d rules are remembered", len(checked.of))
	}
}
