package communitycmd

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
	"github.com/catchment-bgp/catchment/community/registry"
)

func (g *group) list() *cobra.Command {
	var asns []string
	var kind string
	cmd := verb("list", "All that is documented", "",
		"  catchment community list\n  catchment community list --from as65001.txt --asn 65001 --kind action", 0,
		func(ctx context.Context, _ []string) error {
			wanted, err := numbers("--asn", asns)
			if err != nil {
				return err
			}
			kinds := []registry.Kind{registry.KindInfo, registry.KindAction, registry.KindUnknown}
			if kind != "" {
				if !slices.Contains(kinds, registry.Kind(kind)) {
					return exit.Usagef("--kind %q is not known; write info, action or unknown", kind)
				}
				kinds = []registry.Kind{registry.Kind(kind)}
			}
			docs, err := g.load(ctx)
			if err != nil {
				return err
			}
			entries := slices.DeleteFunc(of(docs.Entries, wanted), func(e registry.Entry) bool { return !slices.Contains(kinds, e.Kind) })
			if g.format == output.Table {
				docs.Problems = nil // said already
				if len(entries) == 0 {
					g.say("nothing is documented")
				}
			}
			return g.showEntries(entries, docs.Problems)
		})
	cmd.Flags().StringSliceVar(&asns, "asn", nil, "only what these document: `AS,...`")
	cmd.Flags().StringVar(&kind, "kind", "", "only these: `info|action|unknown`")
	return g.documented(g.printed(cmd))
}
