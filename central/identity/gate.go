package identity

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// Config is what a Gate is made of.
type Config struct {
	// Domain is the trust domain of all names.
	Domain string
	// Files are the server's certificate and the CAs of its callers; nil only if Dev.
	Files *Files
	// Roles gives names, as KIND/NAME, another role than their certificate. An edge
	// can only be given None. It is asked at each call; nil: none has another.
	Roles func(Name) (Role, bool)
	// Rules are those of Rules() if nil.
	Rules map[string]Rule
	// Dev lets everyone be admin, in plain text. Only for loopback: see
	// CheckLoopback.
	Dev bool
	// Refused is told of refusals, to be audited; at a bounded rate (NamedRefusals,
	// and fewer of strangers), and from the goroutine of the call. nil: nobody is told.
	Refused func(context.Context, Refusal)
	// Counter counts all refusals; nil: they are not counted.
	Counter Counter
	// Now is time.Now if nil.
	Now func() time.Time
}

// Gate lets calls in, or not. It is safe for use by several goroutines.
type Gate struct {
	cfg       Config
	limiter   limiter
	named     *Allowance // what is reported of callers with a name,
	strangers *Allowance // and of others: their noise must not hide it
	visits    sync.Map   // net.Conn -> *visit, for Web
	// How long a call that is no stream, the body of one in JSON and the answer to a
	// stranger may take.
	callTime, bodyTime, answerTime time.Duration
	turns                          turns
	tls                            credentials.TransportCredentials // nil with Dev
}

