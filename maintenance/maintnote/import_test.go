package maintnote

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "time/tzdata" // the zones are the same on every machine

	"github.com/catchment-bgp/catchment/maintenance"
)

var update = flag.Bool("update", false, "write testdata/*.golden anew")

// circuits are the labels of the neighbours in the tests.
var circuits = map[string][]Neighbor{
	"IC-1":    {{"msk1", "example"}},
	"IC-2":    {{"msk1", "example-b"}, {"spb1", "example"}},
	"IC-3":    {{"spb1", "example-b"}},
	"IC-LONG": {{"msk2", "example"}},
}

func options() Options {
	return Options{Circuits: circuits, Lead: maintenance.Duration(10 * time.Minute), Now: time.Date(2026, 11, 30, 11, 0, 0, 0, time.UTC)}
}

// transcript is what a file comes to.
func transcript(t *testing.T, name string, data []byte) []byte {
	t.Helper()
	proposals, err := Import(name, data, options())
	out := struct {
		Errors    []string   `json:"errors"`
		Proposals []Proposal `json:"proposals"`
	}{[]string{}, proposals}
	if err != nil {
		out.Errors = strings.Split(err.Error(), "\n")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(out); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func fixtures(t testing.TB) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range all {
		if filepath.Ext(name) != ".golden" {
			names = append(names, name)
		}
	}
	if len(names) < 20 {
		t.Fatalf("only %d fixtures", len(names))
	}
	return names
}

func TestEachFileComesToItsTranscript(t *testing.T) {
	for _, name := range fixtures(t) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got := transcript(t, filepath.Base(name), data)
		if *update {
			if err := os.WriteFile(name+".golden", got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name + ".golden")
		if err != nil {
			t.Error(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

// A file that is cut off anywhere, or has an octet turned, is refused or read, and
// never opens what the whole did not.
func FuzzImport(f *testing.F) {
	for _, name := range fixtures(f) {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		proposals, err := Import("f", data, options())
		if err == nil && len(proposals) == 0 {
			t.Error("neither a proposal nor an error")
		}
		for _, p := range proposals {
			checkProposal(t, p)
		}
		again, _ := Import("f", data, options())
		if len(again) != len(proposals) {
			t.Errorf("%d proposals, then %d", len(proposals), len(again))
		}
	})
}

// checkProposal checks what holds of every proposal.
func checkProposal(t *testing.T, p Proposal) {
	t.Helper()
	if p.Line < 1 || p.Source == "" || p.Why == "" || p.Lacks == nil || p.Problems == nil || p.Notes == nil || p.Objects == nil || p.OtherIDs == nil {
		t.Errorf("not whole: %+v", p)
	}
	for _, r := range append(p.Problems, p.Notes...) {
		if r.Line < 1 || r.Text == "" {
			t.Errorf("a remark without line or text: %+v", r)
		}
	}
	if len(p.Problems) > 0 && p.Action != None {
		t.Errorf("%s in spite of %v", p.Action, p.Problems)
	}
	if p.Window == nil {
		return
	}
	w := *p.Window
	if err := w.Validate(); err != nil || !w.Proposed || p.Action != Open || w.Reason == "" || w.Ticket == "" {
		t.Errorf("window %+v, error %v, action %s", w, err, p.Action)
	}
	if !w.Start.Equal(p.Start) || !w.Start.Add(w.For.Std()).Equal(p.End) {
		t.Errorf("window %+v, but %s to %s", w, p.Start, p.End)
	}
	for _, o := range p.Objects {
		if o.Impact == NoImpact && w.Select.Matches(maintenance.Target{NeighborLabels: map[string]string{"circuit": o.Circuit}}) && !drainsElsewhere(p, o) {
			t.Errorf("NO-IMPACT drains %+v", o)
		}
	}
}

// drainsElsewhere reports whether another object with an impact has the same circuit.
func drainsElsewhere(p Proposal, o Object) bool {
	for _, other := range p.Objects {
		if other.Circuit == o.Circuit && other.Impact != NoImpact {
			return true
		}
	}
	return false
}

func TestUpdatesReplaceBySequenceThenStamp(t *testing.T) {
	stamp := time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)
	base := Proposal{Provider: "example.net", Account: "1", MaintenanceID: "CHG-1", UID: "1", Sequence: 2, Stamp: stamp, Status: Confirmed,
		Objects: []Object{{ID: "IC-1", Impact: Outage}}}
	for name, c := range map[string]struct {
		change func(p *Proposal)
		want   Order
	}{
		"the same":                         {func(*Proposal) {}, Same},
		"provider in capitals":             {func(p *Proposal) { p.Provider = "EXAMPLE.net" }, Same},
		"a higher sequence":                {func(p *Proposal) { p.Sequence = 3; p.Stamp = stamp.Add(-time.Hour) }, Newer},
		"a lower sequence":                 {func(p *Proposal) { p.Sequence = 1; p.Stamp = stamp.Add(time.Hour) }, Older},
		"a later stamp":                    {func(p *Proposal) { p.Stamp = stamp.Add(time.Second) }, Newer},
		"an earlier stamp":                 {func(p *Proposal) { p.Stamp = stamp.Add(-time.Second) }, Older},
		"other content, equally new":       {func(p *Proposal) { p.Status = Cancelled }, Unclear},
		"another object, equally new":      {func(p *Proposal) { p.Objects = []Object{{ID: "IC-2", Impact: Outage}} }, Unclear},
		"another event":                    {func(p *Proposal) { p.UID = "2"; p.Sequence = 9 }, Unclear},
		"another account":                  {func(p *Proposal) { p.Account = "2" }, Unrelated},
		"another maintenance":              {func(p *Proposal) { p.MaintenanceID = "CHG-2" }, Unrelated},
		"another provider":                 {func(p *Proposal) { p.Provider = "example.org" }, Unrelated},
		"a mail that names no maintenance": {func(p *Proposal) { p.MaintenanceID = "" }, Unrelated},
	} {
		p := base
		c.change(&p)
		if got := p.Compare(base); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := (Proposal{}).Compare(Proposal{}); got != Unrelated {
		t.Errorf("two mails that name nothing: %v", got)
	}
	var names []string
	for o := Unrelated - 1; o <= Unclear+1; o++ {
		names = append(names, o.String())
	}
	if got := strings.Join(names, " "); got != "order unrelated older same newer unclear order" {
		t.Error(got)
	}
}

func TestTimesWithoutAZoneAreReadInTheZoneGiven(t *testing.T) {
	text := "BEGIN:VCALENDAR\nBEGIN:VEVENT\nX-MAINTNOTE-PROVIDER:p\nX-MAINTNOTE-MAINTENANCE-ID:1\nX-MAINTNOTE-OBJECT-ID:IC-1\n" +
		"DTSTART:20270328T023000\nDTEND:20270328T060000\nEND:VEVENT\nEND:VCALENDAR\n"
	o := options()
	var err error
	if o.Zone, err = maintenance.LoadZone("Europe/Berlin"); err != nil {
		t.Fatal(err)
	}
	got, err := Import("f", []byte(text), o)
	if err != nil || len(got) != 1 || got[0].Window == nil {
		t.Fatalf("%+v, error %v", got, err)
	}
	if w := got[0].Window; w.Start.Format(time.RFC3339) != "2027-03-28T01:30:00Z" || w.For.String() != "2h30m" {
		t.Errorf("%+v", w)
	}
	if len(got[0].Notes) != 1 || got[0].Notes[0].Line != 6 {
		t.Errorf("notes %+v", got[0].Notes)
	}
}

func TestMoreThanIsReadIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		data string
		want string
	}{
		"size":   {strings.Repeat("x", maxSize+1), "f: line 1: the file has 16777217 octets; at most 16777216 are read"},
		"events": {"BEGIN:VCALENDAR\n" + strings.Repeat("BEGIN:VEVENT\nEND:VEVENT\n", maxEvents+1) + "END:VCALENDAR\n", "f: line 1002: there are more than 500 events"},
		"parts": {"Content-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--b\n\n", maxParts+5),
			"f: line 402: the mail has more than 200 parts, or parts in more than 8 others"},
		"depth": {strings.Repeat("Content-Type: message/rfc822\n\n", maxDepth+2),
			"f: line 19: the mail has more than 200 parts, or parts in more than 8 others"},
	} {
		if got, err := Import("f", []byte(c.data), Options{}); err == nil || err.Error() != c.want || len(got) > 0 {
			t.Errorf("%s: %d proposals, error %v, want %s", name, len(got), err, c.want)
		}
	}
}

func TestEachZoneOfWindowsIsInTheDatabase(t *testing.T) {
	if len(windowsZones) < 130 {
		t.Errorf("only %d zones", len(windowsZones))
	}
	for name := range windowsZones {
		if zoneByName(strings.ToUpper(name)) == nil {
			t.Errorf("%s is %s, and that is no zone", name, windowsZones[name])
		}
	}
	for _, name := range []string{"", "Local", "Moscow", "/x/y", "/example.org/Europe/Atlantis", "../etc/passwd"} {
		if zone := zoneByName(name); zone != nil {
			t.Errorf("%q is %v", name, zone)
		}
	}
}

// TestAnEventOfTooManyObjectsMakesNoWindow: each is held against all the others, and
// one that is left out would be a circuit that nobody drains.
func TestAnEventOfTooManyObjectsMakesNoWindow(t *testing.T) {
	mail := func(n int) []byte {
		return []byte("BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nSEQUENCE:1\nDTSTART:20270101T000000Z\nDTEND:20270101T010000Z\nX-MAINTNOTE-PROVIDER:p\n" +
			"X-MAINTNOTE-MAINTENANCE-ID:m\nX-MAINTNOTE-STATUS:CONFIRMED\nX-MAINTNOTE-IMPACT:OUTAGE\n" +
			strings.Repeat("X-MAINTNOTE-OBJECT-ID:C\n", n) + "END:VEVENT\nEND:VCALENDAR\n")
	}
	o := Options{Circuits: map[string][]Neighbor{"C": {{Node: "msk1", Name: "transit"}}}, Now: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)}
	got, _ := Import("f", mail(maxIDs), o)
	if len(got) != 1 || got[0].Window == nil {
		t.Fatalf("as many as are read: %+v", got)
	}
	got, _ = Import("f", mail(maxIDs+1), o)
	if len(got) != 1 || len(got[0].Problems) != 1 || !strings.Contains(got[0].Problems[0].Text, "more than 2000 object IDs") || got[0].Action == Open {
		t.Errorf("one more: problems %+v, action %v", got[0].Problems, got[0].Action)
	}
}
