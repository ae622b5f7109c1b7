package edgecmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

func (g *group) why() *cobra.Command {
	var (
		limit      int32
		transcript string
	)
	cmd := &cobra.Command{
		Use:               "why [SERVICE]",
		Short:             "The last decisions, newest first, and what led to them",
		Example:           "  catchment edge why video -n 5",
		Args:              atMostOne,
		ValidArgsFunction: g.completeServices,
		RunE: func(cmd *cobra.Command, args []string) error {
			if transcript != "" {
				return g.transcript(cmd, transcript, args)
			}
			if limit < 1 {
				return exit.Usagef("-n %d: write how many decisions to show, 1 or more", limit)
			}
			request := &edgev1.WhyRequest{Limit: limit}
			if len(args) == 1 {
				if args[0] == "" {
					return exit.Usagef("the name of the service is empty: leave it out for all services")
				}
				request.Service = args[0]
			}
			answer, err := call(cmd.Context(), g, edgev1.EdgeClient.Why, request)
			if err != nil {
				return err
			}
			return show(g, answer, func(w io.Writer, m *edgev1.WhyResponse) error { return g.whyTable(w, m, int(limit)) })
		},
	}
	cmd.Flags().Int32VarP(&limit, "limit", "n", 20, "how many (`N`) decisions to show")
	cmd.Flags().StringVar(&transcript, "transcript", "", "write what the load controller was given lately to a new `FILE`, for replaying it; - is stdout")
	_ = cmd.MarkFlagFilename("transcript")
	return cmd
}

// transcript writes what the node's policy was given. An existing file is left as
// it is.
func (g *group) transcript(cmd *cobra.Command, file string, args []string) error {
	if len(args) > 0 || cmd.Flags().Changed("limit") {
		return exit.Usagef("why --transcript is of the whole node: leave the service and -n out")
	}
	answer, err := call(cmd.Context(), g, edgev1.EdgeClient.Transcript, &edgev1.TranscriptRequest{})
	if err != nil {
		return err
	}
	if file == "-" {
		_, err := g.env.Stdout.Write(answer.GetContent())
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return exit.Inputf("writing the transcript: %w", err)
	}
	_, err = f.Write(answer.GetContent())
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing the transcript: %w", err)
	}
	fmt.Fprintf(g.env.Stderr, "the transcript is in %s\n", file)
	return nil
}

// whyTable shows the newest decisions of both kinds together.
func (g *group) whyTable(w io.Writer, m *edgev1.WhyResponse, limit int) error {
	var out bytes.Buffer
	all := merged(m)
	for _, d := range all[:min(limit, len(all))] {
		if out.Len() > 0 {
			out.WriteByte('\n')
		}
		d.write(&out, g.env.Now())
	}
	if out.Len() == 0 {
		out.WriteString("no decisions\n")
	}
	_, err := w.Write(out.Bytes())
	return err
}

// entry is one decision of either kind.
type entry struct {
	at               *timestamppb.Timestamp
	title            string
	trigger, details string
	inputs           []string
}

// merged gives the decisions of both kinds, newest first.
func merged(m *edgev1.WhyResponse) []entry {
	var out []entry
	for _, d := range m.GetDecisions() {
		out = append(out, serviceEntry(d))
	}
	for _, d := range m.GetLoad() {
		out = append(out, loadEntry(d))
	}
	slices.SortStableFunc(out, func(a, b entry) int { return b.at.AsTime().Compare(a.at.AsTime()) })
	return out
}

func serviceEntry(d *edgev1.Decision) entry {
	subject := d.GetService()
	if d.GetNeighbor() != "" {
		subject += " at " + d.GetNeighbor()
	}
	if d.GetFamily() != "" {
		subject += ", " + d.GetFamily()
	}
	from := d.GetFrom()
	if from == "" {
		from = "nothing"
	}
	return entry{d.GetAt(), subject + ": " + from + " -> " + d.GetTo(), d.GetTrigger(), d.GetDetail(), d.GetInputs()}
}

func loadEntry(d *edgev1.LoadDecision) entry {
	title := "link " + d.GetLink()
	if d.GetNeighbor() != "" {
		title = fmt.Sprintf("load at %s: rung %d -> %d", d.GetNeighbor(), d.GetFrom(), d.GetTo())
		if d.GetFrom() == d.GetTo() {
			title = fmt.Sprintf("load at %s: stays on rung %d", d.GetNeighbor(), d.GetTo())
		}
	}
	trigger := "no figure"
	if d.Utilization != nil {
		trigger = percent(d.GetUtilization()) + " used"
		if d.GetShed() > 0 {
			trigger += ", " + percent(d.GetShed()) + " should go elsewhere"
		}
	}
	return entry{d.GetAt(), title, trigger, d.GetDetail(), d.GetInputs()}
}

func (d entry) write(out *bytes.Buffer, now time.Time) {
	at := "unknown"
	if d.at != nil {
		at = d.at.AsTime().Format("2006-01-02T15:04:05.000Z07:00") + " (" + ago(now, d.at) + " ago)"
	}
	fmt.Fprintf(out, "%s  %s\n", at, d.title)
	for _, l := range []struct{ name, text string }{{"trigger", d.trigger}, {"detail", d.details}} {
		if strings.TrimSpace(l.text) != "" {
			fmt.Fprintf(out, "  %-8s %s\n", l.name, l.text)
		}
	}
	for i, input := range d.inputs {
		name := ""
		if i == 0 {
			name = "inputs"
		}
		fmt.Fprintf(out, "  %-8s %s\n", name, input)
	}
}
