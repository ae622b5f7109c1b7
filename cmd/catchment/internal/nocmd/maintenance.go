package nocmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
	"github.com/catchment-bgp/catchment/maintenance"
)

func (g *group) maintenance() *cobra.Command {
	return g.holder("maintenance", "Plan work on nodes, sites, neighbours or services",
		"A window drains what it names, keeps it out of service, and lets it return by itself.",
		g.addWindow(), g.listWindows(),
		verb("show ID", "One window and how far it is", "catchment maintenance show w-abcdefgh", func(ctx context.Context, args []string) error {
			m, err := call(ctx, g, centralv1.FleetClient.GetWindow, &centralv1.GetWindowRequest{Id: args[0]})
			if err != nil {
				return err
			}
			return show(g, m, windowText)
		}),
		g.endWindow("end ID", "End what runs of a window now", "catchment maintenance end w-abcdefgh --reason 'done early'",
			func(ctx context.Context, id string, y why) (*centralv1.Window, error) {
				return call(ctx, g, centralv1.FleetClient.EndWindow, &centralv1.EndWindowRequest{Id: id, Reason: y.reason, Ticket: y.ticket})
			}),
		g.endWindow("cancel ID", "Call a window off, with all that is left of it", "catchment maintenance cancel w-abcdefgh --reason 'moved to May'",
			func(ctx context.Context, id string, y why) (*centralv1.Window, error) {
				return call(ctx, g, centralv1.FleetClient.CancelWindow, &centralv1.CancelWindowRequest{Id: id, Reason: y.reason, Ticket: y.ticket})
			}),
		g.importWindows(), g.confirmWindow())
}

// selection are the flags that say what something is for.
type selection struct {
	nodes, sites, neighbors, services, labels []string
	all                                       bool
	expect                                    int32
}

func (s *selection) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&s.nodes, "node", nil, "a node, by `NAME`; may be repeated")
	f.StringArrayVar(&s.sites, "site", nil, "all nodes of a site (`NAME`); may be repeated")
	f.StringArrayVar(&s.neighbors, "neighbor", nil, "only at a neighbour (`NAME` or NODE/NAME); may be repeated")
	f.StringArrayVar(&s.services, "service", nil, "only a service (`NAME`); may be repeated")
	f.StringArrayVar(&s.labels, "label", nil, "nodes or neighbours with a label (`KEY=VALUE`); may be repeated")
	f.BoolVar(&s.all, "all", false, "every node; needs --expect")
	f.Int32Var(&s.expect, "expect", 0, "how many (`N`) nodes --all must hit, or nothing is done")
}

// selector refuses whatever could hit more than was meant: a shell variable that is
// empty must not select everything.
func (s *selection) selector() (*centralv1.Selector, error) {
	out := &centralv1.Selector{Nodes: s.nodes, Sites: s.sites, Neighbors: s.neighbors, Services: s.services, All: s.all, Expect: s.expect}
	count := 0
	for _, names := range [][]string{s.nodes, s.sites, s.neighbors, s.services, s.labels} {
		count += len(names)
		for _, n := range names {
			if strings.TrimSpace(n) == "" {
				return nil, exit.Usagef("a name is empty: is a shell variable not set?")
			}
		}
	}
	for _, l := range s.labels {
		k, v, ok := strings.Cut(l, "=")
		if !ok || k == "" {
			return nil, exit.Usagef("--label %s: write KEY=VALUE", l)
		}
		if out.Labels == nil {
			out.Labels = map[string]string{}
		}
		if _, twice := out.Labels[k]; twice {
			return nil, exit.Usagef("--label %s: the key stands there twice", k)
		}
		out.Labels[k] = v
	}
	switch {
	case count == 0 && !s.all:
		return nil, exit.Usagef("it hits nothing: name it with --node, --site, --neighbor, --service or --label, or write --all --expect N")
	case s.all && s.expect < 1:
		return nil, exit.Usagef("--all needs --expect N, how many nodes you expect to hit")
	case s.expect != 0 && !s.all:
		return nil, exit.Usagef("--expect goes with --all; what is named needs none")
	}
	return out, nil
}

// days is a duration flag that knows days, too.
type days struct{ maintenance.Duration }

// String gives nothing where nothing was given.
func (d *days) String() string {
	if d.Duration == 0 {
		return ""
	}
	return d.Duration.String()
}

// Type names the kind of value in a flag's help.
func (d *days) Type() string { return "TIME" }

// Set reads 10m, 2h or 1d.
func (d *days) Set(s string) error {
	v, err := maintenance.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("write a time with its unit, such as 10m, 2h or 1d")
	}
	d.Duration = v
	return nil
}

