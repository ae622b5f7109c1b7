package scenarios

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/internal/pages"
	"github.com/catchment-bgp/catchment/lab/netlab"
)

const tutorialPage = "docs/howto/first-node.md"

// rewrite has the tutorials' outputs written anew: go test ./lab/scenarios -run Tutorial -tutorial.update
var rewrite = flag.Bool("tutorial.update", false, "write what the commands print into the tutorials")

// tutorial is the world of the tutorial: what systemd and a shell would do is done here.
type tutorial struct {
	t     *testing.T
	up    *netlab.Upstreams
	page  pages.Page
	frr   *netlab.FRR
	nginx *netlab.Nginx
	proc  *netlab.Proc // catchment-edge; nil: it does not run
}

// block is the text of the only block of a section in a language.
func (p *tutorial) block(section, lang string) string {
	p.t.Helper()
	var found []string
	for _, b := range p.page.Blocks() {
		if b.Section == section && b.Lang == lang {
			found = append(found, b.Text)
		}
	}
	if len(found) != 1 {
		p.t.Fatalf("section %s has %d blocks of %s", section, len(found), lang)
	}
	return found[0]
}

const (
	tutorialFile   = "/etc/catchment/edge.yaml"
	tutorialSocket = "/run/catchment/edge.sock"
)

// command runs a line of the tutorial and returns what it prints.
func (p *tutorial) command(line string) string {
	p.t.Helper()
	words := shellWords(line)
	switch {
	case words[0] == "catchment-edge":
		file := p.up.Edge.HostPath(tutorialFile)
		a := run(p.t, netlab.Binary(p.t, "./cmd/catchment-edge"), "--config", file, "--check")
		return a.stdout + a.stderr
	case words[0] == "catchment" && words[1] == "edge":
		args := append([]string{"edge", "--edge", "unix://" + p.up.Edge.HostPath(tutorialSocket)}, words[2:]...)
		for i, w := range args {
			if w == "new.yaml" {
				args[i] = hostFile(p.t, w, strings.Replace(p.config(), "local_address: 10.77.1.1\n", "local_address: 10.77.1.1\n    prepend: 1\n", 1))
			}
		}
		a := run(p.t, netlab.Binary(p.t, "./cmd/catchment"), args...)
		return a.stdout + a.stderr
	case words[0] == "vtysh":
		out, err := p.frr.Vtysh(words[2])
		if err != nil {
			p.t.Fatal(err)
		}
		return out
	case words[0] == "ip":
		ctx, cancel := context.WithTimeout(p.t.Context(), soon)
		defer cancel()
		out, err := p.up.Edge.Run(ctx, append([]string{"ip"}, words[1:]...)...)
		if err != nil {
			p.t.Fatal(err)
		}
		return out
	case words[0] == "systemctl":
		p.systemctl(words[len(words)-1], words[1])
		return ""
	}
	p.t.Fatalf("the tutorial runs what this test does not know: %s", line)
	return ""
}

// shellWords splits a line at blanks outside of single quotes.
func shellWords(line string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		out = append(out, m[1]+m[2])
	}
	return out
}

// config is the tutorial's configuration.
func (p *tutorial) config() string { return p.block("Configure", "yaml") }

// systemctl does what systemd would do.
func (p *tutorial) systemctl(unit, verb string) {
	p.t.Helper()
	var err error
	switch unit + " " + verb {
	case "catchment-edge enable":
		p.proc = p.up.Edge.StartEnv("catchment-edge", nil, netlab.Binary(p.t, "./cmd/catchment-edge"), "--config", tutorialFile)
		p.t.Cleanup(p.proc.Kill)
		p.await("the socket", func() error {
			_, err := os.Stat(p.up.Edge.HostPath(tutorialSocket))
			return err
		})
	case "catchment-edge stop":
		if err = p.proc.Signal(unix.SIGTERM); err == nil {
			var code int
			if code, err = p.proc.Wait(soon); err == nil && code != 0 {
				err = fmt.Errorf("exit code %d", code)
			}
		}
	case "nginx stop":
		err = p.nginx.Stop()
	case "nginx start":
		err = p.nginx.Start()
	default:
		err = errors.New("this test does not know it")
	}
	if err != nil {
		p.t.Fatalf("systemctl %s %s: %v", verb, unit, err)
	}
}

// tutorialWait is how long a command may take until it prints what the page shows: sessions come up, and returns wait.
const tutorialWait = 30 * time.Second

func (p *tutorial) await(what string, check func() error) {
	p.t.Helper()
	netlab.Eventually(p.t, tutorialWait, what, check)
}

func TestTutorialPrintsWhatItShows(t *testing.T) {
	t.Parallel()
	page, err := pages.Read(tutorialPage)
	if err != nil {
		t.Fatal(err)
	}
	p := &tutorial{t: t, page: page, up: netlab.TwoUpstreams(t, netlab.FRRouting, netlab.NginxServer)}
	p.frr = p.up.FRR.FRR(p.block("The router", "text"))
	p.nginx = p.up.Edge.Nginx("0.0.0.0:8080")
	p.up.Edge.WriteFile(tutorialFile, p.config())
	played, err := pages.Player{
		Page: page, Update: *rewrite, Patience: tutorialWait, Pause: 100 * time.Millisecond,
		Settle: 12 * time.Second, // more than the wait for a return
		Run:    func(c pages.Command) (string, error) { return p.command(c.Line), nil },
		Looks: func(c pages.Command) bool {
			words := strings.Fields(c.Line)
			return words[0] != "systemctl" && !(len(words) > 2 && (words[2] == "drain" || words[2] == "auto"))
		},
	}.Play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if played < 12 {
		t.Errorf("the tutorial has %d commands", played)
	}
}
