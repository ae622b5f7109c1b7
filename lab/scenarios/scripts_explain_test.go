package scenarios

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/catchment-bgp/catchment/lab/router"
	"github.com/catchment-bgp/catchment/lab/runner"
)

const (
	// tableMost and logMost bound what is told of one node when a script has failed.
	tableMost = 60
	logMost   = 40
)

// explain tells every router's table, every node's reasons and the end of every log.
func (w *world) explain() {
	for _, n := range w.topology.Nodes {
		if router.Speaks(n.Role()) {
			w.t.Logf("---- %s: sessions and table\n%s", n.Name, w.table(n.Name))
		}
	}
	for _, name := range w.ofRole("catchment-edge") {
		for _, verb := range []string{"status", "why"} {
			a, err := w.run(name, "catchment", "edge", verb)
			w.t.Logf("---- %s: catchment edge %s\n%s%s%s", name, verb, a.stdout, a.stderr, errorText(err))
		}
	}
	for _, n := range w.topology.Nodes {
		text, err := os.ReadFile(runner.LogFile(w.topology.Name, n.Name))
		w.t.Logf("---- %s: log\n%s%s", n.Name, lastLines(string(text), logMost), errorText(err))
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error() + "\n"
}

func (w *world) table(node string) string {
	var b strings.Builder
	list, err := w.neighbors(node)
	fmt.Fprintf(&b, "%s\n%s", states(list), errorText(err))
	r, err := w.reader(node)
	if err != nil {
		return b.String() + errorText(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), askWait)
	defer cancel()
	paths, err := r.Table(ctx)
	b.WriteString(errorText(err))
	for i, p := range paths {
		if i == tableMost {
			fmt.Fprintf(&b, "and %d more\n", len(paths)-i)
			break
		}
		b.WriteString(pathText(p) + "\n")
	}
	return b.String()
}

func pathText(p router.Path) string {
	best := " "
	if p.Best {
		best = "*"
	}
	neighbor := p.From
	if p.To.IsValid() {
		neighbor = p.To
	}
	return fmt.Sprintf("%s %s by %s: path %v next hop %v med %s local preference %s %v %v %v", best, p.Prefix, neighbor, p.ASPath, p.NextHop,
		spell(p.MED), spell(p.LocalPref), p.Communities, p.LargeCommunities, p.ExtCommunities)
}

// lastLines is the end of a text.
func lastLines(text string, most int) string {
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "") + "\n"
}
