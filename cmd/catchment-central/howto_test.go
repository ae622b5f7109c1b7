package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/announcer/upstream"
	"github.com/catchment-bgp/catchment/central/config"
	edgeconfig "github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/internal/pages"
	"github.com/catchment-bgp/catchment/lab/netlab"
)

const (
	howtoPage = "docs/howto/first-centre.md"
	// recoverPage goes on where the first ends.
	recoverPage = "docs/howto/recover-a-centre.md"
)

// rewrite has the page's outputs written anew: go test ./cmd/catchment-central -run Howto -howto.update
var rewrite = flag.Bool("howto.update", false, "write what the commands print into "+howtoPage)

// howto is the world of the page: three machines, each a folder.
type howto struct {
	t           *testing.T
	root        string
	page        pages.Page
	listen, web string
	daemons     map[string]*exec.Cmd // by machine
	logs        map[string]*bytes.Buffer
	token       string
	config      string
	roles       string // what the page adds for people
	exports     string // what people tell their shells
}

const centralMachine = "central"

// here puts paths of a machine into its folder, and the centre's address where it is.
func (h *howto) here(machine, text string) string {
	text = regexp.MustCompile(`(^|[\s"=])(/(?:etc|var|root|tmp)/)`).ReplaceAllString(text, "${1}"+filepath.Join(h.root, machine)+"$2")
	text = strings.NewReplacer("central.example.net:7179", h.listen, "0.0.0.0:7179", h.listen, "0.0.0.0:7180", h.web).Replace(text)
	return strings.ReplaceAll(text, "central.example.net", "localhost")
}

// there is the way back, for what was printed.
func (h *howto) there(machine, text string) string {
	return strings.NewReplacer(filepath.Join(h.root, machine), "", h.listen, "central.example.net:7179").Replace(text)
}

func (h *howto) path(machine, path string) string { return filepath.Join(h.root, machine, path) }

func (h *howto) write(machine, path, text string) {
	h.t.Helper()
	full := h.path(machine, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// blocks are those of a section in a language.
func (h *howto) blocks(section, lang string) []string {
	var out []string
	for _, b := range h.page.Blocks() {
		if b.Section == section && b.Lang == lang {
			out = append(out, b.Text)
		}
	}
	return out
}

// command runs a line of the page and returns what it prints.
func (h *howto) command(machine, line string) string {
	h.t.Helper()
	line, into, _ := strings.Cut(line, " > ")
	words := words(line)
	for i := range words {
		words[i] = h.here(machine, words[i])
	}
	switch words[0] {
	case "catchment", "catchment-central":
		return h.program(machine, words, into)
	case "systemctl":
		return h.systemctl(machine, words[len(words)-1], words[1])
	case "mv":
		if err := os.Rename(words[1], words[2]); err != nil {
			h.t.Fatal(err)
		}
		return ""
	case "chown":
		return "" // there is no such user here
	}
	h.t.Fatalf("the page runs what this test does not know: %s", line)
	return ""
}

// words splits a line at blanks outside of single quotes.
func words(line string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		out = append(out, m[1]+m[2])
	}
	return out
}

// program runs one of ours, with the environment that the page exports.
func (h *howto) program(machine string, words []string, into string) string {
	h.t.Helper()
	program := netlab.Binary(h.t, "./cmd/"+words[0]) // the time to build it does not count
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, words[1:]...)
	cmd.Env = os.Environ()
	if machine == centralMachine {
		for _, m := range regexp.MustCompile(`(CATCHMENT_[A-Z]+)=(\S+)`).FindAllStringSubmatch(h.exports, -1) {
			cmd.Env = append(cmd.Env, m[1]+"="+h.here(machine, m[2]))
		}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		h.t.Fatal(err)
	}
	if into != "" {
		h.write(machine, into, stdout.String())
		stdout.Reset()
	}
	if len(words) > 2 && words[2] == "join-token" {
		h.token = stdout.String()
		for _, node := range []string{"msk1", "spb1"} {
			h.write(node, "/root/token", h.token)
		}
	}
	return h.there(machine, stdout.String()+stderr.String())
}

// systemctl does what systemd would do.
func (h *howto) systemctl(machine, unit, verb string) string {
	h.t.Helper()
	if old := h.daemons[machine]; verb != "start" && verb != "enable" && old != nil {
		if err := old.Process.Signal(syscall.SIGTERM); err != nil {
			h.t.Fatal(err)
		}
		if err := old.Wait(); err != nil {
			h.t.Fatalf("%s on %s ends with %v:\n%s", unit, machine, err, h.logs[machine])
		}
		h.daemons[machine] = nil
	}
	if verb == "stop" {
		return ""
	}
	file := "/etc/" + unit + "/central.yaml"
	if unit == "catchment-edge" {
		file = "/etc/catchment/edge.yaml"
	} else if len(h.daemons) > 0 {
		h.write(machine, file, h.config+h.here(machine, h.roles))
	}
	cmd := exec.Command(netlab.Binary(h.t, "./cmd/"+unit), "--config", h.path(machine, file))
	h.logs[machine] = &bytes.Buffer{}
	cmd.Stderr = h.logs[machine]
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.daemons[machine] = cmd
	if unit == "catchment-central" {
		netlab.Eventually(h.t, patience, "the centre's socket", func() error {
			c, err := net.Dial("tcp", h.listen)
			if err == nil {
				_ = c.Close()
			}
			return err
		})
	}
	return ""
}

