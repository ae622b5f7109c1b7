//go:build data

package maintnote

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// theirs is what the parser beside which the files were found makes of an event.
type theirs struct {
	Provider      string `json:"provider"`
	Account       string `json:"account"`
	MaintenanceID string `json:"maintenance_id"`
	UID           string `json:"uid"`
	Summary       string `json:"summary"`
	Organizer     string `json:"organizer"`
	Status        string `json:"status"`
	Sequence      int    `json:"sequence"`
	Start         int64  `json:"start"`
	End           int64  `json:"end"`
	Stamp         int64  `json:"stamp"`
	Circuits      []struct {
		ID     string `json:"circuit_id"`
		Impact string `json:"impact"`
	} `json:"circuits"`
}

// Mails and calendars of providers, and what other people's parser makes of those that
// have a calendar. All others give a message that names the file and a line.
func TestDataEveryMailOfAProviderIsReadOrRefusedWithALine(t *testing.T) {
	root := filepath.Join(os.Getenv("CATCHMENT_DATA"), "maint")
	counts := map[string]int{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) == ".json" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := filepath.Base(path)
		proposals, err := Import(name, data, Options{})
		if err == nil && len(proposals) == 0 {
			t.Errorf("%s: neither a proposal nor a message", name)
		}
		if err != nil && !regexp.MustCompile(`^`+regexp.QuoteMeta(name)+`.*: line [0-9]+: .`).MatchString(err.Error()) {
			t.Errorf("%s: the message names no line: %v", name, err)
		}
		if hasMaintnote := strings.Contains(string(data), "\nX-MAINTNOTE-"); hasMaintnote != (len(proposals) > 0) {
			t.Errorf("%s: %d proposals, error %v", name, len(proposals), err)
		}
		for _, p := range proposals {
			checkProposal(t, p)
		}
		compared, err := compare(t, path, proposals)
		if err != nil {
			return err
		}
		switch {
		case compared:
			counts["compared"]++
		case len(proposals) > 0:
			counts["read"]++
		default:
			counts["refused"]++
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v; set CATCHMENT_DATA to the folder of the data", err)
	}
	if counts["compared"] < 14 || counts["read"] == 0 || counts["refused"] == 0 {
		t.Errorf("files are missing: %v", counts)
	}
	t.Logf("%v", counts)
}

// compare holds the proposals against the result beside the file, if there is any.
func compare(t *testing.T, path string, proposals []Proposal) (bool, error) {
	t.Helper()
	stem := strings.TrimSuffix(path, filepath.Ext(path))
	result, err := os.ReadFile(stem + "_result.json")
	if errors.Is(err, fs.ErrNotExist) {
		result, err = os.ReadFile(stem + ".json")
	}
	if errors.Is(err, fs.ErrNotExist) || len(proposals) == 0 {
		return false, nil // none, or made of the text for people
	}
	if err != nil {
		return false, err
	}
	var want []theirs
	if err := json.Unmarshal(result, &want); err != nil {
		return false, err
	}
	if len(want) != len(proposals) {
		t.Errorf("%s: %d proposals, want %d", path, len(proposals), len(want))
		return true, nil
	}
	for i, w := range want {
		compareOne(t, path, proposals[i], w)
	}
	return true, nil
}

func compareOne(t *testing.T, path string, p Proposal, want theirs) {
	t.Helper()
	unix := func(at time.Time) int64 {
		if at.IsZero() {
			return 0
		}
		return at.Unix()
	}
	got := theirs{Provider: p.Provider, Account: p.Account, MaintenanceID: p.MaintenanceID, UID: p.UID, Summary: p.Summary,
		Organizer: p.Organizer, Status: string(p.Status), Sequence: p.Sequence, Start: unix(p.Start), End: unix(p.End), Stamp: unix(p.Stamp)}
	for _, s := range []*string{&want.Provider, &want.Account, &want.Summary} {
		*s = strings.TrimSpace(*s) // they keep blanks around a value
	}
	circuits := want.Circuits
	want.Circuits = nil
	if a, b := jsonOf(t, got), jsonOf(t, want); a != b {
		t.Errorf("%s:\n got %s\nwant %s", path, a, b)
	}
	if len(circuits) != len(p.Objects) {
		t.Errorf("%s: objects %+v, want %+v", path, p.Objects, circuits)
		return
	}
	for i, c := range circuits {
		if o := p.Objects[i]; o.ID != c.ID || string(o.Impact) != c.Impact {
			t.Errorf("%s: object %+v, want %+v", path, o, c)
		}
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
