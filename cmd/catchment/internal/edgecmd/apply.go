package edgecmd

import (
	"time"

	"github.com/spf13/cobra"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

func (g *group) plan() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:     "plan --config FILE",
		Short:   "What each neighbour would see change under another configuration",
		Long:    "plan has the node compare, and changes nothing.",
		Example: "  catchment edge plan --config new.yaml",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := g.readConfig(cmd.Context(), file)
			if err != nil {
				return err
			}
			answer, err := call(cmd.Context(), g, edgev1.EdgeClient.Plan, &edgev1.PlanRequest{Config: config})
			if err != nil {
				return err
			}
			return show(g, answer, planTable)
		},
	}
	configFlag(cmd, &file)
	return cmd
}

func (g *group) apply() *cobra.Command {
	var (
		file, reason string
		within       time.Duration
		safety       bool
	)
	cmd := &cobra.Command{
		Use:   "apply --config FILE",
		Short: "Take another configuration up",
		Long: "apply has the node take a configuration up, which replaces the daemon's own file\n" +
			"at once. With --confirm-within the file is replaced when `catchment edge confirm`\n" +
			"comes in time; otherwise the node goes back by itself.\n\n" +
			"What withdraws prefixes on the node takes the centre's leave, if there is a centre:\n" +
			"`catchment edge plan` says so beforehand.",
		Example: "  catchment edge apply --config new.yaml --confirm-within 2m",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			trial, err := positive(cmd, "confirm-within", within)
			if err != nil {
				return err
			}
			if safety && reason == "" {
				return exit.Usagef("apply --override-safety needs --reason TEXT: it goes into the audit log")
			}
			config, err := g.readConfig(cmd.Context(), file)
			if err != nil {
				return err
			}
			answer, err := call(cmd.Context(), g, edgev1.EdgeClient.Apply,
				&edgev1.ApplyRequest{Config: config, ConfirmWithin: trial, OverrideSafety: safety, Reason: reason})
			if err != nil {
				return err
			}
			return show(g, answer, g.applyTable("applied"))
		},
	}
	configFlag(cmd, &file)
	cmd.Flags().DurationVar(&within, "confirm-within", 0, "go back after this `TIME` unless confirmed, like 2m")
	cmd.Flags().BoolVar(&safety, "override-safety", false, "in spite of the fleet's limits, or with the centre away; needs --reason, and is audited")
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` for the audit log, with --override-safety")
	return cmd
}

func (g *group) confirm() *cobra.Command {
	return &cobra.Command{
		Use:     "confirm",
		Short:   "Keep a configuration that is on trial",
		Example: "  catchment edge confirm",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			answer, err := call(cmd.Context(), g, edgev1.EdgeClient.Confirm, &edgev1.ConfirmRequest{})
			if err != nil {
				return err
			}
			return show(g, answer, confirmTable)
		},
	}
}

func (g *group) rollback() *cobra.Command {
	return &cobra.Command{
		Use:   "rollback",
		Short: "Go back to the configuration before the last apply",
		Long: "rollback ends a trial, if there is one, and otherwise brings back the file before\n" +
			"the last apply; then a second rollback undoes the first.",
		Example: "  catchment edge rollback",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			answer, err := call(cmd.Context(), g, edgev1.EdgeClient.Rollback, &edgev1.RollbackRequest{})
			if err != nil {
				return err
			}
			return show(g, answer, g.applyTable("rolled back"))
		},
	}
}

func configFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "config", "", "the configuration `FILE`; - reads stdin (needed)")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
}
