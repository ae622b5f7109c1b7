package packages

import (
	"fmt"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/internal/pages"
)

// TestTheHowtoShowsWhatTheShippedFileIsToldAndCommandsThatExist holds docs/howto/install.md to the packages.
func TestTheHowtoShowsWhatTheShippedFileIsToldAndCommandsThatExist(t *testing.T) {
	page, err := pages.Read("docs/howto/install.md")
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine(t)
	m.install(older, "catchment", "catchment-edge", "catchment-central")
	shown, tried := 0, 0
	for _, b := range page.Blocks() {
		for line := range strings.Lines(b.Text) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), " # ")
			command := strings.Fields(strings.TrimPrefix(line, "# "))
			switch {
			case b.Lang == "console" && strings.HasPrefix(line, "# "):
				shown++
				said, err := m.try(command...)
				if err == nil || line+"\n"+said != b.Text {
					t.Errorf("%s:%d: it prints\n%s", page.Path, b.Line, said)
				}
			case b.Lang == "sh" && command[0] == "catchment":
				tried++
				if err := m.knows(command); err != nil {
					t.Errorf("%s:%d: %v", page.Path, b.Line, err)
				}
			case b.Lang == "sh" && strings.HasPrefix(command[0], "/") && !m.exists(command[0]):
				t.Errorf("%s:%d: there is no %s", page.Path, b.Line, command[0])
			}
		}
	}
	if shown != 1 || tried < 5 {
		t.Errorf("%d outputs and %d commands", shown, tried)
	}
}

// knows says whether the command line knows a command and its flags: with --help it does nothing else.
func (m *machine) knows(command []string) error {
	said, err := m.try(append(command, "--help")...)
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, said)
	}
	return nil
}
