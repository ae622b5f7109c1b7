package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/internal/pages"
	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/runner"
)

const threeNodes = "docs/tutorial/three-nodes"

// looks are commands that change nothing.
var looks = regexp.MustCompile(`curl|vtysh|birdc|edge status|edge why|fleet status|node list|maintenance list|lab lg|audit list`)

// playLab runs a page whose commands make a lab of file, below a folder. The lab has a name of its own here: there may be
// one of that name on the machine.
func playLab(t *testing.T, page pages.Page, dir, file string, least int) {
	t.Helper()
	netlab.Require(t, netlab.Root, netlab.FRRouting, netlab.BIRDRouting, netlab.NginxServer)
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(?m)^name: (\S+)$`)
	shown := named.FindSubmatch(text)
	if shown == nil {
		t.Fatalf("%s has no name", file)
	}
	name := fmt.Sprintf("page-%d-%d", os.Getpid(), labs.Add(1))
	writeFile(t, filepath.Join(dir, file), string(named.ReplaceAll(text, []byte("name: "+name))))
	shell, err := pages.NewShell(t.Context(), dir, programs(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := runner.Down(name); err != nil { // nothing is left if the page ends as it shall
			t.Error(err)
		}
		_ = shell.Close() // the context has ended it
	})
	played, err := pages.Player{
		Page: page, Write: shell.Write,
		Run: func(c pages.Command) (string, error) {
			c.Line = strings.Replace(c.Line, " curl http", " curl -s http", 1) // without a terminal it shows its progress
			return shell.Run(c)
		},
		Looks:    func(c pages.Command) bool { return looks.MatchString(c.Line) },
		Patience: 90 * time.Second, Pause: 200 * time.Millisecond,
		Changing: []pages.Change{
			{What: regexp.MustCompile(regexp.QuoteMeta(name)), To: string(shown[1])},
			{What: regexp.MustCompile(`best #\d`), To: "best #N"},
			{What: regexp.MustCompile(`\b\d+(\.\d+)?%`), To: "N%"},
			{What: regexp.MustCompile(`penalty \d+`), To: "penalty N"},
		},
		Update: *rewrite, Settle: 35 * time.Second,
	}.Play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if played < least {
		t.Errorf("%s has %d commands", page.Path, played)
	}
}

func TestTutorialOfThreeNodesPrintsWhatItShows(t *testing.T) {
	t.Parallel()
	page, err := pages.Read(threeNodes + ".md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("../..", threeNodes))); err != nil {
		t.Fatal(err)
	}
	playLab(t, page, dir, "lab.clab.yml", 40)
}

func TestTheREADMEsLabPrintsWhatItShows(t *testing.T) {
	t.Parallel()
	if *rewrite {
		t.Skip("the README is written by hand")
	}
	readme, err := pages.Read("README.md")
	if err != nil {
		t.Fatal(err)
	}
	page, err := readme.Alone("The lab")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "lab/topologies"), os.DirFS(topologiesDir)); err != nil {
		t.Fatal(err)
	}
	playLab(t, page, dir, "lab/topologies/two-upstreams.clab.yml", 5)
}
