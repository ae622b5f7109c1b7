// Package labcmd is `catchment lab`: whole internets of real routers on one machine.
//
// In go containerlab's topology files; out come running nodes, what they say, and
// tables or JSON of them. With `--runtime docker` the file is handed to containerlab
// instead. The commands change nothing of the machine but the lab that is named.
package labcmd

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/lab/clab"
	"github.com/catchment-bgp/catchment/lab/runner"
)

// The runtimes.
const (
	namespaces = "namespaces"
	docker     = "docker"
)

// lab holds what all commands share.
type lab struct {
	env     *cli.Env
	runtime string
	options func() (runner.Options, error)
}

// New returns the command `lab`.
func New(env *cli.Env) *cobra.Command {
	return newLab(env, options)
}

func newLab(env *cli.Env, options func() (runner.Options, error)) *cobra.Command {
	l := &lab{env: env, runtime: namespaces, options: options}
	group := cli.Group("lab", "Run topologies of real routers on this machine",
		"lab starts containerlab topologies of real routers and catchment nodes, each node in\nnamespaces of its own, and asks them. It needs root; nothing runs beside the nodes.",
		l.up(), l.down(), l.exec(), l.list(), l.lg(l.nodesOf), l.graph(l.nodesOf), l.init())
	for _, c := range group.Commands() {
		if c.ValidArgsFunction == nil && strings.Contains(c.Use, "FILE") {
			c.ValidArgsFunction = l.complete
		}
	}
	group.PersistentFlags().StringVar(&l.runtime, "runtime", l.runtime, "who makes the nodes: `namespaces|docker` (docker: containerlab does)")
	return group
}

