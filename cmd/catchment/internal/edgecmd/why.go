package edgecmd

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

func (g *group) why() *cobra.Command {
	var limit int32
	cmd := &cobra.Command{
		Use:               "why [SERVICE]",
		Short:             "The last decisions, newest first, and what led to them",
		Example:           "  catchment edge why video -n 5",
		Args:              atMostOne,
		ValidArgsFunction: g.completeServices,
		RunE: func(cmd *cobra.Command, args []string) error {
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
			return show(g, answer, g.whyTable)
		},
	}
	cmd.Flags().Int32VarP(&limit, "limit", "n", 20, "how many (`N`) decisions to show")
	return cmd
}

func (g *group) whyTable(w io.Writer, m *edgev1.WhyResponse) error {
	var out bytes.Buffer
	for i, d := range m.GetDecisions() {
		if i > 0 {
			out.WriteByte('\n')
		}
		decision(&out, d, g.env.Now())
	}
	if len(m.GetDecisions()) == 0 {
		out.WriteString("no decisions\n")
	}
	_, err := w.Write(out.Bytes())
	return err
}

func decision(out *bytes.Buffer, d *edgev1.Decision, now time.Time) {
	subject := d.GetService()
	if d.GetNeighbor() != "" {
		subject += " at " + d.GetNeighbor()
	}
	if d.GetFamily() != "" {
		subject += ", " + d.GetFamily()
	}
	at := "unknown"
	if d.GetAt() != nil {
		at = d.GetAt().AsTime().Format("2006-01-02T15:04:05.000Z07:00") + " (" + ago(now, d.GetAt()) + " ago)"
	}
	from := d.GetFrom()
	if from == "" {
		from = "nothing"
	}
	fmt.Fprintf(out, "%s  %s: %s -> %s\n", at, subject, from, d.GetTo())
	for _, l := range []struct{ name, text string }{{"trigger", d.GetTrigger()}, {"detail", d.GetDetail()}} {
		if strings.TrimSpace(l.text) != "" {
			fmt.Fprintf(out, "  %-8s %s\n", l.name, l.text)
		}
	}
	for i, input := range d.GetInputs() {
		name := ""
		if i == 0 {
			name = "inputs"
		}
		fmt.Fprintf(out, "  %-8s %s\n", name, input)
	}
}