func (g *group) addWindow() *cobra.Command {
	var s selection
	var y why
	var r centralv1.AddWindowRequest
	var lasts, lead days
	cmd := verb("add", "Make a window", "catchment maintenance add --node msk1 --start '2026-12-01 02:00' --zone Europe/Moscow --for 2h --lead 5m --reason 'new line card'",
		func(ctx context.Context, _ []string) error {
			var err error
			if r.Selector, err = s.selector(); err != nil {
				return err
			}
			switch {
			case r.Start == "":
				return exit.Usagef("--start is needed: now, 2026-12-01T02:00:00Z, or '2026-12-01 02:00' with --zone")
			case lasts.Duration == 0:
				return exit.Usagef("--for TIME is needed: every window ends by itself")
			}
			if err := y.need(); err != nil {
				return err
			}
			r.Duration, r.Lead, r.Reason, r.Ticket = length(lasts.Std()), length(lead.Std()), y.reason, y.ticket
			m, err := call(ctx, g, centralv1.FleetClient.AddWindow, &r)
			if err != nil {
				return spare(err, r.OverrideSafety, overrideFlag)
			}
			return g.added(m)
		})
	s.flags(cmd.Flags())
	y.flags(cmd.Flags(), true)
	f := cmd.Flags()
	f.StringVar(&r.Start, "start", "", "when (`WHEN`) the work begins: now, RFC 3339, or '2026-12-01 02:00' with --zone (needed)")
	f.StringVar(&r.Zone, "zone", "", "time `ZONE` of the start, such as Europe/Moscow")
	f.Var(&lasts, "for", "how long (`TIME`) the work lasts (needed)")
	f.Var(&lead, "lead", "how long (`TIME`) before the start clients are asked to leave")
	f.StringVar(&r.Rrule, "rrule", "", "how it recurs (`RULE`, RFC 5545), such as FREQ=WEEKLY;BYDAY=TU")
	f.BoolVar(&r.OverrideSafety, "override-safety", false, overrideUsage)
	return cmd
}

// added prints the id, which is what comes next, and to stderr what was understood:
// a wrong zone or a selector that hits too much is seen before it begins.
func (g *group) added(m *centralv1.AddWindowResponse) error {
	g.warn(m.GetWarnings())
	if g.format == output.Table {
		fmt.Fprintln(g.env.Stderr, output.OneLine(understood(m.GetWindow())))
	}
	return show(g, m.GetWindow(), func(w io.Writer, m *centralv1.Window) { fmt.Fprintln(w, m.GetId()) })
}

// manyNodes is from how many nodes on their number stands for their names.
const manyNodes = 5

// understood is a new window in a sentence.
func understood(m *centralv1.Window) string {
	hits := strings.Join(m.GetNodes(), ", ")
	if n := len(m.GetNodes()); n > manyNodes {
		hits = fmt.Sprintf("%d nodes", n)
	}
	out := fmt.Sprintf("hits %s", hits)
	if m.GetNextStart() != nil {
		out += fmt.Sprintf(" from %s to %s", clock(m.GetNextStart()), clock(m.GetNextEnd()))
	}
	if lead := m.GetLead().AsDuration(); lead > 0 && m.GetStartedNow() {
		out += fmt.Sprintf(", asking clients to leave in the first %s", maintenance.Duration(lead))
	} else if lead > 0 {
		out += fmt.Sprintf(", asking clients to leave %s before", maintenance.Duration(lead))
	}
	if m.GetRrule() != "" {
		out += ", and again by " + m.GetRrule()
	}
	return out + "; catchment maintenance show " + m.GetId() + " tells when it is safe to begin"
}

func (g *group) listWindows() *cobra.Command {
	var r centralv1.ListWindowsRequest
	cmd := verb("list", "The windows that run or are to come", "catchment maintenance list", func(ctx context.Context, _ []string) error {
		m, err := call(ctx, g, centralv1.FleetClient.ListWindows, &r)
		if err != nil {
			return err
		}
		return list(g, m.GetWindows(), windowsTable)
	})
	cmd.Flags().BoolVar(&r.All, "all", false, "also those that are over")
	return cmd
}

func windowsTable(w io.Writer, all []*centralv1.Window) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no windows")
		return
	}
	grid := output.Grid{Titles: []string{"WINDOW", "STATE", "START", "END", "RECURS", "FOR", "REASON", "TICKET", "BY"}}
	for _, m := range all {
		start, end := m.GetNextStart(), m.GetNextEnd()
		if start == nil {
			start, end = m.GetStart(), m.GetEnded()
		}
		grid.Row(cells(m.GetId(), m.GetState(), clock(start), clock(end), m.GetRrule(), whom(m.GetSelector()), m.GetReason(), m.GetTicket(), m.GetBy())...)
	}
	_ = grid.Write(w) // a buffer takes everything
}

