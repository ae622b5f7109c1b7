package maintenance

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func request(change func(r *Request)) Request {
	r := Request{Select: everywhere, Start: "2026-12-01 02:00", Zone: "Europe/Moscow", For: "4h", Lead: "10m", Reason: "new fibre", Ticket: "CHG-1", By: "anna"}
	if change != nil {
		change(&r)
	}
	return r
}

func TestWindowsAsPeopleTypeThem(t *testing.T) {
	now := at(t, "2026-11-30T11:00:00.25Z")
	for name, c := range map[string]struct {
		change func(r *Request)
		start  string
		notes  string
	}{
		"clock and zone":         {nil, "2026-11-30T23:00:00Z", ""},
		"with seconds":           {func(r *Request) { r.Start = "2026-12-01 02:00:30" }, "2026-11-30T23:00:30Z", ""},
		"with a T":               {func(r *Request) { r.Start = "2026-12-01T02:00" }, "2026-11-30T23:00:00Z", ""},
		"with T and seconds":     {func(r *Request) { r.Start = "2026-12-01T02:00:30" }, "2026-11-30T23:00:30Z", ""},
		"an instant":             {func(r *Request) { r.Start = "2026-12-01T02:00:00+01:00"; r.Zone = "" }, "2026-12-01T01:00:00Z", ""},
		"an instant, and a zone": {func(r *Request) { r.Start = "2026-12-01T02:00:00+01:00" }, "2026-12-01T01:00:00Z", ""},
		"now":                    {func(r *Request) { r.Start = "now"; r.Zone = "" }, "2026-11-30T11:00:00Z", ""},
		"no lead":                {func(r *Request) { r.Lead = "" }, "2026-11-30T23:00:00Z", ""},
		"in a gap": {func(r *Request) { r.Start = "2027-03-28 02:30"; r.Zone = "Europe/Berlin" }, "2027-03-28T01:30:00Z",
			"2027-03-28 02:30 does not exist in Europe/Berlin: clocks are set forward over it. The window starts at 03:30:00 CEST"},
		"in an overlap": {func(r *Request) { r.Start = "2027-10-31 02:30"; r.Zone = "Europe/Berlin" }, "2027-10-31T00:30:00Z",
			"2027-10-31 02:30 comes twice in Europe/Berlin that day; the first is meant, 2027-10-31T02:30:00+02:00. For the second, write it in RFC 3339"},
		"the start has passed": {func(r *Request) { r.Start = "2026-11-30 12:00" }, "2026-11-30T09:00:00Z",
			"the start, 2026-11-30T09:00:00Z, has passed; the drain begins now, and the end is at 2026-11-30T13:00:00Z"},
		"every week":                 {func(r *Request) { r.Rule = "FREQ=WEEKLY;BYDAY=TU" }, "2026-11-30T23:00:00Z", ""},
		"every week, since long ago": {func(r *Request) { r.Start = "2026-10-06 02:00"; r.Rule = "FREQ=WEEKLY" }, "2026-10-05T23:00:00Z", ""},
	} {
		w, notes, err := request(c.change).Window("w1", now)
		if err != nil || stamp(w.Start) != c.start || strings.Join(notes, "\n") != c.notes {
			t.Errorf("%s: start %s, notes %q, error %v", name, stamp(w.Start), notes, err)
			continue
		}
		if err := w.Validate(); err != nil || w.ID != "w1" || w.Reason != "new fibre" || w.By != "anna" || !w.Created.Equal(now) {
			t.Errorf("%s: %+v, error %v", name, w, err)
		}
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	now := at(t, "2026-11-30T11:00:00Z")
	for name, c := range map[string]struct {
		change func(r *Request)
		want   string
	}{
		"everything": {func(r *Request) { *r = Request{} },
			"--start: it is missing; write now, 2026-12-01T02:00:00+03:00, or 2026-12-01 02:00 with a zone\n" +
				`--for: "" is no duration: it is empty; write 90s, 10m, 1h30m or 2d` + "\n" +
				"--reason: it is missing; say in a few words what is done\n" +
				"the window is for nothing; name nodes, sites, neighbours or services"},
		"no zone":          {func(r *Request) { r.Zone = "" }, `--start: "2026-12-01 02:00" names no zone; add --zone, such as Europe/Moscow, or write it in RFC 3339`},
		"an odd zone":      {func(r *Request) { r.Zone = "MSK" }, `--start: zone "MSK" is not in the time zone database; write an IANA name, such as Europe/Moscow or UTC`},
		"no time":          {func(r *Request) { r.Start = "tonight" }, `--start: "tonight" is no time; write now, 2026-12-01T02:00:00+03:00, or 2026-12-01 02:00 with a zone`},
		"no such day":      {func(r *Request) { r.Start = "2026-02-30 02:00" }, `--start: "2026-02-30 02:00" is no time; write now, 2026-12-01T02:00:00+03:00, or 2026-12-01 02:00 with a zone`},
		"an odd lead":      {func(r *Request) { r.Lead = "-5m" }, `--lead: "-5m" is no duration: it has a sign; write 90s, 10m, 1h30m or 2d`},
		"too long":         {func(r *Request) { r.For = "15d" }, "the length (for) is 15d, and may be at most 14d"},
		"no length":        {func(r *Request) { r.For = "0s" }, "the length (for) must be at least 1s"},
		"long lead":        {func(r *Request) { r.Lead = "25h" }, "the lead is 1d1h, and may be at most 1d"},
		"past":             {func(r *Request) { r.Start = "2026-11-30 08:00"; r.For = "1h" }, "--start: all of it is past: it ended at 2026-11-30T06:00:00Z, and now it is 2026-11-30T11:00:00Z"},
		"past and counted": {func(r *Request) { r.Start = "2026-11-02 08:00"; r.Rule = "FREQ=DAILY;COUNT=3" }, "--start: all of it is past: it ended at 2026-11-04T09:00:00Z, and now it is 2026-11-30T11:00:00Z"},
		"rule, no zone":    {func(r *Request) { r.Start = "now"; r.Zone = ""; r.Rule = "FREQ=DAILY" }, "no zone: write an IANA name, such as Europe/Moscow or UTC"},
		"rule, minutely":   {func(r *Request) { r.Rule = "FREQ=MINUTELY" }, `rule "FREQ=MINUTELY": FREQ=MINUTELY: a window starts at most once an hour; write HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY`},
		"rule, other day":  {func(r *Request) { r.Rule = "FREQ=WEEKLY;BYDAY=WE" }, "rule FREQ=WEEKLY;BYDAY=WE does not start at 2026-12-01 02:00:00, a Tuesday; the first start that it gives is 2026-12-02 02:00:00"},
		"rule, never":      {func(r *Request) { r.Rule = "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31" }, "rule FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31 never starts after 2026-12-01 02:00:00"},
		"rule, no pause":   {func(r *Request) { r.Rule = "FREQ=DAILY"; r.For = "23h"; r.Lead = "1h" }, "rule FREQ=DAILY: starts are 1d apart (2026-12-01 02:00:00 and 2026-12-02 02:00:00), lead and length take 1d; nothing would be back in between"},
		"rule from a gap":  {func(r *Request) { r.Start = "2027-03-28 02:30"; r.Zone = "Europe/Berlin"; r.Rule = "FREQ=DAILY" }, "--start: 2027-03-28 02:30 does not exist in Europe/Berlin: clocks are set forward over it. A window that recurs must start at a time that there is; start it another day"},
	} {
		if _, _, err := request(c.change).Window("w1", now); err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", name, err, c.want)
		}
	}
}

