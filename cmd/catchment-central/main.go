// Command catchment-central is the daemon of the centre. It only translates flags
// and signals; the centre itself is package central.
//
// SIGTERM and SIGINT end it. Edges go on without it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // windows have zones, and a small machine has none

	"github.com/catchment-bgp/catchment/central"
	"github.com/catchment-bgp/catchment/central/config"
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
	file, data, listen, http   string
	dev, check, debug, version bool
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("catchment-central", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.file, "config", "", "configuration `file`")
	f.BoolVar(&o.check, "check", false, "check the configuration and exit: 0 OK, 2 not")
	f.BoolVar(&o.dev, "dev", false, "no configuration: plain text on loopback, everyone is admin")
	f.StringVar(&o.data, "data", "", "with --dev: `folder` of the store")
	f.StringVar(&o.listen, "listen", config.DefaultListen, "with --dev: `address` of gRPC")
	f.StringVar(&o.http, "http", "", "with --dev: `address` of JSON and metrics (empty: none)")
	f.BoolVar(&o.debug, "debug", false, "log more")
	f.BoolVar(&o.version, "version", false, "print the version and exit")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	devOnly := ""
	f.Visit(func(f *flag.Flag) {
		if f.Name == "data" || f.Name == "listen" || f.Name == "http" {
			devOnly = f.Name
		}
	})
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see catchment-central -help", f.Arg(0))
	case o.version:
	case o.dev && o.file != "":
		return o, errors.New("--dev or --config FILE, not both")
	case !o.dev && o.file == "":
		return o, errors.New("--config FILE is needed, or --dev --data FOLDER to try it out")
	case o.dev && o.data == "":
		return o, errors.New("--dev needs --data FOLDER, where the store is kept")
	case !o.dev && devOnly != "":
		return o, fmt.Errorf("--%s goes with --dev; write it into the configuration", devOnly)
	}
	return o, nil
}

// load reads the configuration, or makes that of --dev.
func (o options) load() (*config.Config, error) {
	if !o.dev {
		return config.Load(o.file)
	}
	text := fmt.Sprintf("data: %q\nlisten: %q\n", o.data, o.listen)
	if o.http != "" {
		text += fmt.Sprintf("http: %q\n", o.http)
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return config.Parse("--dev", []byte(text), dir)
}

func run(args []string, stdout, stderr io.Writer) int {
	o, err := parseFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitDone
	}
	if err != nil {
		fmt.Fprintln(stderr, "catchment-central:", err)
		return exitUsage
	}
	if o.version {
		fmt.Fprint(stdout, buildinfo.Get().Line("catchment-central"))
		return exitDone
	}
	cfg, err := o.load()
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitUsage
	}
	if o.check {
		fmt.Fprintln(stdout, "OK")
		return exitDone
	}
	level := slog.LevelInfo
	if o.debug {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	// A second signal ends the process the hard way.
	context.AfterFunc(ctx, stop)
	if err := serve(ctx, cfg, log); err != nil {
		log.Error("catchment-central cannot run", "error", err)
		return exitFailed
	}
	return exitDone
}

// serve runs the centre, and tells systemd of it where that listens.
func serve(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	built := buildinfo.Get()
	o := central.Options{Version: built.Version, Commit: built.Commit, Log: log}
	systemd, err := sdnotify.New(os.Getenv, os.Getpid(), log)
	if err != nil {
		return fmt.Errorf("systemd: %w", err)
	}
	defer systemd.Close()
	if systemd != nil {
		o.Supervisor, o.BeatEvery = systemd, systemd.Watchdog()/3
	}
	return central.Run(ctx, cfg, o)
}
