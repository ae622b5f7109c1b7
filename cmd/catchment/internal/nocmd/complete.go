package nocmd

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

// completeWithin is how long a shell waits for proposals.
const completeWithin = time.Second

// complete gives a command and those below it proposals for arguments and flags that
// name something of the fleet. A centre that does not answer proposes nothing.
func (g *group) complete(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		g.complete(c)
	}
	if cmd.HasSubCommands() {
		return
	}
	names := strings.Fields(cmd.Use)[1:]
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(names) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return g.propose(cmd, names[len(args)])
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if what, ok := flagWords[f.Name]; ok {
			// It fails for a flag that has proposals already only.
			_ = cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
				return g.propose(cmd, what)
			})
		}
	})
}

// flagWords are the flags whose values are proposed, and what they are.
var flagWords = map[string]string{"node": "NODE", "drain": "NODE", "site": "SITE", "neighbor": "NEIGHBOR", "service": "SERVICE"}

// verbs are those of a fleet's override.
var verbs = []string{"announce", "drain", "withdraw"}

// propose are the words for an argument by the name that it has in the usage.
func (g *group) propose(cmd *cobra.Command, what string) ([]string, cobra.ShellCompDirective) {
	var out []string
	switch what {
	case "FILE", "FILE...":
		return nil, cobra.ShellCompDirectiveDefault
	case "VERB":
		out = verbs
	case "ID":
		out = g.ids(cmd)
	case "NODE", "SITE", "NEIGHBOR", "SERVICE", "GRANT":
		out = g.fleetNames(cmd.Context(), what)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// ids are those of overrides, for `fleet clear`, else of windows.
func (g *group) ids(cmd *cobra.Command) []string {
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	seen := map[string]bool{}
	if cmd.Parent().Name() == "fleet" {
		m, err := call(ctx, g, centralv1.FleetClient.ListFleetOverrides, &centralv1.ListFleetOverridesRequest{})
		if err == nil { // a completion has nowhere to say so
			for _, o := range output.Printable(m).GetOverrides() {
				seen[o.GetId()] = true
			}
		}
		return slices.Sorted(maps.Keys(seen))
	}
	m, err := call(ctx, g, centralv1.FleetClient.ListWindows, &centralv1.ListWindowsRequest{})
	if err == nil {
		for _, w := range output.Printable(m).GetWindows() {
			seen[w.GetId()] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func (g *group) fleetNames(ctx context.Context, what string) []string {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	answer, err := call(ctx, g, centralv1.FleetClient.GetFleet, &centralv1.GetFleetRequest{})
	if err != nil {
		return nil
	}
	m, seen := output.Printable(answer), map[string]bool{}
	for _, n := range m.GetNodes() {
		switch what {
		case "NODE":
			seen[n.GetName()] = true
		case "SITE":
			seen[n.GetSite()] = n.GetSite() != ""
		case "NEIGHBOR":
			for _, b := range n.GetNeighbors() {
				seen[b.GetName()] = true
			}
		}
	}
	for _, s := range m.GetServices() {
		seen[s.GetName()] = seen[s.GetName()] || what == "SERVICE"
	}
	for _, gr := range m.GetGrants() {
		seen[gr.GetId()] = seen[gr.GetId()] || what == "GRANT"
	}
	maps.DeleteFunc(seen, func(name string, wanted bool) bool { return !wanted || name == "" })
	return slices.Sorted(maps.Keys(seen))
}
