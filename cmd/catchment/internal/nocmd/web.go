package nocmd

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

func (g *group) web() *cobra.Command {
	return g.holder("web", "Open the centre's page", "web speaks to the centre about its page for browsers.",
		verb("login", "Make a link that signs a browser in, once", "catchment web login", g.webLogin))
}

// webLogin prints the link to stdout and how long it is good to stderr. The code stands
// behind "#", the part of an address that browsers send to nobody.
func (g *group) webLogin(ctx context.Context, _ []string) error {
	m, err := call(ctx, g, centralv1.FleetClient.CreateWebLogin, &centralv1.CreateWebLoginRequest{})
	if err != nil {
		return err
	}
	if m.Url, err = g.pageURL(m); err != nil {
		return err
	}
	return show(g, m, func(w io.Writer, m *centralv1.CreateWebLoginResponse) {
		fmt.Fprintf(w, "%s/login#%s\n", m.GetUrl(), m.GetCode())
		until := m.GetExpires().AsTime()
		fmt.Fprintf(g.env.Stderr, "It signs one browser in as you, once, until %s (%s).\n", until.Format(time.RFC3339), until.Sub(g.env.Now()).Round(time.Second))
	})
}

// pageURL is where the page is, without a slash at its end: as the centre's configuration
// says, or else on the host by which this command reaches it.
func (g *group) pageURL(m *centralv1.CreateWebLoginResponse) (string, error) {
	if m.GetUrl() != "" {
		return strings.TrimRight(m.GetUrl(), "/"), nil
	}
	if m.GetPort() == 0 {
		return "", exit.Inputf("the centre at %s serves no page; write http: HOST:PORT into its configuration", g.Address)
	}
	host, _, err := net.SplitHostPort(g.Address)
	if err != nil {
		return "", exit.Usagef("--central %q is no address: write HOST:PORT", g.Address)
	}
	return "https://" + net.JoinHostPort(host, strconv.FormatUint(uint64(m.GetPort()), 10)), nil
}
