// Command catchment-edge is the daemon of an edge node. It only translates flags
// and signals; the node itself is package edge.
//
// SIGHUP reloads the configuration file, SIGTERM and SIGINT leave cleanly. Under
// systemd (Type=notify) the node's loop feeds the watchdog.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	_ "time/tzdata" // windows have zones, and a small machine has none

	"github.com/catchment-bgp/catchment/edge"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/internal/buildinfo"
	"github.com/catchment-bgp/catchment/internal/sdnotify"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// options are the flags.
type options struct {
	file                string
	check, print, debug bool
	version             bool
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("catchment-edge", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.file, "config", "", "configuration `file`")
	f.BoolVar(&o.check, "check", false, "check the configuration and exit: 0 OK, 2 not")
	f.BoolVar(&o.print, "print-config", false, "print the configuration with all defaults and exit")
	f.BoolVar(&o.debug, "debug", false, "log what the BGP library says, too")
	f.BoolVar(&o.version, "version", false, "print the version and exit")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q; see catchment-edge -help", f.Arg(0))
	}
	if o.file == "" && !o.version {
		return o, errors.New("--config FILE is needed")
	}
	return o, nil
}

func run(args []string, stdout, stderr io.Writer) int {
	o, err := parseFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitDone
	}
	if err != nil {
		fmt.Fprintln(stderr, "catchment-edge:", err)
		return exitUsage
	}
	if o.version {
		fmt.Fprint(stdout, buildinfo.Get().Line("catchment-edge"))
		return exitDone
	}
	// Before anything that takes time: a reload that comes early must not end us.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	c, warnings, err := config.Load(o.file)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitUsage
	}
	switch {
	case o.check:
		for _, w := range warnings {
			fmt.Fprintln(stderr, "warning:", w)
		}
		fmt.Fprintln(stdout, "OK")
		return exitDone
	case o.print:
		return printConfig(c, stdout, stderr)
	}
	level := slog.LevelInfo
	if o.debug {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	built := buildinfo.Get()
	if err := serve(c, warnings, edge.Options{File: o.file, Version: built.Version, Commit: built.Commit, Log: log}, hup); err != nil {
		log.Error("catchment-edge cannot run", "error", err)
		return exitFailed
	}
	return exitDone
}

func printConfig(c *config.Config, stdout, stderr io.Writer) int {
	text, err := c.YAML()
	if err == nil {
		_, err = stdout.Write(text)
	}
	if err != nil {
		fmt.Fprintln(stderr, "catchment-edge:", err)
		return exitFailed
	}
	return exitDone
}

// serve runs the node until a signal says to leave. A value from hup reloads.
func serve(c *config.Config, warnings []config.Problem, o edge.Options, hup <-chan os.Signal) error {
	leave, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	systemd, err := sdnotify.New(os.Getenv, os.Getpid(), o.Log)
	if err != nil {
		return fmt.Errorf("systemd: %w", err)
	}
	defer systemd.Close()
	if systemd != nil {
		o.Supervisor, o.BeatEvery = systemd, systemd.Watchdog()/3
	}
	control, err := edge.ListenControl(c.Control)
	if err != nil {
		return err
	}
	defer control.Close()
	var scrape net.Listener
	if c.Metrics != "" {
		if scrape, err = net.Listen("tcp", c.Metrics); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
		defer scrape.Close()
	}
	node, err := edge.New(c, warnings, o)
	if err != nil {
		return err
	}

	var side sync.WaitGroup
	defer side.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	background := func(what string, f func() error) {
		side.Go(func() {
			if err := f(); err != nil {
				o.Log.Error(what, "error", err)
			}
		})
	}
	background("local API", func() error { return node.Serve(ctx, control) })
	if scrape != nil {
		background("metrics", func() error { return node.ServeMetrics(ctx, scrape) })
	}
	go func() { // not waited for: the file may be on a disk that hangs
		for {
			select {
			case <-hup:
				systemd.Reloading()
				_, _ = node.ReloadFile(ctx) // the node logs what came of it
				systemd.Reloaded()
			case <-ctx.Done():
				return
			}
		}
	}()
	return node.Run(leave)
}
