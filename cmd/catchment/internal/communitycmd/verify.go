package communitycmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/community/importer"
	"github.com/catchment-bgp/catchment/community/registry"
)

// published says where it is.
type published struct{ file, host, url, asn string }

func (g *group) verify() *cobra.Command {
	var p published
	cmd := verb("verify", "Whether what is published is what is so",
		`verify compares what is published with --from, or with the fleet's tags: missing is
what is ours and not published, wrong what is published with another meaning, stale what
is published and not ours. It exits with 1 if there is any.`,
		"  catchment community verify --published remarks.txt --asn 57629\n"+
			"  catchment community verify --host whois.ripe.net --asn 57629 --from ours.txt,central", 0,
		func(ctx context.Context, _ []string) error { return g.runVerify(ctx, p) })
	f := cmd.Flags()
	f.StringVar(&p.asn, "asn", "", "compare what this `AS` documents (left out: all)")
	f.StringVar(&p.host, "host", "", "ask the whois server `HOST` what is published")
	f.StringVar(&p.file, "published", "", "what is published, in `FILE`")
	f.StringVar(&p.url, "url", "", "get what is published from `URL` of the RIPE DB's REST service")
	return g.documented(g.printed(cmd))
}

func (g *group) runVerify(ctx context.Context, p published) error {
	switch given := count(p.file != "", p.host != "", p.url != ""); {
	case given != 1:
		return exit.Usagef("what is published? Write --published FILE, --host HOST or --url URL: one of them")
	case p.host != "" && p.asn == "":
		return exit.Usagef("--asn AS is needed, to ask %s for", p.host)
	}
	var asns []uint32
	if p.asn != "" {
		n, err := number("--asn", p.asn)
		if err != nil {
			return err
		}
		asns = []uint32{n}
	}
	docs, err := g.load(ctx)
	if err != nil {
		return err
	}
	ours := of(docs.Entries, asns)
	if all := owners(ours); len(asns) == 0 && len(all) == 1 {
		asns = all
	}
	theirs, err := g.readPublished(ctx, p, asns)
	if err != nil {
		return err
	}
	d := registry.Verify(of(theirs.Entries, asns), ours)
	if err := g.showDifferences(d, theirs.Problems, docs.Problems); err != nil {
		return err
	}
	number := map[registry.DifferenceCode]int{}
	for _, x := range d {
		number[x.Code]++
	}
	if len(d) > 0 {
		return fmt.Errorf("what is published is not ours: %d missing, %d wrong, %d stale", number[registry.Missing], number[registry.Wrong], number[registry.Stale])
	}
	g.say("what is published is ours: %d entries", len(ours))
	return nil
}

// readPublished reads what is published, and says how much of it was not understood. Lines
// of an object without its head are those of the AS that is compared.
func (g *group) readPublished(ctx context.Context, p published, asns []uint32) (out importer.Result, err error) {
	name := p.file
	switch {
	case p.host != "":
		name = "--host " + p.host + " " + asText(p.asn)
		out, err = whois(ctx, p.host, asText(p.asn))
	case p.url != "":
		name = "--url " + p.url
		out, err = rest(ctx, p.url)
	default:
		var opt importer.Options
		if len(asns) == 1 {
			opt.Owner = asns[0]
		}
		out, err = g.read(p.file, importer.Auto, opt)
	}
	g.summarise(name, out.Problems)
	return out, err
}