// edge writes the file of a node with one neighbour, which touches nothing of this
// machine, with what the page adds to it. It starts the neighbour.
func (h *howto) edge(node string, neighbour netip.Addr) {
	h.t.Helper()
	l, err := net.Listen("tcp", netip.AddrPortFrom(neighbour, 0).String())
	if err != nil {
		h.t.Fatal(err)
	}
	listen := netip.MustParseAddrPort(l.Addr().String())
	if err := l.Close(); err != nil {
		h.t.Fatal(err)
	}
	router, err := upstream.Start(upstream.Config{ASN: 65001, RouterID: netip.MustParseAddr("10.77.1.2"), Listen: listen,
		Neighbor: netip.MustParseAddr("127.0.0.1"), NeighborASN: 57629, Password: "howto"})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if err := router.Stop(); err != nil {
			h.t.Error(err)
		}
	})
	h.write(node, "/etc/catchment/edge.yaml", fmt.Sprintf(`node: %s
asn: 57629
router_id: 10.77.0.1
state_dir: %s
control: unix://%s
way_back: {require: none}
leave_hold: 0s
neighbors:
  - {name: router, address: %s, port: %d, asn: 65001, kind: transit, local_address: 127.0.0.1, password: howto}
services:
  - {name: video, prefixes: [198.51.100.0/24]}
`, node, h.path(node, "state"), h.path(node, "s"), listen.Addr(), listen.Port())+h.here(node, strings.Join(h.blocks("Nodes join", "yaml"), "")))
}

// parses checks the files that the page shows and that nothing here runs with.
func (h *howto) parses() {
	h.t.Helper()
	more := h.blocks("More than one", "yaml")
	if len(more) != 2 {
		h.t.Fatalf("%d files for more than one centre", len(more))
	}
	if c, err := config.Parse(howtoPage, []byte(more[0]), "/"); err != nil || len(c.Etcd.Endpoints) != 3 {
		h.t.Errorf("%+v, %v", c, err)
	}
	edge, err := os.ReadFile(h.path("msk1", "/etc/catchment/edge.yaml"))
	if err != nil {
		h.t.Fatal(err)
	}
	alone, _, _ := strings.Cut(string(edge), "central:")
	if c, _, err := edgeconfig.Parse(howtoPage, []byte(alone+more[1]), edgeconfig.Options{}); err != nil || len(c.Central.Addresses) != 2 {
		h.t.Errorf("%+v, %v", c, err)
	}
}

// changing is what differs from run to run, besides times.
var changing = []pages.Change{
	{What: regexp.MustCompile(`\b[0-9a-f]{64}\b`), To: "HASH"},
	{What: regexp.MustCompile(`[\w-]{43}\.[\w-]{43}`), To: "TOKEN"},
	{What: regexp.MustCompile(`from [0-9a-f.:\[\]]+:\d+`), To: "from ADDRESS"},
	{What: regexp.MustCompile(`\b\d+ records|last is \d+|^\d+ `), To: "N"},
	{What: regexp.MustCompile(`\b(v\d\S*|dev)\b`), To: "VERSION"},
}

// play runs the commands of a page in this world.
func (h *howto) play(path string, least int) {
	h.t.Helper()
	page, err := pages.Read(path)
	if err != nil {
		h.t.Fatal(err)
	}
	h.page = page
	played, err := pages.Player{
		Page: page, Changing: changing, Update: *rewrite, Patience: patience, Pause: 100 * time.Millisecond, Settle: 3 * time.Second,
		Looks: func(c pages.Command) bool { return strings.HasSuffix(c.Line, "node list") },
		Run: func(c pages.Command) (string, error) {
			machine := c.Prompt
			if machine == "" {
				machine = centralMachine
			}
			return h.command(machine, c.Line), nil
		},
	}.Play(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	if played < least {
		h.t.Errorf("%s has %d commands", path, played)
	}
}

func TestHowtoPrintsWhatItShows(t *testing.T) {
	page, err := pages.Read(howtoPage)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.MkdirTemp("", "ct") // short: sockets' paths are limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	h := &howto{t: t, root: root, page: page, daemons: map[string]*exec.Cmd{}, logs: map[string]*bytes.Buffer{}}
	h.listen, h.web = "localhost:"+portOf(freePort(t)), "localhost:"+portOf(freePort(t))
	t.Cleanup(func() {
		for machine, d := range h.daemons {
			if d != nil {
				_ = d.Process.Kill() // it may have ended
				_ = d.Wait()
			}
			if t.Failed() {
				t.Logf("%s:\n%s", machine, h.logs[machine])
			}
		}
	})
	h.config = h.here(centralMachine, h.blocks("Configure", "yaml")[0])
	h.roles, h.exports = strings.Join(h.blocks("People", "yaml"), ""), strings.Join(h.blocks("Configure", "sh"), "\n")
	h.write(centralMachine, "/etc/catchment-central/central.yaml", h.config)
	for _, dir := range []string{"/root", "/var/lib/catchment-central"} {
		h.write(centralMachine, dir+"/.keep", "")
	}
	h.write("spb1", "/tmp/again/.keep", "")
	h.edge("msk1", netip.MustParseAddr("127.0.0.2"))
	h.edge("spb1", netip.MustParseAddr("127.0.0.3"))
	h.parses()
	h.play(howtoPage, 25)
	h.play(recoverPage, 8)
}
