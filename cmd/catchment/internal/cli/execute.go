package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

// usage is cobra's template with one difference: a group is never shown as a
// command of its own.
const usage = `Usage:{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND{{else}}
  {{.UseLine}}{{end}}{{if .HasExample}}

Example:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Flags of all of {{.Parent.CommandPath}}:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

{{.CommandPath}} COMMAND --help tells more about a command.{{end}}
`

// Execute runs the command that args name and returns its exit code. An error
// goes to env.Stderr, once, unless it has no text (exit.Silent). What cobra refuses before a command starts is wrong
// usage.
func Execute(ctx context.Context, env *Env, root *cobra.Command, args []string) int {
	started := false
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetUsageTemplate(usage)
	root.SetFlagErrorFunc(flagError)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	strictHelp(root)
	strictGroups(root)

	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exit.OK
	}
	if !started {
		err = exit.Usagef("%w", err)
	}
	if text := strings.TrimSpace(err.Error()); text != "" {
		fmt.Fprintf(env.Stderr, "%s: %s\n", root.Name(), output.Lines(text))
	}
	var e *exit.Error
	if errors.As(err, &e) && e.Help {
		fmt.Fprintf(env.Stderr, "See '%s --help'.\n", cmd.CommandPath())
	}
	return exit.Code(err)
}

// Group returns a command that only holds others.
func Group(name, short, long string, commands ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{Use: name, Short: short, Long: long}
	group.AddCommand(commands...)
	return group
}

// NoArgs refuses arguments beside flags, in plainer words than cobra's.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.Usagef("%s takes no argument: what is %q?", cmd.CommandPath(), args[0])
	}
	return nil
}

// strictGroups makes a group without one of its commands, or with one that does
// not exist, wrong usage; cobra prints the help and calls it done.
func strictGroups(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		strictGroups(c)
	}
	if cmd.HasSubCommands() && !cmd.Runnable() {
		cmd.SuggestionsMinimumDistance = 2 // cobra's own default, which it sets for the root alone
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = noCommand
	}
}

func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		var names []string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				names = append(names, c.Name())
			}
		}
		return exit.Usagef("%s needs a command: %s", cmd.CommandPath(), strings.Join(names, ", "))
	}
	hint := ""
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return exit.Usagef("%s has no command %q%s", cmd.CommandPath(), args[0], hint)
}

// strictHelp makes `help WHAT` refuse what does not exist; cobra prints the
// root's usage and calls it done.
func strictHelp(root *cobra.Command) {
	for _, c := range root.Commands() {
		if c.Name() != "help" {
			continue
		}
		c.Args = func(_ *cobra.Command, args []string) error {
			if found, rest, err := root.Find(args); err != nil || len(rest) > 0 {
				return fmt.Errorf("%s has no command %q", found.CommandPath(), args[len(args)-1])
			}
			return nil
		}
	}
}
