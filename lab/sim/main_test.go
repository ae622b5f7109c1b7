package sim

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// load reads a scenario of the folder scenarios.
func load(t testing.TB, name string) *Scenario {
	t.Helper()
	file := filepath.Join("scenarios", name+".yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, file, string(data))
}

func parse(t testing.TB, file, text string) *Scenario {
	t.Helper()
	sc, err := Parse(file, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return sc
}
