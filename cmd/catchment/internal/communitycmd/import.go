package communitycmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
	"github.com/catchment-bgp/catchment/community/importer"
	"github.com/catchment-bgp/catchment/community/registry"
)

// origins are where import reads from.
type origins struct {
	format, url, host, dump, owner string
	asns                           []string
}

func (g *group) imports() *cobra.Command {
	var o origins
	cmd := verb("import [FILE|AS]...", "Read what documents say, and what of them was not understood",
		`import reads RPSL objects, pages in Markdown, HTML or text, files of NLNOG's looking
glass, JSON of the YANG module ietf-bgp-communities, and what it printed itself as JSON.
With --host the arguments are ASes to ask a whois server for. What holds a community and
was not understood is named with its line and the reason; that is no failure.`,
		"  catchment community import as65001.txt -o json\n"+
			"  catchment community import --host whois.ripe.net AS65001\n"+
			"  catchment community import --dump ripe.db.aut-num.gz --asn 65001,65002 -o json", -1,
		func(ctx context.Context, args []string) error { return g.runImport(ctx, o, args) })
	f := cmd.Flags()
	f.StringSliceVar(&o.asns, "asn", nil, "of a dump only these: `AS,...`")
	f.StringVar(&o.dump, "dump", "", "read a routing registry's database, plain or gzip, from `FILE`")
	f.StringVar(&o.format, "format", string(importer.Auto), "how the FILEs are written: `auto|rpsl|nlnog|yang|page|json`")
	f.StringVar(&o.host, "host", "", "ask the whois server `HOST` for the ASes")
	f.StringVar(&o.owner, "owner", "", "the `AS` that documents, where a FILE names none")
	f.StringVar(&o.url, "url", "", "read the object at `URL` of the RIPE DB's REST service, or a page")
	return g.printed(cmd)
}

func (g *group) runImport(ctx context.Context, o origins, args []string) error {
	format, err := importer.ParseFormat(o.format)
	if err != nil {
		return exit.Usagef("--format: %w", err)
	}
	var opt importer.Options
	if o.owner != "" {
		if opt.Owner, err = number("--owner", o.owner); err != nil {
			return err
		}
	}
	switch given := count(o.url != "", o.dump != "", o.host != "" || len(args) > 0); {
	case given == 0 || o.host != "" && len(args) == 0:
		return exit.Usagef("what shall be read? Write FILEs, --url URL, --dump FILE, or --host HOST and ASes")
	case given > 1:
		return exit.Usagef("write FILEs, --url, --dump or --host with ASes: one of them")
	case len(o.asns) > 0 && o.dump == "":
		return exit.Usagef("--asn is of a --dump only")
	}
	if o.dump != "" {
		return g.importDump(ctx, o)
	}
	var all documents
	for _, name := range args {
		if o.host != "" {
			if _, err := number("the argument", name); err != nil {
				return err
			}
		}
	}
	if o.url != "" {
		args = []string{o.url}
	}
	for _, name := range args {
		var r importer.Result
		switch {
		case o.url != "":
			r, err = rest(ctx, name)
		case o.host != "":
			r, err = whois(ctx, o.host, asText(name))
		default:
			r, err = g.read(name, format, opt)
		}
		if err != nil {
			return err
		}
		all.add(r)
	}
	return g.showEntries(all.Entries, all.Problems)
}

func count(given ...bool) int {
	return len(slices.DeleteFunc(given, func(b bool) bool { return !b }))
}

// showEntries writes entries; what was not understood stands in the document, or on
// stderr beside a table.
func (g *group) showEntries(entries []registry.Entry, problems []registry.Problem) error {
	err := g.show(importer.Document{Entries: entries, Problems: problems}, func(w io.Writer) { entriesTable(w, entries) })
	if g.format == output.Table {
		g.complain(problems)
	}
	return err
}

// importDump reads a database. As JSON its entries are written as they are read.
func (g *group) importDump(ctx context.Context, o origins) error {
	asns, err := numbers("--asn", o.asns)
	if err != nil {
		return err
	}
	var want func(uint32) bool
	if len(asns) > 0 {
		want = func(asn uint32) bool { return slices.Contains(asns, asn) }
	}
	f, err := g.open(o.dump)
	if err != nil {
		return err
	}
	defer f.Close() // of a file that was read only
	if g.format == output.JSON {
		return g.stream(func(yield func(importer.Result) error) error { return importer.ReadDump(ctx, f, o.dump, want, yield) })
	}
	var all documents
	readErr := importer.ReadDump(ctx, f, o.dump, want, func(r importer.Result) error { all.add(r); return nil })
	return errors.Join(g.showEntries(all.Entries, all.Problems), unread(o.dump, readErr))
}

// unread is an input that ended too early.
func unread(name string, err error) error {
	if err == nil {
		return nil
	}
	return exit.Inputf("%s: %w; what stands before that was read", name, err)
}

// stream writes a document with one entry a line while it is read. What was read before
// an error is a whole document, too.
func (g *group) stream(read func(yield func(importer.Result) error) error) error {
	out := bufio.NewWriter(g.env.Stdout)
	fmt.Fprint(out, `{"entries":[`)
	separator := "\n"
	var problems []registry.Problem
	var writeErr error
	readErr := read(func(r importer.Result) error {
		problems = append(problems, r.Problems...)
		for _, e := range r.Entries {
			line, err := compact(e)
			if err != nil {
				return err
			}
			if _, writeErr = out.WriteString(separator + line); writeErr != nil {
				return writeErr
			}
			separator = ",\n"
		}
		return nil
	})
	fmt.Fprint(out, `],"problems":[`)
	separator = "\n"
	for _, p := range problems {
		line, err := compact(p)
		if err != nil {
			return err
		}
		fmt.Fprint(out, separator, line)
		separator = ",\n"
	}
	fmt.Fprintln(out, "]}")
	if err := out.Flush(); err != nil {
		return written(err)
	}
	return unread("the dump", readErr)
}

// compact is a value as one line of JSON.
func compact(v any) (string, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(out.Bytes(), []byte("\n"))), nil
}
