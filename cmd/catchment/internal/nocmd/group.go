package nocmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/centre"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

// group is what all verbs share.
type group struct {
	*centre.Client
	env    *cli.Env
	format output.Format
}

// New returns the commands, which speak to the centre through client.
func New(env *cli.Env, client *centre.Client) []*cobra.Command {
	g := &group{Client: client, env: env, format: output.Table}
	out := []*cobra.Command{g.node(), g.maintenance(), g.fleet(), g.audit(), g.central(), g.pki(), g.web()}
	for _, cmd := range out[:3] {
		g.complete(cmd)
	}
	return out
}

// holder is a command that holds others, whose answers have formats.
func (g *group) holder(name, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := cli.Group(name, short, long, commands...)
	cmd.PersistentFlags().VarP(&g.format, "output", "o", "how to print")
	// It fails for a flag that does not exist only.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(output.Formats(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// verb is a command with its arguments, whose names stand in use: NODE VALUE.
func verb(use, short, example string, run func(ctx context.Context, args []string) error) *cobra.Command {
	names := strings.Fields(use)[1:]
	return &cobra.Command{Use: use, Short: short, Example: "  " + example,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case strings.HasSuffix(use, "...") && len(args) >= len(names):
			case len(args) < len(names):
				return exit.Usagef("%s needs %s", cmd.CommandPath(), strings.TrimSuffix(names[len(args)], "..."))
			case len(args) > len(names):
				return exit.Usagef("%s takes %d arguments: what is %q?", cmd.CommandPath(), len(names), args[len(names)])
			}
			for i, a := range args {
				if strings.TrimSpace(a) == "" {
					return exit.Usagef("%s: argument %d is empty: is a shell variable not set?", cmd.CommandPath(), i+1)
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), args) },
	}
}

// why are the flags of every change.
type why struct{ reason, ticket string }

func (w *why) flags(f *pflag.FlagSet, needed bool) {
	usage := "why (`TEXT`), for those who look later"
	if needed {
		usage += " (needed)"
	}
	f.StringVar(&w.reason, "reason", "", usage)
	f.StringVar(&w.ticket, "ticket", "", "number (`T`) of a ticket")
}

// need refuses a change that nobody could explain later.
func (w *why) need() error {
	if strings.TrimSpace(w.reason) == "" {
		return exit.Usagef("--reason TEXT is needed: those who look later want to know why")
	}
	return nil
}

const overrideUsage = "in spite of the fleet's limits; audited"

// overrideFlag is what a refusal names as the way past the limits.
const overrideFlag = "--override-safety"

// spare adds to a refusal how it is overridden, as a node's own refusals do.
func spare(err error, overridden bool, flags string) error {
	var e *exit.Error
	if overridden || !errors.As(err, &e) || e.Code != exit.Refused {
		return err
	}
	return &exit.Error{Code: exit.Refused, Err: fmt.Errorf("%w; %s does it all the same, and is audited", e.Err, flags)}
}

// show writes an answer in the format that was asked for.
func show[M proto.Message](g *group, m M, table func(w io.Writer, m M)) error {
	var err error
	switch g.format {
	case output.JSON:
		err = output.WriteJSON(g.env.Stdout, m)
	case output.YAML:
		err = output.WriteYAML(g.env.Stdout, m)
	default:
		var out bytes.Buffer
		table(&out, output.Printable(m))
		_, err = g.env.Stdout.Write(out.Bytes())
	}
	return written(err)
}

// list writes many.
func list[M proto.Message](g *group, all []M, table func(w io.Writer, all []M)) error {
	if g.format != output.Table {
		return written(output.WriteList(g.env.Stdout, g.format, all))
	}
	clean := make([]M, len(all))
	for i, m := range all {
		clean[i] = output.Printable(m)
	}
	var out bytes.Buffer
	table(&out, clean)
	_, err := g.env.Stdout.Write(out.Bytes())
	return written(err)
}

func written(err error) error {
	if err != nil {
		return fmt.Errorf("the centre has answered, but the answer cannot be written: %w", err)
	}
	return nil
}

// warn writes what the centre has to say beside its answer.
func (g *group) warn(texts []string) {
	for _, t := range texts {
		fmt.Fprintln(g.env.Stderr, "warning:", output.OneLine(t))
	}
}

// length is a duration flag in the API; nil where it was not given.
func length(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}
