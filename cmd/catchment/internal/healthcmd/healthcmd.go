// Package healthcmd is `catchment health`: a probe of /healthz or /readyz for
// those who cannot speak HTTP, such as the health check of a container without a
// shell.
//
// In goes a URL; out come one line and an exit code. It asks once, follows no
// redirect, uses no proxy, and changes nothing.
package healthcmd

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/centre"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

const (
	// within bounds the whole probe: well below the time that container engines give one.
	within = 5 * time.Second
	// maxAnswer is how much of an answer is read, in bytes.
	maxAnswer = 1 << 10
)

// health is the command with what it needs.
type health struct {
	env    *cli.Env
	client *centre.Client // for --ca
}

// New returns the command `health`. client says by which CA an https server is known.
func New(env *cli.Env, client *centre.Client) *cobra.Command {
	h := &health{env: env, client: client}
	return &cobra.Command{
		Use:   "health URL",
		Short: "Ask a daemon whether it is well",
		Long: `health gets URL once and exits with 0 if the answer is 200, else with 1: a health
check for containers, which need no shell and no curl for it. The server of an https
URL is known by --ca.`,
		Example: "  catchment health http://127.0.0.1:9179/healthz\n" +
			"  catchment --ca /etc/catchment-central/pki/ca.pem health https://localhost:7180/readyz",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("%s needs one URL, such as http://127.0.0.1:9179/healthz", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return h.ask(cmd.Context(), args[0]) },
	}
}

// ask prints the first line of the answer if that is 200; anything else is an error.
func (h *health) ask(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return exit.Usagef("%q is no URL: write http://HOST:PORT/healthz or https://HOST:PORT/readyz", address)
	}
	secure, err := h.tls()
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodGet, address, nil)
	if err != nil {
		return exit.Usagef("%w", err)
	}
	transport := &http.Transport{TLSClientConfig: secure, DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", address, err)
	}
	defer response.Body.Close() // nothing is written
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%s stopped in its answer: %w", address, err)
	}
	line, _, _ := strings.Cut(string(bytes.TrimSpace(body)), "\n")
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s: %s", address, response.Status, output.OneLine(line))
	}
	_, err = fmt.Fprintln(h.env.Stdout, output.OneLine(line))
	return err
}

// tls takes the CAs of --ca, or those of the system without it.
func (h *health) tls() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if h.client.CA == "" {
		return c, nil
	}
	text, err := os.ReadFile(h.client.CA)
	if err != nil {
		return nil, exit.Inputf("--ca: %w", err)
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(text) {
		return nil, exit.Inputf("--ca: %s has no certificate as PEM", h.client.CA)
	}
	return c, nil
}