// New returns a Gate, or says what its configuration lacks.
func New(cfg Config) (*Gate, error) {
	if cfg.Rules == nil {
		cfg.Rules = Rules()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	g := &Gate{cfg: cfg, named: NamedRefusals(), strangers: strangerRefusals(), callTime: callTime, bodyTime: bodyTime, answerTime: answerTime}
	if cfg.Dev {
		return g, nil
	}
	if err := CheckDomain(cfg.Domain); err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	if cfg.Files == nil {
		return nil, errors.New("identity: no certificate; give one, or use --dev on loopback")
	}
	g.turns = newTurns()
	g.tls = g.serverTLS()
	return g, nil
}

// Peer is who calls.
type Peer struct {
	Name Name `json:"name"` // zero: nobody in particular
	Role Role `json:"role"`
	// NotAfter is when the certificate ends.
	NotAfter time.Time `json:"not_after,omitzero"`
	Serial   string    `json:"serial,omitempty"`
	// Dev says that the centre runs with --dev: the caller may be anyone, and may
	// all.
	Dev bool `json:"dev,omitempty"`
}

// Who returns the name for people and for the audit log.
func (p Peer) Who() string {
	switch {
	case p.Dev:
		return "dev"
	case p.Name == Name{}:
		return "anonymous"
	}
	return p.Name.Short()
}

type peerKey struct{}

// FromContext returns who calls, in a handler behind a Gate.
func FromContext(ctx context.Context) (Peer, bool) {
	p, ok := ctx.Value(peerKey{}).(Peer)
	return p, ok
}

// NewContext returns a context in which FromContext finds a peer. It is for tests of
// handlers and for what the centre does by itself.
func NewContext(ctx context.Context, p Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}

// verdict is what is known of a connection's other end: a peer, or why there is none.
type verdict struct {
	Peer   Peer   `json:"peer,omitzero"`
	Reason Reason `json:"reason,omitempty"` // "": Peer is good
	Text   string `json:"text,omitempty"`
	Addr   string `json:"addr,omitempty"`
}

// identify reads the peer out of a finished handshake. It checks the chain itself,
// since a handshake that fails tells neither side much.
func (g *Gate) identify(cs tls.ConnectionState, addr string) verdict {
	no := func(r Reason, format string, args ...any) verdict {
		return verdict{Reason: r, Text: fmt.Sprintf(format, args...), Addr: addr}
	}
	if len(cs.PeerCertificates) == 0 {
		return no(NoCertificate, "no client certificate; get one by catchment pki issue or catchment node join")
	}
	leaf := cs.PeerCertificates[0]
	pool, err := g.cfg.Files.pool()
	if err != nil {
		return no(UnknownCA, "the centre cannot read its CA certificates")
	}
	between := x509.NewCertPool()
	for _, c := range cs.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: pool, Intermediates: between, CurrentTime: g.cfg.Now(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		reason, text := g.explain(leaf, err)
		return no(reason, "%s", text)
	}
	p, err := g.peerOf(leaf)
	if err != nil {
		return no(BadName, "the certificate is good, but its name is not: %v", err)
	}
	return verdict{Peer: p, Addr: addr}
}

// explain says what is wrong with a certificate that does not verify.
func (g *Gate) explain(leaf *x509.Certificate, err error) (Reason, string) {
	now := g.cfg.Now()
	var invalid x509.CertificateInvalidError
	switch {
	case now.After(leaf.NotAfter):
		return Expired, fmt.Sprintf("the certificate expired at %s, %v ago; get a new one by catchment pki renew",
			leaf.NotAfter.UTC().Format(time.RFC3339), now.Sub(leaf.NotAfter).Round(time.Second))
	case now.Before(leaf.NotBefore):
		return NotYetValid, fmt.Sprintf("the certificate is valid from %s, and the centre's clock says %s; check both clocks",
			leaf.NotBefore.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
		return UnknownCA, "the certificate is not for clients (extended key usage); issue one for an edge or the noc"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return Expired, "a certificate of the chain has expired; renew the CA"
	}
	return UnknownCA, "the certificate is not from a CA that the centre trusts; was it issued by this centre's catchment pki?"
}

// peerOf reads name and role out of a certificate whose chain is good.
func (g *Gate) peerOf(leaf *x509.Certificate) (Peer, error) {
	n, err := nameOf(leaf)
	if err != nil {
		return Peer{}, err
	}
	if n.Domain != g.cfg.Domain {
		return Peer{}, fmt.Errorf("%s is of another domain than %s", n, g.cfg.Domain)
	}
	role, err := roleOf(n, leaf)
	if err != nil {
		return Peer{}, err
	}
	return Peer{Name: n, Role: role, NotAfter: leaf.NotAfter, Serial: leaf.SerialNumber.Text(16)}, nil
}

// nameOf returns the one name in a certificate's URI SAN.
func nameOf(c *x509.Certificate) (Name, error) {
	if len(c.URIs) != 1 {
		return Name{}, fmt.Errorf("%d URIs in the certificate, where one name is to be", len(c.URIs))
	}
	return ParseName(c.URIs[0].String())
}

// roleOf returns the role that a certificate gives.
func roleOf(n Name, c *x509.Certificate) (Role, error) {
	switch units := c.Subject.OrganizationalUnit; {
	case n.Kind == Edge:
		return EdgeRole, nil
	case n.Kind != NOC:
		return None, fmt.Errorf("%s is a server and calls nobody", n)
	case len(units) == 0:
		return Viewer, nil
	case len(units) > 1:
		return None, fmt.Errorf("%d roles in the certificate", len(units))
	default:
		return ParseRole(units[0])
	}
}

// allow decides whether the other end of a call may make it.
func (g *Gate) allow(v verdict, method string) (Peer, *Refusal) {
	no := func(r Reason, format string, args ...any) (Peer, *Refusal) {
		return v.Peer, &Refusal{Reason: r, Peer: v.Peer, Addr: v.Addr, Method: method, Text: fmt.Sprintf(format, args...)}
	}
	rule, ok := g.cfg.Rules[method]
	switch {
	case !ok:
		return no(NoRule, "method %s has no rule, and so nobody may call it", clip(method))
	case v.Peer.Dev || rule.Anyone && v.Reason != "":
		return v.Peer, nil
	case v.Reason != "":
		return no(v.Reason, "%s", v.Text)
	case g.cfg.Now().After(v.Peer.NotAfter): // while the connection stood
		return no(Expired, "the certificate expired at %s; get a new one by catchment pki renew", v.Peer.NotAfter.UTC().Format(time.RFC3339))
	}
	v.Peer.Role = g.roleNow(v.Peer)
	switch {
	case rule.Anyone:
		return v.Peer, nil
	case v.Peer.Role == None:
		return no(NoRole, "%s may do nothing: the centre's configuration says so", v.Peer.Name.Short())
	case !v.Peer.Role.covers(rule.Least):
		return no(WrongRole, "%s has the role %s, and this needs %s", v.Peer.Name.Short(), v.Peer.Role, rule.Least)
	}
	return v.Peer, nil
}

// roleNow is the peer's role by the configuration.
func (g *Gate) roleNow(p Peer) Role {
	if g.cfg.Roles == nil {
		return p.Role
	}
	role, set := g.cfg.Roles(p.Name)
	switch {
	case !set:
		return p.Role
	case p.Name.Kind == Edge || ranks[role] == 0:
		return None
	}
	return role
}

// speaks refuses a message in which an edge speaks for another.
func (g *Gate) speaks(p Peer, v verdict, method, node string) *Refusal {
	if node == "" || p.Dev || p.Role != EdgeRole || node == p.Name.Name {
		return nil
	}
	return &Refusal{Reason: OtherNode, Peer: p, Addr: v.Addr, Method: method,
		Text: fmt.Sprintf("%s speaks for %q; an edge speaks only for itself: check node: in its configuration", p.Name.Short(), clip(node))}
}

// refuse counts and reports a refusal, and returns what the caller is told.
func (g *Gate) refuse(ctx context.Context, r Refusal) error {
	g.count(r.Reason)
	from, now := source(r.Peer, r.Addr), g.cfg.Now()
	g.limiter.refused(from, now)
	all := g.strangers
	if r.named() {
		all = g.named
	}
	report, suppressed := all.Take(from, now)
	if r.Suppressed = suppressed; report && g.cfg.Refused != nil {
		g.cfg.Refused(ctx, r)
	}
	return r.status()
}

func (g *Gate) count(r Reason) {
	if g.cfg.Counter != nil {
		g.cfg.Counter.Refused(r)
	}
}

// Deny refuses a call from its handler: counted, charged and reported like the
// gate's own refusals. The handler says Reason, Method, Text and Token; Deny adds who
// calls, and returns the error for the caller.
func (g *Gate) Deny(ctx context.Context, r Refusal) error {
	v := g.verdictOf(ctx)
	r.Peer, r.Addr = v.Peer, v.Addr
	return g.refuse(ctx, r)
}

// source is whom a refusal is charged to: the peer, or its host.
func source(p Peer, addr string) string {
	if p.Name != (Name{}) {
		return p.Name.String()
	}
	return hostOf(addr)
}

// hostOf is the host of an address; of IPv6 the network (/64), of which one host has
// all addresses.
func hostOf(addr string) string {
	if at, err := netip.ParseAddrPort(addr); err == nil {
		ip := at.Addr().Unmap().WithZone("")
		if ip.Is4() {
			return ip.String()
		}
		if network, err := ip.Prefix(64); err == nil {
			return network.String()
		}
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return host
}

func addrOf(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		return p.Addr.String()
	}
	return ""
}

// CheckLoopback returns an error unless an address to listen on, host:port, is
// reached from this machine only. What serves in plain text must ask it.
func CheckLoopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("address %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("address %s is not loopback: without TLS only 127.0.0.1, ::1 and localhost are served; configure tls", addr)
}
