package communitycmd

import (
	"bytes"
	"context"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/community/export"
)

func (g *group) export() *cobra.Command {
	var format, asn string
	cmd := verb("export", "Write what is documented for others to read",
		`export writes the fleet's tags, or what --from documents: as remarks for the RIPE DB,
JSON of the YANG module, NLNOG's text, a page, or our own JSON. What a format cannot
carry is left out, and named on stderr with the reason.`,
		"  catchment community export --format rpsl --asn 57629\n"+
			"  catchment community export --format yang --from as65001.txt > as65001.json", 0,
		func(ctx context.Context, _ []string) error { return g.runExport(ctx, format, asn) })
	cmd.Flags().StringVar(&asn, "asn", "", "only what this `AS` documents")
	cmd.Flags().StringVar(&format, "format", string(export.FormatRPSL), "`rpsl|yang|nlnog|markdown|json`")
	return g.documented(cmd)
}

func (g *group) runExport(ctx context.Context, format, asn string) error {
	f, err := export.ParseFormat(format)
	if err != nil {
		return exit.Usagef("--format: %w", err)
	}
	var asns []uint32
	if asn != "" {
		n, err := number("--asn", asn)
		if err != nil {
			return err
		}
		asns = []uint32{n}
	}
	docs, err := g.load(ctx)
	if err != nil {
		return err
	}
	entries := of(docs.Entries, asns)
	all := owners(entries)
	var set export.Set
	switch {
	case len(asns) == 1:
		set.ASN = asns[0]
	case len(all) == 1:
		set.ASN = all[0]
	case f == export.FormatYANG && len(all) > 1:
		return exit.Usagef("a set of the YANG module is of one AS: write --asn AS")
	}
	if len(entries) == 0 {
		g.say("nothing is documented")
	}
	var out bytes.Buffer
	problems, err := export.Write(&out, f, entries, set)
	if err != nil {
		return err
	}
	if _, err := g.env.Stdout.Write(out.Bytes()); err != nil {
		return written(err)
	}
	g.complain(problems)
	return nil
}
