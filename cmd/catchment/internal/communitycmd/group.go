package communitycmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

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
	from   []string
}

// New returns the command `community`, which reads the fleet's tags through client.
func New(env *cli.Env, client *centre.Client) *cobra.Command {
	g := &group{Client: client, env: env, format: output.Table}
	return cli.Group("community", "What communities mean, in both directions",
		`community reads what networks document of their communities, explains values and finds
the value that gets something done. --from names the documents: whatever
"catchment community import" reads, and "central" for the fleet's tags. Without --from
those tags are all there is.`,
		g.diff(), g.explain(), g.export(), g.find(), g.imports(), g.lint(), g.list(), g.origin(), g.verify())
}

// verb is a command with at most most arguments; most < 0: any number.
func verb(use, short, long, example string, most int, run func(ctx context.Context, args []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Long: long, Example: example,
		Args: func(cmd *cobra.Command, args []string) error {
			if most >= 0 && len(args) > most {
				return exit.Usagef("%s takes %d arguments at most: what is %q?", cmd.CommandPath(), most, args[most])
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

// printed gives a command the flag that says how to print.
func (g *group) printed(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().VarP(&g.format, "output", "o", "how to print")
	// It fails for a flag that does not exist only.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(output.Formats(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// documented gives a command the flag that names documents.
func (g *group) documented(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringSliceVar(&g.from, "from", nil, "the documents: `FILE,...`; central: the fleet's tags (left out: those alone)")
	return cmd
}

// show writes an answer in the format that was asked for.
func (g *group) show(v any, table func(w io.Writer)) error {
	if g.format != output.Table {
		return written(output.WriteValue(g.env.Stdout, g.format, v))
	}
	var out bytes.Buffer
	table(&out)
	_, err := g.env.Stdout.Write(out.Bytes())
	return written(err)
}

func written(err error) error {
	if err != nil {
		return fmt.Errorf("the answer cannot be written: %w", err)
	}
	return nil
}

// say writes a line beside the answer.
func (g *group) say(format string, args ...any) {
	fmt.Fprintln(g.env.Stderr, output.OneLine(fmt.Sprintf(format, args...)))
}

// number reads an AS number with or without AS before it.
func number(flag, text string) (uint32, error) {
	digits := text
	if len(text) > 2 && strings.EqualFold(text[:2], "AS") {
		digits = text[2:]
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || n == 0 {
		return 0, exit.Usagef("%s %q is no AS number; write for example 65001 or AS65001", flag, text)
	}
	return uint32(n), nil
}

// numbers reads several AS numbers.
func numbers(flag string, texts []string) ([]uint32, error) {
	var out []uint32
	for _, text := range texts {
		n, err := number(flag, text)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}
