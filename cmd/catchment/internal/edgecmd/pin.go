package edgecmd

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

func (g *group) pin() *cobra.Command {
	var (
		reason   string
		duration time.Duration
		override bool
	)
	cmd := &cobra.Command{
		Use:   "pin NEIGHBOR RUNG",
		Short: "Keep a neighbour on a rung of its ladder, whatever the load",
		Long: "pin keeps a neighbour on a rung; 0 is as configured. This stands, over restarts too,\n" +
			"until `catchment edge unpin` lifts it or the time of --for is over. What a drain, a\n" +
			"withdrawal or a failure asks for goes further.",
		Example:           "  catchment edge pin transit-a 2 --reason 'loss behind transit-a' --for 2h",
		ValidArgsFunction: g.completeNeighbor,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return exit.Usagef("pin takes a neighbour and a rung: write pin NEIGHBOR RUNG --reason TEXT")
			}
			rung, err := strconv.ParseInt(args[1], 10, 32)
			if err != nil || rung < 0 {
				return exit.Usagef("%q is not a rung: write 0 for as configured, 1 for the first step of the ladder", args[1])
			}
			request := &edgev1.SetPinRequest{Neighbor: args[0], Rung: int32(rung), Reason: reason, OverrideSafety: override}
			if err := named(cmd, args[0], reason); err != nil {
				return err
			}
			if request.Duration, err = positive(cmd, "for", duration); err != nil {
				return err
			}
			answer, err := call(cmd.Context(), g, edgev1.EdgeClient.SetPin, request)
			if err != nil {
				return err
			}
			return show(g, answer, g.pinTable)
		},
	}
	cmd.Flags().DurationVar(&duration, "for", 0, "how long (`TIME`), like 2h (left out: until it is lifted)")
	cmd.Flags().BoolVar(&override, "override-safety", false, "a rung that load may not take, too: one that withdraws, or for which others may")
	reasonFlag(cmd, &reason)
	return cmd
}

func (g *group) unpin() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:               "unpin NEIGHBOR",
		Short:             "Let the load controller decide on a neighbour again",
		Example:           "  catchment edge unpin transit-a --reason 'the loss is gone'",
		ValidArgsFunction: g.completeNeighbor,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("unpin takes one neighbour: write unpin NEIGHBOR --reason TEXT")
			}
			if err := named(cmd, args[0], reason); err != nil {
				return err
			}
			answer, err := call(cmd.Context(), g, edgev1.EdgeClient.ClearPin,
				&edgev1.ClearPinRequest{Neighbor: args[0], Reason: reason})
			if err != nil {
				return err
			}
			return show(g, answer, g.pinTable)
		},
	}
	reasonFlag(cmd, &reason)
	return cmd
}

func reasonFlag(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(reason, "reason", "", "why (`TEXT`), for those who look later (needed)")
}

// named refuses what a shell variable that is not set leaves of a command.
func named(cmd *cobra.Command, neighbor, reason string) error {
	switch {
	case strings.TrimSpace(neighbor) == "":
		return exit.Usagef("%s: the name of the neighbour is empty: is a shell variable not set?", cmd.Name())
	case strings.TrimSpace(reason) == "":
		return exit.Usagef("%s needs --reason TEXT: those who look later want to know why", cmd.Name())
	}
	return nil
}

// pinTable lists all pins in force.
func (g *group) pinTable(w io.Writer, m *edgev1.PinResponse) error {
	var out bytes.Buffer
	switch {
	case !m.GetChanged():
		fmt.Fprintln(&out, "nothing was pinned there")
	case len(m.GetPins()) == 0:
		fmt.Fprintln(&out, "no neighbour is pinned")
	}
	grid := output.Grid{Titles: []string{"NEIGHBOR", "RUNG", "LEFT", "BY", "REASON"}}
	for _, p := range m.GetPins() {
		remaining := "until lifted"
		if p.GetUntil() != nil {
			remaining = left(g.env.Now(), p.GetUntil())
		}
		grid.Row(plain(p.GetNeighbor()), plain(strconv.Itoa(int(p.GetRung()))), plain(remaining), plain(p.GetBy()), plain(p.GetReason()))
	}
	_ = grid.Write(&out) // a buffer takes everything
	_, err := w.Write(out.Bytes())
	return err
}

// pinText names a pin without the time that is left.
func pinText(p *edgev1.Pin) string {
	text := fmt.Sprintf("%s on rung %d", p.GetNeighbor(), p.GetRung())
	if p.GetUntil() != nil {
		text += " until " + clock(p.GetUntil())
	}
	if p.GetBy() != "" {
		text += " by " + p.GetBy()
	}
	return text + ": " + p.GetReason()
}
