package edgecmd

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

// override is drain, withdraw or announce.
func (g *group) override(verb, short, example string) *cobra.Command {
	var (
		sel        selection
		duration   time.Duration
		evenIfDead bool
		safety     bool
	)
	cmd := &cobra.Command{
		Use:   verb + " SERVICE... | --all --expect N",
		Short: short,
		Long: short + ". This stands, over restarts too, until `catchment edge auto`\n" +
			"lifts it or the time of --for is over.",
		Example:           example,
		ValidArgsFunction: g.completeServices,
		RunE: func(cmd *cobra.Command, args []string) error {
			selector, err := sel.selector(cmd, args)
			if err != nil {
				return err
			}
			request := &edgev1.SetOverrideRequest{
				Selector: selector, Verb: verb, Reason: sel.reason, EvenIfDead: evenIfDead, OverrideSafety: safety}
			if request.Duration, err = positive(cmd, "for", duration); err != nil {
				return err
			}
			answer, err := call(cmd.Context(), g, edgev1.EdgeClient.SetOverride, request)
			if err != nil {
				return err
			}
			return show(g, answer, func(w io.Writer, m *edgev1.OverrideResponse) error {
				return g.overrideTable(w, m, "in force at "+services(m.GetChanged()))
			})
		},
	}
	sel.flags(g, cmd)
	cmd.Flags().DurationVar(&duration, "for", 0, "how long (`TIME`), like 30m (left out: until it is lifted)")
	if verb == "announce" {
		cmd.Flags().BoolVar(&evenIfDead, "even-if-dead", false, "over a hard failure too")
	} else {
		cmd.Flags().BoolVar(&safety, "override-safety", false, "in spite of the fleet's limits, or with the centre away; needs --for of 24h at most, and is audited")
	}
	return cmd
}

func (g *group) auto() *cobra.Command {
	var sel selection
	cmd := &cobra.Command{
		Use:               "auto SERVICE... | --all --expect N",
		Short:             "Lift overrides: the node decides by itself again",
		Example:           "  catchment edge auto video --reason 'the disk is replaced'",
		ValidArgsFunction: g.completeServices,
		RunE: func(cmd *cobra.Command, args []string) error {
			selector, err := sel.selector(cmd, args)
			if err != nil {
				return err
			}
			answer, err := call(cmd.Context(), g, edgev1.EdgeClient.ClearOverride,
				&edgev1.ClearOverrideRequest{Selector: selector, Reason: sel.reason})
			if err != nil {
				return err
			}
			return show(g, answer, func(w io.Writer, m *edgev1.OverrideResponse) error {
				return g.overrideTable(w, m, autoText(m, args))
			})
		},
	}
	sel.flags(g, cmd)
	return cmd
}

// services is how many were hit, which is what the node counts.
func services(n int32) string {
	if n == 1 {
		return "1 service"
	}
	return fmt.Sprintf("%d services", n)
}

// autoText tells what is in force where overrides were lifted; named are the
// services, none for all.
func autoText(m *edgev1.OverrideResponse, named []string) string {
	switch {
	case len(m.GetOverrides()) > 0:
		return "still in force"
	case len(named) == 0:
		return "no override is in force"
	}
	return "no override is in force at " + strings.Join(named, ", ")
}

// selection is what all verbs that change something ask for.
type selection struct {
	neighbors []string
	all       bool
	expect    int32
	reason    string
}

func (s *selection) flags(g *group, cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&s.neighbors, "neighbor", nil, "only at the neighbour `NAME`; may be repeated (left out: at all)")
	f.BoolVar(&s.all, "all", false, "every service; needs --expect")
	f.Int32Var(&s.expect, "expect", 0, "how many (`N`) services --all must hit, or nothing is done")
	f.StringVar(&s.reason, "reason", "", "why (`TEXT`), for those who look later (needed)")
	_ = cmd.RegisterFlagCompletionFunc("neighbor", g.completeNeighbors)
}

// selector refuses whatever could hit more than was meant: a shell variable that
// is empty must not select everything.
func (s *selection) selector(cmd *cobra.Command, services []string) (*edgev1.Selector, error) {
	verb := cmd.Name()
	expects := cmd.Flags().Changed("expect")
	switch {
	case len(services) == 0 && !s.all:
		return nil, exit.Usagef("%s hits nothing without a service: write %s SERVICE --reason TEXT, or --all --expect N for all of them", verb, verb)
	case len(services) > 0 && s.all:
		return nil, exit.Usagef("%s: name services or write --all, not both", verb)
	case s.all && !expects:
		return nil, exit.Usagef("%s --all needs --expect N, how many services you expect to hit", verb)
	case expects && !s.all:
		return nil, exit.Usagef("%s: --expect goes with --all; services that are named need none", verb)
	case s.all && s.expect < 1:
		return nil, exit.Usagef("%s --expect %d: write how many services you expect to hit, 1 or more", verb, s.expect)
	case hasBlank(services):
		return nil, exit.Usagef("%s: the name of a service is empty: is a shell variable not set?", verb)
	case hasBlank(s.neighbors):
		return nil, exit.Usagef("%s --neighbor: the name is empty: is a shell variable not set?", verb)
	case strings.TrimSpace(s.reason) == "":
		return nil, exit.Usagef("%s needs --reason TEXT: those who look later want to know why", verb)
	}
	return &edgev1.Selector{Services: services, Neighbors: s.neighbors, All: s.all, Expect: s.expect}, nil
}

func hasBlank(names []string) bool {
	for _, n := range names {
		if strings.TrimSpace(n) == "" {
			return true
		}
	}
	return false
}

// positive reads a duration flag: nil when it was not given.
func positive(cmd *cobra.Command, flag string, d time.Duration) (*durationpb.Duration, error) {
	switch {
	case !cmd.Flags().Changed(flag):
		return nil, nil
	case d <= 0:
		return nil, exit.Usagef("--%s %s: write a duration over zero, like 30m", flag, d)
	}
	return durationpb.New(d), nil
}

// overrideTable lists what is in force below a line that says where.
func (g *group) overrideTable(w io.Writer, m *edgev1.OverrideResponse, title string) error {
	var out bytes.Buffer
	fmt.Fprintln(&out, title)
	grid := output.Grid{Titles: []string{"SERVICE", "NEIGHBOR", "OVERRIDE", "LEFT", "BY", "REASON"}}
	for _, o := range m.GetOverrides() {
		neighbor, verb, remaining := o.GetNeighbor(), o.GetVerb(), "until lifted"
		if neighbor == "" {
			neighbor = "all"
		}
		if o.GetEvenIfDead() {
			verb += " even if dead"
		}
		if o.GetUntil() != nil {
			remaining = left(g.env.Now(), o.GetUntil())
		}
		grid.Row(plain(o.GetService()), plain(neighbor), plain(verb), plain(remaining), plain(o.GetBy()), plain(o.GetReason()))
	}
	_ = grid.Write(&out) // a buffer takes everything
	_, err := w.Write(out.Bytes())
	return err
}