func windowText(w io.Writer, m *centralv1.Window) {
	fmt.Fprintf(w, "%s  %s  %s\n", m.GetId(), m.GetState(), whom(m.GetSelector()))
	fmt.Fprintf(w, "  %s", m.GetReason())
	if m.GetTicket() != "" {
		fmt.Fprintf(w, "  (%s)", m.GetTicket())
	}
	fmt.Fprintf(w, "  by %s\n", m.GetBy())
	fmt.Fprintf(w, "  start %s  for %s  lead %s", clock(m.GetStart()), maintenance.Duration(m.GetDuration().AsDuration()), maintenance.Duration(m.GetLead().AsDuration()))
	if m.GetZone() != "" {
		fmt.Fprintf(w, "  zone %s", m.GetZone())
	}
	if m.GetRrule() != "" {
		fmt.Fprintf(w, "  recurs %s", m.GetRrule())
	}
	if m.GetOverrideSafety() {
		fmt.Fprint(w, "  in spite of the limits")
	}
	fmt.Fprintln(w)
	if m.GetNextStart() != nil {
		which := "next"
		if slices.Contains([]string{"draining", "running", "safe"}, m.GetState()) {
			which = "now"
		}
		fmt.Fprintf(w, "  %s %s to %s\n", which, clock(m.GetNextStart()), clock(m.GetNextEnd()))
	}
	if p := m.GetProvider(); p != nil {
		fmt.Fprintf(w, "  %s %s: %s, %s, circuits %s\n", p.GetName(), p.GetMaintenanceId(), p.GetStatus(), p.GetImpact(), strings.Join(p.GetObjects(), ", "))
		if len(p.GetLacks()) > 0 {
			fmt.Fprintf(w, "  the mail lacks %s\n", strings.Join(p.GetLacks(), ", "))
		}
	}
	if len(m.GetNodes()) > 0 {
		fmt.Fprintf(w, "  hits %s\n", strings.Join(m.GetNodes(), ", "))
	}
	grid := output.Grid{Indent: "  ", Titles: []string{"NODE", "PHASE", "DETAIL"}}
	for _, p := range m.GetProgress() {
		grid.Row(cells(p.GetNode(), p.GetPhase(), p.GetDetail())...)
	}
	_ = grid.Write(w) // a buffer takes everything
}

func (g *group) endWindow(use, short, example string, do func(context.Context, string, why) (*centralv1.Window, error)) *cobra.Command {
	var y why
	cmd := verb(use, short, example, func(ctx context.Context, args []string) error {
		m, err := do(ctx, args[0], y)
		if err != nil {
			return err
		}
		return show(g, m, windowText)
	})
	y.flags(cmd.Flags(), false)
	return cmd
}

func (g *group) importWindows() *cobra.Command {
	return verb("import FILE", "Make proposals of a provider's mail or calendar (MAINTNOTE)", "catchment maintenance import mail.eml -o json", func(ctx context.Context, args []string) error {
		var content []byte
		var err error
		if args[0] == "-" {
			content, err = io.ReadAll(g.env.Stdin)
		} else {
			content, err = os.ReadFile(args[0])
		}
		if err != nil {
			return exit.Inputf("%w", err)
		}
		m, err := call(ctx, g, centralv1.FleetClient.ImportWindows, &centralv1.ImportWindowsRequest{Name: filepath.Base(args[0]), Content: content})
		if err != nil {
			return err
		}
		return show(g, m, importText)
	})
}

func importText(w io.Writer, m *centralv1.ImportWindowsResponse) {
	for _, p := range m.GetProposals() {
		windowText(w, p)
		fmt.Fprintf(w, "  a proposal: catchment maintenance confirm %s --reason TEXT\n", p.GetId())
	}
	for _, p := range m.GetProblems() {
		fmt.Fprintf(w, "%s:%d: %s", p.GetFile(), p.GetLine(), p.GetReason())
		if p.GetText() != "" {
			fmt.Fprintf(w, " (%s)", p.GetText())
		}
		fmt.Fprintln(w)
	}
}

func (g *group) confirmWindow() *cobra.Command {
	var y why
	var lead days
	var override bool
	cmd := verb("confirm ID", "Make a window of a proposal", "catchment maintenance confirm w-abcdefgh --reason 'agreed with the provider'", func(ctx context.Context, args []string) error {
		if err := y.need(); err != nil {
			return err
		}
		m, err := call(ctx, g, centralv1.FleetClient.ConfirmWindow, &centralv1.ConfirmWindowRequest{Id: args[0], Lead: length(time.Duration(lead.Duration)),
			Reason: y.reason, Ticket: y.ticket, OverrideSafety: override})
		if err != nil {
			return spare(err, override, overrideFlag)
		}
		return g.added(m)
	})
	y.flags(cmd.Flags(), true)
	cmd.Flags().Var(&lead, "lead", "how long (`TIME`) before the start clients are asked to leave")
	cmd.Flags().BoolVar(&override, "override-safety", false, overrideUsage)
	return cmd
}
