package supportcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/centre"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/doctorcmd"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/node"
)

// Options say what to collect.
type Options struct {
	Env    *cli.Env
	Edge   *node.Client
	Centre *centre.Client
	// File and CentreFile are the configurations.
	File, CentreFile string
	EdgeNamed        bool // somebody has said where the socket is
	Version          string
	// Journal gives the end of a unit's journal.
	Journal func(ctx context.Context, unit string) (string, error)
}

// New returns the command `support-bundle`; version is what `catchment version` prints.
func New(env *cli.Env, client *centre.Client, version string) *cobra.Command {
	o := Options{Env: env, Edge: node.New(), Centre: client, Version: version, Journal: systemJournal}
	return command(&o)
}

func command(o *Options) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "support-bundle",
		Short: "Collect what others need to help, without secrets",
		Long: `support-bundle writes a tar.gz with the configuration, the node's status, decisions,
transcript and metrics, with --central the fleet's status, what doctor finds, versions,
the end of the journal, addresses and routes. Passwords, keys, headers, arguments of
programs, and credentials in URLs are taken out, and wherever they are repeated.
manifest.json names what is in it, and what was left out and why.

Look through it before you send it: names, addresses and routes are in it.`,
		Example: "  catchment support-bundle\n  catchment support-bundle --central 192.0.2.10:7179 --output /tmp/msk1.tar.gz",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.EdgeNamed = cmd.Flags().Changed("edge") || o.Env.Getenv("CATCHMENT_EDGE") != ""
			return o.run(cmd.Context(), file)
		},
	}
	f := cmd.Flags()
	o.Edge.Flag(f, o.Env.Getenv)
	f.StringVar(&o.File, "config", doctorcmd.EdgeFile, "configuration `FILE` of the node")
	f.StringVar(&o.CentreFile, "central-config", doctorcmd.CentreFile, "configuration `FILE` of the centre, where one is on this machine")
	f.StringVar(&file, "output", "", "a new `FILE` (left out: catchment-support-NODE-TIME.tar.gz here)")
	for _, name := range []string{"config", "central-config"} {
		_ = cmd.MarkFlagFilename(name, "yaml", "yml") // it fails for a flag that does not exist only
	}
	return cmd
}

func (o *Options) run(ctx context.Context, file string) error {
	c := collect(ctx, *o)
	if err := ctx.Err(); err != nil {
		return errors.New("interrupted: nothing was written")
	}
	name := "unknown"
	if c.loaded.Config != nil {
		name = c.loaded.Config.Node
	}
	folder := "catchment-support-" + name + "-" + c.at.UTC().Format("20060102T150405Z")
	if file == "" {
		file = folder + ".tar.gz"
	}
	if !strings.HasSuffix(file, ".tar.gz") && !strings.HasSuffix(file, ".tgz") {
		return exit.Usagef("--output %s: write a name that ends in .tar.gz, which it is", file)
	}
	err := c.save(file, folder)
	switch {
	case errors.Is(err, fs.ErrExist):
		return exit.Inputf("%s is there already, and is left as it is: write another name after --output", file)
	case err != nil:
		return fmt.Errorf("writing the bundle: %w", err)
	}
	_, err = fmt.Fprintf(o.Env.Stdout, "%s: %d files, %d left out; manifest.json tells why. Look through it before you send it.\n", filepath.Clean(file), len(c.parts)+1, len(c.out))
	return err
}
