package central

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"time"

	"github.com/catchment-bgp/catchment/central/config"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/central/idp"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/central/web"
	"github.com/catchment-bgp/catchment/community/importer"
	"github.com/catchment-bgp/catchment/community/registry"
)

// gcPercent is how much garbage may come on top of what is in use before it is
// collected: streams that stand are most of a centre's memory, and make little of it.
const gcPercent = 40

// openTime bounds the wait for the store at the start.
const openTime = 60 * time.Second

// Options are what a centre has from its process and not from its configuration.
type Options struct {
	// Version and Commit are those of this program; empty: not known.
	Version, Commit string
	// Log gets one line for each change.
	Log *slog.Logger
	// Supervisor, where set, is told every BeatEvery (0: 10 s) that the centre works.
	Supervisor Supervisor
	BeatEvery  time.Duration
}

// Run is a whole centre: it opens the store, serves what the configuration says
// until ctx ends, and closes all again. The errors say what to do.
func Run(ctx context.Context, cfg *config.Config, o Options) error {
	log := o.Log
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	}
	id, err := identityOf(cfg, log)
	if err != nil {
		return err
	}
	known, err := registryOf(cfg, log)
	if err != nil {
		return err
	}
	listener, web, err := listen(cfg)
	if err != nil {
		return err
	}
	outside, err := newOutside(cfg.BMP, log)
	if err != nil {
		return errors.Join(err, listener.Close(), closeIf(web))
	}
	s, err := openStore(ctx, cfg, log)
	if err != nil {
		return errors.Join(err, listener.Close(), closeIf(web), closeIf(outside.listener))
	}
	f := NewFleet(s, Settings{ASN: cfg.ASN, Cluster: cfg.Etcd != nil, Services: cfg.Services, Landing: cfg.Landing, Registry: known, AuditKeep: cfg.AuditKeep, Outside: outside.Outside, WebURL: cfg.Web.URL, WebPort: portOf(web), Version: o.Version, Commit: o.Commit, Log: log})
	server, err := NewServer(f, id)
	if err != nil {
		return errors.Join(err, listener.Close(), closeIf(web), closeIf(outside.listener), s.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watched := make(chan error, 1)
	go func() { watched <- outside.serve(ctx) }()
	ran := make(chan error, 1)
	go func() {
		defer cancel()
		ran <- f.Run(ctx)
	}()
	select {
	case <-f.Ready():
		log.Info("the centre serves", "listen", listener.Addr(), "http", cfg.HTTP, "tls", cfg.TLS != nil, "replica", f.settings.Replica, "version", o.Version)
		beats := make(chan struct{})
		go func() { defer close(beats); f.beat(ctx, o.Supervisor, o.BeatEvery) }()
		err = server.Serve(ctx, listener, web)
		cancel()
		<-beats
	case <-ctx.Done():
		err = errors.Join(listener.Close(), closeIf(web))
	}
	cancel()
	return errors.Join(err, <-ran, <-watched, s.Close())
}

func closeIf(l net.Listener) error {
	if l == nil {
		return nil
	}
	return l.Close()
}

// listen opens the addresses; in plain text on loopback only, whatever the
// configuration says.
func listen(cfg *config.Config) (listener, web net.Listener, err error) {
	for _, address := range []string{cfg.Listen, cfg.HTTP} {
		if err := identity.CheckLoopback(address); cfg.TLS == nil && address != "" && err != nil {
			return nil, nil, err
		}
	}
	if listener, err = net.Listen("tcp", cfg.Listen); err != nil {
		return nil, nil, fmt.Errorf("listen: %w", err)
	}
	if cfg.HTTP != "" {
		if web, err = net.Listen("tcp", cfg.HTTP); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("http: %w", err), listener.Close())
		}
	}
	return listener, web, nil
}

func identityOf(cfg *config.Config, log *slog.Logger) (Identity, error) {
	id := Identity{Domain: cfg.Domain}
	if cfg.TLS == nil {
		return id, nil
	}
	var err error
	if id.Files, err = openFiles(cfg.TLS, log); err != nil {
		return id, fmt.Errorf("tls: %w", err)
	}
	if cfg.PKI != "" {
		if id.CA, err = identity.OpenCA(cfg.PKI); err != nil {
			return id, fmt.Errorf("pki: %w", err)
		}
		if id.CA.Domain != cfg.Domain {
			return id, fmt.Errorf("pki: the CA in %s is of the domain %s, and domain: says %s", cfg.PKI, id.CA.Domain, cfg.Domain)
		}
	}
	id.Roles = func(n identity.Name) (identity.Role, bool) {
		role, set := cfg.Roles[n.Short()]
		return identity.Role(role), set
	}
	id.Provider = providerOf(cfg)
	return id, nil
}

// providerOf asks the provider nothing yet: one that is away keeps no centre from starting.
func providerOf(cfg *config.Config) *idp.Provider {
	o := cfg.Web.OIDC
	if o == nil {
		return nil
	}
	roles := map[string]identity.Role{}
	for group, role := range o.Roles {
		roles[group] = identity.Role(role)
	}
	return idp.New(idp.Config{Issuer: o.Issuer, ClientID: o.ClientID, SecretFile: o.SecretFile, Scopes: o.Scopes, Redirect: cfg.Web.URL + web.BackFromElsewhere,
		Claim: o.Claim, Roles: roles, NameClaim: o.NameClaim, MailDomain: o.MailDomain, Domain: cfg.Domain})
}

func openFiles(t *config.TLS, log *slog.Logger) (*identity.Files, error) {
	return identity.Open(identity.Paths{CA: t.CA, Cert: t.Cert, Key: t.Key}, func(err error) {
		if err != nil {
			log.Error("the certificate that has changed cannot be used; the old one stays", "file", t.Cert, "error", err)
			return
		}
		log.Info("the certificate has changed", "file", t.Cert)
	})
}

func openStore(ctx context.Context, cfg *config.Config, log *slog.Logger) (store.Store, error) {
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	if cfg.Etcd == nil {
		s, err := store.OpenEmbedded(ctx, cfg.Data, store.Options{Log: log})
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	var secure *tls.Config
	if cfg.Etcd.TLS != nil {
		files, err := openFiles(cfg.Etcd.TLS, log)
		if err != nil {
			return nil, fmt.Errorf("etcd.tls: %w", err)
		}
		if secure, err = files.ClientTLS(); err != nil {
			return nil, fmt.Errorf("etcd.tls: %w", err)
		}
	}
	s, err := store.Dial(ctx, cfg.Etcd.Endpoints, secure, store.Options{Log: log})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// registryOf reads the documents of our communities. What was not understood is logged:
// it cannot be refused as a tag.
func registryOf(cfg *config.Config, log *slog.Logger) (*registry.Registry, error) {
	if len(cfg.Registry) == 0 {
		return nil, nil
	}
	var entries []registry.Entry
	for _, path := range cfg.Registry {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("registry: %w", err)
		}
		doc, err := importer.Read(f, path, importer.Auto, importer.Options{Owner: cfg.ASN})
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("registry: %w", err)
		}
		for _, p := range doc.Problems {
			log.Warn("the registry has something that is not understood", "file", p.File, "line", p.Line, "text", p.Text, "reason", p.Reason)
		}
		entries = append(entries, doc.Entries...)
	}
	return registry.New(entries...), nil
}

// portOf is the port of a listener; 0: there is none.
func portOf(l net.Listener) uint32 {
	if l == nil {
		return 0
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return uint32(a.Port)
	}
	return 0
}
