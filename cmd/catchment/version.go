package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/internal/buildinfo"
)

func versionCommand(env *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Example: "  catchment version",
		Args:    cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(env.Stdout, versionText())
			return err
		},
	}
}

// versionFlag has `catchment --version` print what `catchment version` prints.
func versionFlag(root *cobra.Command) {
	root.Version = buildinfo.Get().Version // cobra reads the flag only for a command that has one
	root.SetVersionTemplate(versionText())
	root.Flags().Bool("version", false, "print the version and exit") // cobra's own would take -v too
}

func versionText() string { return buildinfo.Get().Line("catchment") }
