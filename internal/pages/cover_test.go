package pages

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// player is what runs the commands that a page shows with what they print: a test ("FOLDER TEST"), or a target of make where no
// test can; section is one of the page's, "" all.
type player struct{ page, section, by string }

var players = []player{
	{"README.md", "Steer by load", "lab/sim TestTheREADMEHasTheFiguresOfTheResults"},
	{"README.md", "What communities mean", "cmd/catchment TestTheREADMEsCommunitiesPrintWhatItShows"},
	{"README.md", "The lab", "lab/scenarios TestTheREADMEsLabPrintsWhatItShows"},
	// What it shows is of a demo that goes on. The same status is played in the first node's page.
	{"README.md", "Ask it", "lab/scenarios TestTutorialPrintsWhatItShows"},
	{"docs/tutorial/three-nodes.md", "", "lab/scenarios TestTutorialOfThreeNodesPrintsWhatItShows"},
	{"docs/howto/first-node.md", "", "lab/scenarios TestTutorialPrintsWhatItShows"},
	{"docs/howto/first-centre.md", "", "cmd/catchment-central TestHowtoPrintsWhatItShows"},
	{"docs/howto/recover-a-centre.md", "", "cmd/catchment-central TestHowtoPrintsWhatItShows"},
	{"docs/howto/publish-communities.md", "", "cmd/catchment TestHowtoPublishesAndPrintsWhatItShows"},
	{"docs/howto/check-a-node.md", "", "cmd/catchment TestCheckANodePrintsWhatItShows"},
	{"docs/howto/write-a-ladder.md", "", "cmd/catchment TestPagesPrintWhatTheyShow"},
	{"docs/howto/join-an-exchange.md", "", "cmd/catchment TestPagesPrintWhatTheyShow"},
	{"docs/howto/plan-a-maintenance.md", "", "cmd/catchment TestPagesPrintWhatTheyShow"},
	{"docs/howto/several-centres.md", "", "cmd/catchment TestPagesPrintWhatTheyShow"},
	{"docs/howto/compose.md", "", "make compose-test"}, // it needs Docker
}

func playerOf(page, section string) string {
	for _, p := range players {
		if p.page == page && (p.section == "" || p.section == section) {
			return p.by
		}
	}
	return ""
}

func TestEveryCommandThatIsShownWithItsOutputIsPlayedBySomeTest(t *testing.T) {
	root, all := tree(t)
	shown := map[player]bool{}
	for _, page := range all {
		if page.Path != "README.md" && !strings.HasPrefix(page.Path, "docs/") {
			continue
		}
		for _, b := range page.Blocks() {
			by := playerOf(page.Path, b.Section)
			for _, p := range players {
				if len(b.Commands()) > 0 && p.page == page.Path && (p.section == "" || p.section == b.Section) {
					shown[p] = true
				}
			}
			switch {
			case len(b.Commands()) == 0 || b.NotRun != "":
			case by == "":
				t.Errorf("%s:%d: nobody plays these commands: give the page a player, or say why there is none: <!-- not run: WHY -->", page.Path, b.Line)
			case b.Lang != "console" && page.Path != "README.md":
				t.Errorf("%s:%d: commands with what they print stand in a block of console, not %q", page.Path, b.Line, b.Lang)
			}
		}
	}
	for _, p := range players {
		if !shown[p] {
			t.Errorf("%s, section %q: there are no commands to play", p.page, p.section)
		}
		if !exists(root, p.by) {
			t.Errorf("%s: there is no %s", p.page, p.by)
		}
	}
}

// exists says whether there is a player.
func exists(root, by string) bool {
	where, what, _ := strings.Cut(by, " ")
	if where == "make" {
		text, err := os.ReadFile(filepath.Join(root, "Makefile"))
		return err == nil && regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(what)+`:`).Match(text)
	}
	files, err := filepath.Glob(filepath.Join(root, where, "*_test.go"))
	if err != nil {
		return false
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(text), "func "+what+"(t *testing.T)") {
			return true
		}
	}
	return false
}

// Every page of docs can be reached from the index.
func TestTheIndexHasEveryPage(t *testing.T) {
	_, all := tree(t)
	linked := map[string]bool{"docs/README.md": true}
	for _, page := range all {
		if page.Path != "docs/README.md" && page.Path != "docs/runbooks/README.md" {
			continue
		}
		for _, l := range page.Links() {
			target, _, _ := strings.Cut(l.Target, "#")
			linked[filepath.ToSlash(filepath.Join(filepath.Dir(page.Path), target))] = true
		}
	}
	for _, page := range all {
		if strings.HasPrefix(page.Path, "docs/") && !strings.HasPrefix(page.Path, "docs/runbooks/") && !linked[page.Path] {
			t.Errorf("docs/README.md has no link to %s", page.Path)
		}
	}
}
