package nocmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/credentials"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/centre"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

// The files that a node joins with.
const (
	caFile   = "ca.pem"
	certFile = "edge.pem"
	keyFile  = "edge.key"
)

func (g *group) join() *cobra.Command {
	var token, dir string
	cmd := verb("join NODE", "Get this machine's certificate for a token", "catchment --central central.example.net:7179 node join msk1 --token-file /root/token --dir /etc/catchment", func(ctx context.Context, args []string) error {
		if token == "" {
			return exit.Usagef("--token-file FILE is needed, with what catchment node join-token printed")
		}
		text, err := os.ReadFile(token)
		if err != nil {
			return exit.Inputf("%w", err)
		}
		return g.joinAs(ctx, args[0], string(text), dir)
	})
	cmd.Flags().StringVar(&token, "token-file", "", "`FILE` with the token (needed)")
	cmd.Flags().StringVar(&dir, "dir", "/etc/catchment", "`FOLDER` for ca.pem, edge.pem and edge.key")
	return cmd
}

// joinAs writes nothing before the centre has answered, and never over a file.
func (g *group) joinAs(ctx context.Context, node, token, dir string) error {
	host, _, err := net.SplitHostPort(g.Address)
	if err != nil {
		return exit.Usagef("--central %q is no address: write HOST:PORT", g.Address)
	}
	for _, name := range []string{caFile, certFile, keyFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return exit.Inputf("%s is there already; move it away first", filepath.Join(dir, name))
		}
	}
	secure, err := identity.JoinTLS(token, host, nil)
	if err != nil {
		return exit.Inputf("%w", err)
	}
	csr, keyPEM, err := identity.NewRequest(node)
	if err != nil {
		return err
	}
	conn, err := centre.Dial(g.Address, credentials.NewTLS(secure))
	if err != nil {
		return err
	}
	defer conn.Close() // fails only when closed before
	limited, cancel := context.WithTimeout(ctx, g.Timeout)
	defer cancel()
	got, err := centralv1.NewEdgesClient(conn).Join(limited, &centralv1.JoinRequest{Token: token, Csr: csr})
	if err != nil {
		return g.Explain(ctx, err)
	}
	err = errors.Join(identity.WriteKey(filepath.Join(dir, keyFile), keyPEM), identity.WriteCert(filepath.Join(dir, certFile), got.GetCertificate()),
		identity.WriteCert(filepath.Join(dir, caFile), got.GetCa()))
	if err != nil {
		return fmt.Errorf("the token is used, and the certificate cannot be written: %w", err)
	}
	_, err = fmt.Fprintf(g.env.Stdout, "%s, %s and %s are in %s\n", caFile, certFile, keyFile, dir)
	return err
}