func TestAWindowIsTheSameAfterItWasWritten(t *testing.T) {
	now := at(t, "2026-11-30T11:00:00Z")
	w, _, err := request(func(r *Request) { r.Rule = "freq=weekly" }).Window("w1", now)
	if err != nil {
		t.Fatal(err)
	}
	w.EndedAt, w.CancelledAt = now.Add(time.Hour), now.Add(2*time.Hour)
	data, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	var got Window
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(got)
	if err != nil || string(again) != string(data) || !got.Start.Equal(w.Start) || got.For != w.For {
		t.Errorf("%s\n%s, error %v", data, again, err)
	}
	want := `{"id":"w1","select":{"nodes":["msk1"]},"start":"2026-11-30T23:00:00Z","for":"4h","lead":"10m","zone":"Europe/Moscow",` +
		`"rule":"freq=weekly","reason":"new fibre","ticket":"CHG-1","by":"anna","created":"2026-11-30T11:00:00Z",` +
		`"ended_at":"2026-11-30T12:00:00Z","cancelled_at":"2026-11-30T13:00:00Z"}`
	if string(data) != want {
		t.Errorf("%s\nwant %s", data, want)
	}
}

func TestWindowsThatAreNotValid(t *testing.T) {
	for name, c := range map[string]struct {
		window Window
		want   string
	}{
		"nothing": {Window{}, "the window is for nothing; name nodes, sites, neighbours or services\nthe length (for) must be at least 1s\nthe start is missing"},
		"parts of seconds": {Window{Select: everywhere, For: Duration(1500 * time.Millisecond), Lead: Duration(time.Millisecond), Start: time.Unix(0, 5)},
			"the length (for) must be in whole seconds\nthe lead must be in whole seconds\nthe start must be in whole seconds"},
		"negative": {Window{Select: everywhere, For: -1, Lead: -1, Start: time.Unix(0, 0)}, "the length (for) must be at least 1s\nthe lead must not be negative"},
	} {
		if err := c.window.Validate(); err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", name, err, c.want)
		}
		if _, err := c.window.State(time.Unix(0, 0)); err == nil {
			t.Errorf("%s: it has a state", name)
		}
		if _, err := c.window.End(time.Unix(0, 0)); err == nil {
			t.Errorf("%s: it can be ended", name)
		}
		if _, err := c.window.Cancel(time.Unix(0, 0)); err == nil {
			t.Errorf("%s: it can be cancelled", name)
		}
	}
}

func TestAStartAfterTheLastYearIsRefused(t *testing.T) {
	r := Request{Select: Selector{Nodes: []string{"msk1"}}, Start: "9901-01-01T00:00:00Z", For: "14d", Reason: "test"}
	if _, _, err := r.Window("w", time.Now()); err == nil || !strings.Contains(err.Error(), "the year 9900") {
		t.Errorf("the year 9901: %v", err)
	}
	r.Start = "9900-12-31T23:59:59Z"
	if _, _, err := r.Window("w", time.Now()); err != nil {
		t.Error(err)
	}
}
