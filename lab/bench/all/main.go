// Command all runs the project's benchmarks one after the other and lines their figures up in one table.
//
// In go the benchmarks' own output and files; out come a table with the ratio to each peer of the same run, and a JSON
// file with the figures and what the machine is. It judges nothing itself: where a benchmark says that catchment is
// worse than it promises, that stands below the table and the exit code is 1.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/catchment-bgp/catchment/lab/bench"
)

func main() {
	jsonFile := flag.String("json", "", "a file for the figures, as JSON")
	only := flag.String("only", "", "run only these, of "+strings.Join(names(), ", ")+" (comma)")
	runs := flag.Int("runs", 10, "runs of each contender of the failover benchmark")
	edges := flag.String("edges", "100,1000", "sizes of the fleet of the central benchmark")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *jsonFile, *only, settings{*runs, *edges}); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings are how long benchmarks run.
type settings struct {
	runs  int
	edges string
}

// record is the JSON file.
type record struct {
	Began   time.Time     `json:"began"`
	Machine bench.Machine `json:"machine"`
	Rows    []row         `json:"rows"`
	Missed  []string      `json:"missed"`
}

func run(ctx context.Context, out io.Writer, jsonFile, only string, s settings) error {
	steps, err := choose(only)
	if err != nil {
		return err
	}
	r := record{Began: time.Now().UTC().Truncate(time.Second), Machine: bench.ThisMachine(), Rows: []row{}, Missed: []string{}}
	for _, step := range steps {
		fmt.Fprintf(os.Stderr, "%s ...\n", step.name)
		rows, missed, err := step.run(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		r.Rows, r.Missed = append(r.Rows, rows...), append(r.Missed, missed...)
	}
	if err := bench.WriteJSON(jsonFile, r); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n\n%s", r.Machine, table(r.Rows))
	if len(r.Missed) > 0 {
		return fmt.Errorf("worse than promised:\n  %s", strings.Join(r.Missed, "\n  "))
	}
	return nil
}

// choose picks steps by their names; all of them for none.
func choose(only string) ([]step, error) {
	if only == "" {
		return steps, nil
	}
	var chosen []step
	for _, name := range strings.Split(only, ",") {
		before := len(chosen)
		for _, s := range steps {
			if s.name == name {
				chosen = append(chosen, s)
			}
		}
		if len(chosen) == before {
			return nil, fmt.Errorf("there is no benchmark %q; there are %s", name, strings.Join(names(), ", "))
		}
	}
	return chosen, nil
}

func names() []string {
	all := make([]string, len(steps))
	for i, s := range steps {
		all[i] = s.name
	}
	return all
}

// run runs one benchmark and reads its figures. What it missed are the lines in which it says so.
func (s step) run(ctx context.Context, set settings) (rows []row, missed []string, err error) {
	dir, err := os.MkdirTemp("", "catchment-bench")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "figures.json")
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-run", "^$", "-timeout", "30m"}, s.args(file, set)...)...)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, os.Stderr), os.Stderr
	ran := cmd.Run()
	for line := range strings.Lines(out.String()) {
		if _, said, ok := strings.Cut(line, "_test.go:"); ok && strings.Contains(said, "want") {
			missed = append(missed, s.name+": "+strings.TrimSpace(said))
		}
	}
	if ran != nil && len(missed) == 0 {
		return nil, nil, fmt.Errorf("%w; its output is above", ran)
	}
	if rows, err = s.read(file, out.String()); err != nil {
		return nil, nil, err
	}
	return rows, missed, nil
}
