// Command hasty is catchment-edge with what the daemon itself cannot be told, since no machine's owner should: a flap
// budget of the test's choosing, or none, and a clock that is wrong (network namespaces share the machine's). It is for
// tests in the lab and never installed.
//
// In go a configuration file and, with -flap, a flap.Config in JSON, whose zero value is no budget. SIGTERM leaves
// cleanly.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"

	"github.com/catchment-bgp/catchment/edge"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy/flap"
)

func main() {
	var o edge.Options
	flag.StringVar(&o.File, "config", "", "configuration `file`")
	flag.Func("flap", "flap budget, a flap.Config in `JSON`; left out: the configuration's", func(text string) error {
		o.Flap = new(flap.Config)
		return errors.Join(json.Unmarshal([]byte(text), o.Flap), o.Flap.Check())
	})
	flag.DurationVar(&o.Ahead, "ahead", 0, "how far the clock is ahead, beside what it is")
	flag.Func("synchronised", "`whether` the kernel says that the clock is synchronised; left out: what it says", func(text string) error {
		is, err := strconv.ParseBool(text)
		o.Clock = func() bool { return is }
		return err
	})
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "hasty:", err)
		os.Exit(1)
	}
}

func run(o edge.Options) error {
	c, warnings, err := config.Load(o.File)
	if err != nil {
		return err
	}
	control, err := edge.ListenControl(c.Control)
	if err != nil {
		return err
	}
	defer control.Close()
	o.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	node, err := edge.New(c, warnings, o)
	if err != nil {
		return err
	}
	leave, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	var side sync.WaitGroup
	var served, scraped error
	side.Go(func() { served = node.Serve(ctx, control) })
	side.Go(func() { scraped = scrape(ctx, node, c.Metrics) })
	left := node.Run(leave)
	cancel()
	side.Wait()
	return errors.Join(left, served, scraped)
}

// scrape serves the node's metrics, where the configuration has them served, until the context ends.
func scrape(ctx context.Context, node *edge.Edge, address string) error {
	if address == "" {
		return nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	return node.ServeMetrics(ctx, l)
}
