package communitycmd

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/centre"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/importer"
	"github.com/catchment-bgp/catchment/community/registry"
)

// fleetTags is the word for the fleet's tags among documents.
const fleetTags = "central"

// documents are what was read of all that --from names.
type documents struct {
	importer.Result
	nodes map[community.Value][]string // whose tag a value is
}

func (d *documents) add(r importer.Result) {
	d.Entries = append(d.Entries, r.Entries...)
	d.InUse = append(d.InUse, r.InUse...)
	d.Problems = append(d.Problems, r.Problems...)
}

// load reads the documents, and says how much of them was not understood.
func (g *group) load(ctx context.Context) (documents, error) {
	from := g.from
	if len(from) == 0 {
		from = []string{fleetTags}
	}
	var out documents
	for _, name := range from {
		if name == fleetTags {
			before := len(out.Problems)
			if err := g.tags(ctx, &out); err != nil {
				return documents{}, err
			}
			g.complain(out.Problems[before:])
			continue
		}
		r, err := g.read(name, importer.Auto, importer.Options{})
		if err != nil {
			return documents{}, err
		}
		out.add(r)
		g.summarise(name, r.Problems)
	}
	return out, nil
}

// summarise says how much of a document was not understood.
func (g *group) summarise(name string, problems []registry.Problem) {
	if n := len(problems); n > 0 {
		g.say("warning: %s: lines not understood: %d; catchment community import %s says which, and why", name, n, name)
	}
}

// complain writes what was not understood, one line each.
func (g *group) complain(problems []registry.Problem) {
	for _, p := range problems {
		g.say("%s", p)
	}
}

// open opens a file, or stdin for -.
func (g *group) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(g.env.Stdin), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, exit.Inputf("%w", err)
	}
	return f, nil
}

// read reads one document.
func (g *group) read(name string, format importer.Format, opt importer.Options) (importer.Result, error) {
	f, err := g.open(name)
	if err != nil {
		return importer.Result{}, err
	}
	defer f.Close() // of a file that was read only
	if name == "-" {
		name = "stdin"
	}
	out, err := importer.Read(f, name, format, opt)
	if err != nil {
		return importer.Result{}, exit.Inputf("%w", err)
	}
	return out, nil
}

// whois asks a whois server for an AS.
func whois(ctx context.Context, host, as string) (importer.Result, error) {
	return importer.Whois(ctx, &net.Dialer{}, host, as)
}

// rest gets an object by its address.
func rest(ctx context.Context, url string) (importer.Result, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	return importer.REST(ctx, &http.Client{Transport: transport}, url)
}

// tags adds the fleet's tags, as the centre has them now.
func (g *group) tags(ctx context.Context, out *documents) error {
	answer, err := centre.Call(ctx, g.Client, centralv1.FleetClient.ListNodes, &centralv1.ListNodesRequest{})
	if err != nil {
		return err
	}
	var tags []registry.Tag
	for _, n := range answer.GetNodes() {
		for _, t := range n.GetTags() {
			tag := registry.Tag{Node: n.GetName(), ASN: n.GetAsn(), Value: t.GetValue(), Meaning: t.GetMeaning()}
			if t.GetSince() != nil {
				tag.Since = t.GetSince().AsTime()
			}
			tags = append(tags, tag)
		}
	}
	entries, nodes, problems := registry.Tags(tags)
	out.add(importer.Result{Entries: entries, Problems: problems})
	out.nodes = nodes
	return nil
}

// owners are the ASes that document the entries, once each.
func owners(entries []registry.Entry) []uint32 {
	var out []uint32
	for _, e := range entries {
		if !slices.Contains(out, e.Owner) {
			out = append(out, e.Owner)
		}
	}
	slices.Sort(out)
	return out
}

// of are the entries of some ASes; of all where none is named.
func of(entries []registry.Entry, asns []uint32) []registry.Entry {
	out := []registry.Entry{}
	for _, e := range entries {
		if len(asns) == 0 || slices.Contains(asns, e.Owner) {
			out = append(out, e)
		}
	}
	return out
}

// asText is an AS number as a whois server is asked for it.
func asText(name string) string { return "AS" + strings.TrimPrefix(strings.ToUpper(name), "AS") }
