package alerts

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var firesRE = regexp.MustCompile(`\.fires\("(\w+)"`)

// That one fires for its cause is for the scenarios to show, which need root and routers; that none is left out is not.
func TestEachAlertFiresInAScenario(t *testing.T) {
	files, err := filepath.Glob(folder(t, "lab/scenarios") + "/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	alerts, fired := shippedAlerts(t), map[string]bool{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range firesRE.FindAllSubmatch(text, -1) {
			name := string(m[1])
			if fired[name] = true; alerts[name].Alert == "" {
				t.Errorf("%s waits for %s, and there is no such alert", f, name)
			}
		}
	}
	for name := range alerts {
		if !fired[name] {
			t.Errorf("%s fires in no scenario", name)
		}
	}
}
