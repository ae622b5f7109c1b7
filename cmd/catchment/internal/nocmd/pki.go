package nocmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

func (g *group) pki() *cobra.Command {
	return g.holder("pki", "Make and renew certificates", "pki works on files alone. A CA is a folder with ca.pem and ca.key.",
		g.initCA(), g.issue(), g.renew(),
		verb("show FILE", "What stands in a certificate, and whether it is good", "catchment pki show edge.pem", func(_ context.Context, args []string) error {
			infos, err := identity.Show(args[0], g.env.Now())
			if err != nil {
				return exit.Inputf("%w", err)
			}
			return g.showCerts(infos)
		}))
}

const dirUsage = "`FOLDER` of the CA"

func (g *group) initCA() *cobra.Command {
	var dir string
	cmd := verb("init DOMAIN", "Make a CA for a trust domain", "catchment pki init example.net --dir pki", func(_ context.Context, args []string) error {
		if _, err := identity.Init(dir, args[0], g.env.Now()); err != nil {
			return exit.Inputf("%w", err)
		}
		_, err := fmt.Fprintf(g.env.Stdout, "ca.pem and ca.key are in %s; keep ca.key safe\n", dir)
		return err
	})
	cmd.Flags().StringVar(&dir, "dir", "pki", dirUsage)
	return cmd
}

func (g *group) issue() *cobra.Command {
	var dir, role, out string
	var o identity.Order
	var life time.Duration
	cmd := verb("issue KIND/NAME", "Make a key and a certificate: edge/NAME, noc/NAME or central/NAME", "catchment pki issue noc/anna --role operator --dir pki --out anna", func(_ context.Context, args []string) error {
		kind, name, ok := strings.Cut(args[0], "/")
		if !ok || out == "" && strings.ContainsAny(name, "/") {
			return exit.Usagef("%q is no name: write edge/NAME, noc/NAME or central/NAME", args[0])
		}
		if out == "" {
			out = name
		}
		o.Kind, o.Name, o.Role, o.Life = identity.Kind(kind), name, identity.Role(role), life
		ca, err := identity.OpenCA(dir)
		if err != nil {
			return exit.Inputf("%w", err)
		}
		if err := ca.Issue(o, out+".pem", out+".key", g.env.Now()); err != nil {
			return exit.Inputf("%w", err)
		}
		_, err = fmt.Fprintf(g.env.Stdout, "%s.pem and %s.key\n", out, out)
		return err
	})
	f := cmd.Flags()
	f.StringVar(&dir, "dir", "pki", dirUsage)
	f.StringVar(&out, "out", "", "`PATH` of the files, without .pem and .key (left out: NAME)")
	f.StringVar(&role, "role", "", "of noc/NAME: viewer, operator or admin (`ROLE`)")
	f.StringArrayVar(&o.Hosts, "host", nil, "of central/NAME: a name or address (`HOST`) at which it is reached; may be repeated")
	f.DurationVar(&life, "life", 0, "how long (`TIME`) it is valid (left out: 90 days for people, longer for machines)")
	return cmd
}

func (g *group) renew() *cobra.Command {
	var dir string
	cmd := verb("renew FILE", "Replace a certificate by one with the same name and key", "catchment pki renew anna.pem --dir pki", func(_ context.Context, args []string) error {
		ca, err := identity.OpenCA(dir)
		if err != nil {
			return exit.Inputf("%w", err)
		}
		if err := ca.Renew(args[0], g.env.Now()); err != nil {
			return exit.Inputf("%w", err)
		}
		infos, err := identity.Show(args[0], g.env.Now())
		if err != nil {
			return exit.Inputf("%w", err)
		}
		return g.showCerts(infos)
	})
	cmd.Flags().StringVar(&dir, "dir", "pki", dirUsage)
	return cmd
}

// showCerts writes what stands in certificates.
func (g *group) showCerts(infos []identity.Info) error {
	text, err := json.MarshalIndent(infos, "", "  ")
	if err != nil {
		return err
	}
	switch g.format {
	case output.JSON:
		_, err = fmt.Fprintf(g.env.Stdout, "%s\n", text)
	case output.YAML:
		var tree any
		if err = json.Unmarshal(text, &tree); err == nil {
			err = yaml.NewEncoder(g.env.Stdout).Encode(tree)
		}
	default:
		err = certsTable(g.env.Stdout, infos)
	}
	return err
}

func certsTable(w io.Writer, infos []identity.Info) error {
	grid := output.Grid{Titles: []string{"NAME", "ROLE", "HOSTS", "VALID UNTIL", "ISSUER", "PROBLEM"}}
	for _, i := range infos {
		name := i.Name
		if i.CA {
			name += " (CA)"
		}
		grid.Row(cells(output.OneLine(name), string(i.Role), output.OneLine(strings.Join(i.Hosts, " ")), i.NotAfter.UTC().Format(time.RFC3339),
			output.OneLine(i.Issuer), output.OneLine(i.Problem))...)
	}
	return grid.Write(w)
}
