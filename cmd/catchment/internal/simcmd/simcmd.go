// Package simcmd is `catchment sim`: scenarios of load, played in virtual time.
//
// In go scenario files; out come figures per controller as a table or as JSON,
// and, if asked for, a page with curves and a trace. It reaches no node and opens
// no socket.
package simcmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
	"github.com/catchment-bgp/catchment/lab/sim"
)

// maxScenario is the size of a scenario file in octets.
const maxScenario = 1 << 20

// mostSeeds bounds what a slip of a finger can start.
const mostSeeds = 10_000

// New returns the command `sim`.
func New(env *cli.Env) *cobra.Command {
	return cli.Group("sim", "Play scenarios of load against the controllers",
		"sim plays scenarios in virtual time: the real load controller against a model of the\nInternet. It reaches no node and no network.",
		newRun(env).command())
}

// run is `sim run`.
type run struct {
	env         *cli.Env
	format      output.Simple
	seeds       int
	controllers []string
	seed        int
	plot        string
	trace       string
	why         string
	noOracle    bool
}

func newRun(env *cli.Env) *run { return &run{env: env, format: "table", seeds: 30, seed: 1} }

func (r *run) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "run FILE...",
		Short: "Compare the controllers in scenarios",
		Long: `run plays each scenario with each controller, once for each seed, and prints the
median and the worst of what was measured. The same file and seeds always give the
same figures.`,
		Example: "  catchment sim run lab/sim/scenarios/worldcup.yaml\n" +
			"  catchment sim run lab/sim/scenarios/flash-crowd.yaml --controller pi,none --seeds 5 -o json\n" +
			"  catchment sim run lab/sim/scenarios/worldcup.yaml --plot worldcup.html --trace worldcup.csv",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Usagef("%s needs the FILE of a scenario, or several", cmd.CommandPath())
			}
			return nil
		},
		RunE: r.run,
	}
	f := c.Flags()
	f.StringSliceVar(&r.controllers, "controller", nil, "only these: `NAME,...` of "+strings.Join(sim.Controllers(), ", "))
	f.BoolVar(&r.noOracle, "no-oracle", false, "leave the oracle out, which takes longest")
	f.VarP(&r.format, "output", "o", "how to print")
	f.StringVar(&r.plot, "plot", "", "also write a page with the curves of one run of each controller to `FILE.html`")
	f.IntVar(&r.seed, "seed", r.seed, "the seed (`N`) of the run that is plotted, traced or explained")
	f.IntVar(&r.seeds, "seeds", r.seeds, "how many runs (`N`) of each controller")
	f.StringVar(&r.trace, "trace", "", "also write each link's load, second by second, to `FILE.csv`; of one scenario and the first controller named, else pi")
	f.StringVar(&r.why, "why", "", "also write what was decided when, and why, to `FILE`; of the same run")
	// They fail for a flag that does not exist only.
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("controller", cobra.FixedCompletions(sim.Controllers(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (r *run) run(c *cobra.Command, files []string) error {
	if r.seeds < 1 || r.seeds > mostSeeds {
		return exit.Usagef("--seeds %d: write a number from 1 to %d", r.seeds, mostSeeds)
	}
	for _, name := range r.controllers {
		if !sim.Known(name) {
			return exit.Usagef("--controller: there is no controller %q; there are %s", name, strings.Join(sim.Controllers(), ", "))
		}
	}
	var scenarios []*sim.Scenario
	for _, file := range files {
		sc, err := read(file)
		if err != nil {
			return err
		}
		scenarios = append(scenarios, sc)
	}
	if r.trace != "" || r.why != "" {
		if len(scenarios) > 1 {
			return exit.Usagef("--trace and --why are of one scenario: name one FILE")
		}
	}
	if r.seed < 1 {
		return exit.Usagef("--seed %d: write a number from 1", r.seed)
	}
	var results sim.Results
	for _, sc := range scenarios {
		res, err := sim.Compare(c.Context(), sc, sim.Options{Seeds: r.seeds, Controllers: r.controllers, NoOracle: r.noOracle})
		if err != nil {
			return fmt.Errorf("%s: %w", sc.Name, err)
		}
		results = append(results, res)
	}
	if err := r.files(c.Context(), scenarios, results); err != nil {
		return err
	}
	return r.print(results)
}

// files writes what is asked for beside the figures.
func (r *run) files(ctx context.Context, scenarios []*sim.Scenario, results []sim.Result) error {
	one := "pi"
	if len(r.controllers) > 0 {
		one = r.controllers[0]
	}
	seed := uint64(r.seed)
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{r.plot, func(w io.Writer) error { return sim.Plot(w, scenarios, results, seed) }},
		{r.trace, func(w io.Writer) error { return sim.Trace(w, scenarios[0], one, seed) }},
		{r.why, func(w io.Writer) error { return sim.Why(w, scenarios[0], one, seed) }},
	} {
		if f.name == "" || ctx.Err() != nil {
			continue
		}
		if err := write(f.name, f.write); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// write writes a file.
func write(name string, content func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return exit.Inputf("%w", err)
	}
	out := bufio.NewWriter(f)
	err = errors.Join(content(out), out.Flush(), f.Close())
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

func (r *run) print(results sim.Results) error {
	if r.format == "json" {
		e := json.NewEncoder(r.env.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(results)
	}
	return table(r.env.Stdout, results)
}

// read reads one scenario.
func read(name string) (*sim.Scenario, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, exit.Inputf("reading a scenario: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxScenario+1))
	if err != nil {
		return nil, exit.Inputf("reading %s: %w", name, err)
	}
	if len(data) > maxScenario {
		return nil, exit.Inputf("%s is no scenario: it has more than %d octets", name, maxScenario)
	}
	sc, err := sim.Parse(name, data)
	if err != nil {
		return nil, exit.Inputf("%w", err)
	}
	return sc, nil
}
