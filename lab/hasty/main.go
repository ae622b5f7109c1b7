// Command hasty is catchment-edge with a flap budget of the test's choosing, or none: the daemon itself only takes what
// makers of routers ship, and cannot be told to flap. It is for tests in the lab and never installed.
//
// In go a configuration file and, with -flap, a flap.Config in JSON; its zero value is no budget. SIGTERM leaves cleanly.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/catchment-bgp/catchment/edge"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy/flap"
)

func main() {
	file := flag.String("config", "", "configuration `file`")
	budget := flag.String("flap", "{}", "flap budget, a flap.Config in `JSON`")
	flag.Parse()
	if err := run(*file, *budget); err != nil {
		fmt.Fprintln(os.Stderr, "hasty:", err)
		os.Exit(1)
	}
}

func run(file, budget string) error {
	var f flap.Config
	if err := json.Unmarshal([]byte(budget), &f); err != nil {
		return fmt.Errorf("-flap: %w", err)
	}
	if err := f.Check(); err != nil {
		return fmt.Errorf("-flap: %w", err)
	}
	c, warnings, err := config.Load(file)
	if err != nil {
		return err
	}
	control, err := edge.ListenControl(c.Control)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	node, err := edge.New(c, warnings, edge.Options{File: file, Log: log, Flap: &f})
	if err != nil {
		return errors.Join(err, control.Close())
	}
	leave, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	var side sync.WaitGroup
	side.Go(func() { err = node.Serve(ctx, control) })
	left := node.Run(leave)
	cancel()
	side.Wait()
	return errors.Join(left, err)
}
