package labcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
	"github.com/catchment-bgp/catchment/lab/clab"
	"github.com/catchment-bgp/catchment/lab/runner"
)

// listed is a node in the JSON of `lab list`, a contract with scripts.
type listed struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	State string `json:"state"`
}

func (l *lab) list() *cobra.Command {
	format := output.Simple(output.Table)
	c := &cobra.Command{
		Use: "list [FILE]", Short: "Show the nodes of a lab, or all labs",
		Example: "  catchment lab list lab/topologies/two-upstreams.clab.yml -o json",
		Long:    "list shows the nodes of a lab with their state: waiting (for interfaces and addresses),\nrunning, stopped, restarting or ended. Without a FILE it shows all labs of this machine.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Usagef("%s takes one FILE.clab.yml at most", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if l.runtime == namespaces {
				if err := runner.Root(); err != nil {
					return err
				}
			}
			if len(args) == 0 {
				return l.labs(format == "json")
			}
			t, err := l.load(args[0])
			if err != nil {
				return err
			}
			if l.runtime == docker {
				return l.containerlab(c.Context(), "inspect", "-t", t.File, "--format", format.String())
			}
			return l.print(t, format == "json")
		},
	}
	c.Flags().VarP(&format, "output", "o", "how to print")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (l *lab) print(t *clab.Topology, asJSON bool) error {
	nodes := []listed{}
	for _, n := range runner.List(t) {
		nodes = append(nodes, listed{n.Name, n.Kind, n.State})
	}
	if asJSON {
		return l.json(struct {
			Nodes []listed `json:"nodes"`
		}{nodes})
	}
	g := output.Grid{Titles: []string{"NODE", "KIND", "STATE"}}
	for _, n := range nodes {
		g.Row(output.Cell{Text: n.Name}, output.Cell{Text: n.Kind}, output.Cell{Text: n.State})
	}
	return g.Write(l.env.Stdout)
}

// labs shows what runs on this machine.
func (l *lab) labs(asJSON bool) error {
	type one struct {
		Name  string `json:"name"`
		Nodes int    `json:"nodes"`
		File  string `json:"file"`
	}
	all := []one{}
	for _, n := range runner.Labs() {
		if len(all) == 0 || all[len(all)-1].Name != n.Lab {
			all = append(all, one{Name: n.Lab, File: n.File})
		}
		all[len(all)-1].Nodes++
	}
	if asJSON {
		return l.json(struct {
			Labs []one `json:"labs"`
		}{all})
	}
	if len(all) == 0 {
		return l.say("no lab runs on this machine")
	}
	g := output.Grid{Titles: []string{"LAB", "NODES", "FILE"}}
	for _, o := range all {
		g.Row(output.Cell{Text: o.Name}, output.Cell{Text: fmt.Sprint(o.Nodes)}, output.Cell{Text: o.File})
	}
	return g.Write(l.env.Stdout)
}

func (l *lab) json(v any) error {
	e := json.NewEncoder(l.env.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// say writes a message for people.
func (l *lab) say(format string, args ...any) error {
	_, err := fmt.Fprintf(l.env.Stderr, format+"\n", args...)
	return err
}

// containerlab hands a topology to containerlab.
func (l *lab) containerlab(ctx context.Context, args ...string) error {
	if _, err := exec.LookPath("containerlab"); err != nil {
		return fmt.Errorf("--runtime docker needs containerlab, which is not on the PATH (https://containerlab.dev/install/); without the flag no container is needed")
	}
	return l.run(ctx, "containerlab", args...)
}

// run runs a program in place of this one: its streams and its exit code are ours.
func (l *lab) run(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = l.env.Stdin, l.env.Stdout, l.env.Stderr
	err := cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() > 0 {
		return exit.Silent(ended.ExitCode())
	}
	return err
}