// complete proposes files for the first argument, and the topology's nodes where one is
// to be named.
func (l *lab) complete(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	switch {
	case len(args) == 0:
		return []string{"yml", "yaml"}, cobra.ShellCompDirectiveFilterFileExt
	case len(args) == 1 && strings.Contains(c.Use, "NODE"):
		if t, err := l.load(args[0]); err == nil { // a completion has nowhere to say why not
			return names(t), cobra.ShellCompDirectiveNoFileComp
		}
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// oneFile refuses any other number of arguments than one file.
func oneFile(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return exit.Usagef("%s needs one FILE.clab.yml", c.CommandPath())
	}
	return nil
}

// load reads the topology, and refuses a runtime that there is not.
func (l *lab) load(file string) (*clab.Topology, error) {
	if l.runtime != namespaces && l.runtime != docker {
		return nil, exit.Usagef("--runtime %s: write %s or %s", l.runtime, namespaces, docker)
	}
	t, err := clab.Load(file)
	if err != nil {
		return nil, exit.Inputf("%w", err)
	}
	return t, nil
}

// options says how this program starts nodes.
func options() (runner.Options, error) {
	self, err := os.Executable()
	if err != nil {
		return runner.Options{}, err
	}
	return runner.Options{Init: []string{self, "lab", initName}, Programs: programs(self)}, nil
}

// programs is the folder of this program if catchment-edge lies beside it: nodes find both there.
func programs(self string) string {
	dir := filepath.Dir(self)
	if _, err := os.Stat(filepath.Join(dir, "catchment-edge")); err != nil {
		return ""
	}
	return dir
}

const initName = "node-init"

// init is the first process of a node, for the runner only.
func (l *lab) init() *cobra.Command {
	return &cobra.Command{Use: initName, Hidden: true, Args: cli.NoArgs, RunE: func(*cobra.Command, []string) error { return runner.Init() }}
}

func (l *lab) up() *cobra.Command {
	wait := time.Minute
	c := &cobra.Command{
		Use: "up FILE", Short: "Make a lab and run its nodes", Args: oneFile,
		Long:    "up makes the nodes and the links of the topology, runs the commands of exec: and waits until\nall daemons run and all BGP sessions are up. It does not wait for those of a node that keeps its\ndaemon away (/run/lab/hold). When a node, a link or a command fails, nothing is left of the lab;\nwhen a daemon does, the lab is there to look at.",
		Example: "  catchment lab up lab/topologies/two-upstreams.clab.yml",
		RunE: func(c *cobra.Command, args []string) error {
			t, err := l.load(args[0])
			if err != nil {
				return err
			}
			if l.runtime == docker {
				return l.containerlab(c.Context(), "deploy", "-t", t.File)
			}
			o, err := l.options()
			if err != nil {
				return err
			}
			if err := runner.Up(c.Context(), t, o); err != nil {
				return err
			}
			began := time.Now()
			if wait > 0 {
				if err := runner.AwaitRunning(c.Context(), t, wait); err != nil {
					return err
				}
			}
			for _, w := range runner.Warnings(t) {
				if err := l.say("%s", w); err != nil {
					return err
				}
			}
			if left := wait - time.Since(began); left > 0 {
				if err := l.awaitSessions(c.Context(), t, left.Round(time.Second)); err != nil {
					return err
				}
			}
			return l.print(t, false)
		},
	}
	c.Flags().DurationVar(&wait, "wait", wait, "how long daemons and sessions may take to come up (`DURATION`); 0 does not wait")
	return c
}

func (l *lab) down() *cobra.Command {
	return &cobra.Command{
		Use: "down FILE", Short: "End a lab, and leave nothing of it", Args: oneFile,
		Example: "  catchment lab down lab/topologies/two-upstreams.clab.yml",
		Long:    "down ends the nodes of the lab, also those that the topology has no more. When FILE is gone or\nbroken since, the lab that was made from it is ended.",
		RunE: func(c *cobra.Command, args []string) error {
			t, err := l.load(args[0])
			if err == nil && l.runtime == docker {
				return l.containerlab(c.Context(), "destroy", "-t", t.File, "--cleanup")
			}
			made := l.madeFrom(args[0])
			name := made
			switch {
			case err == nil:
				name = t.Name
			case made == "":
				return err
			}
			count, err := runner.Down(name)
			if err != nil {
				return err
			}
			if count == 0 && made != "" {
				return exit.Inputf("the lab %s does not run; the one that was made from %s has the name %s: give the file that name, and try again", name, args[0], made)
			}
			return l.say("%s: %d nodes ended", name, count)
		},
	}
}

// madeFrom is the name of a running lab that was made from a file; empty: there is none.
func (l *lab) madeFrom(file string) string {
	path, err := filepath.Abs(file)
	if err != nil || l.runtime != namespaces {
		return ""
	}
	for _, n := range runner.Labs() {
		if n.File == path {
			return n.Lab
		}
	}
	return ""
}

func (l *lab) exec() *cobra.Command {
	c := &cobra.Command{
		Use: "exec FILE NODE COMMAND...", Short: "Run a command in a node",
		Long:    "exec runs a command in a node; no shell reads it. Its exit code is the command's.",
		Example: "  catchment lab exec lab/topologies/two-upstreams.clab.yml transit1 vtysh -c 'show bgp summary'",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 3 {
				return exit.Usagef("%s needs a FILE.clab.yml, a NODE and a COMMAND", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			t, err := l.load(args[0])
			if err != nil {
				return err
			}
			if _, ok := t.Node(args[1]); !ok {
				return exit.Inputf("the lab %s has no node %q; there are %s", t.Name, args[1], strings.Join(names(t), ", "))
			}
			if l.runtime == docker {
				return l.run(c.Context(), "docker", append([]string{"exec", "-i", "clab-" + t.Name + "-" + args[1]}, args[2:]...)...)
			}
			code, err := runner.Exec(c.Context(), t, args[1], runner.Streams{In: l.env.Stdin, Out: l.env.Stdout, Err: l.env.Stderr}, args[2:]...)
			if err != nil || code == 0 {
				return err
			}
			return exit.Silent(code)
		},
	}
	c.Flags().SetInterspersed(false)
	return c
}

func names(t *clab.Topology) []string {
	var all []string
	for _, n := range t.Nodes {
		all = append(all, n.Name)
	}
	return all
}
