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

// The lab has a name of its own here: there may be one of the tutorial's on the machine.
func TestTutorialOfThreeNodesPrintsWhatItShows(t *testing.T) {
	t.Parallel()
	netlab.Require(t, netlab.Root, netlab.FRRouting, netlab.BIRDRouting, netlab.NginxServer)
	page, err := pages.Read(threeNodes + ".md")
	if err != nil {
		t.Fatal(err)
	}
	dir, name := t.TempDir(), fmt.Sprintf("three-%d", os.Getpid())
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("../..", threeNodes))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "lab.clab.yml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, strings.Replace(string(text), "name: three-nodes\n", "name: "+name+"\n", 1))
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
	looks := regexp.MustCompile(`curl|vtysh|birdc|edge status|edge why|fleet status|node list|maintenance list|lab lg|audit list`)
	played, err := pages.Player{
		Page: page, Run: shell.Run, Write: shell.Write,
		Looks:    func(c pages.Command) bool { return looks.MatchString(c.Line) },
		Patience: 90 * time.Second, Pause: 200 * time.Millisecond,
		Changing: []pages.Change{
			{What: regexp.MustCompile(regexp.QuoteMeta(name)), To: "three-nodes"},
			{What: regexp.MustCompile(`best #\d`), To: "best #N"},
			{What: regexp.MustCompile(`\b\d+(\.\d+)?%`), To: "N%"},
			{What: regexp.MustCompile(`penalty \d+`), To: "penalty N"},
		},
		Update: *rewrite, Settle: 35 * time.Second,
	}.Play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if played < 40 {
		t.Errorf("the tutorial has %d commands", played)
	}
}
