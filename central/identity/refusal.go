package identity

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Reason is why a call was refused; its text is that of the counter's label.
type Reason string

// The reasons.
const (
	NoCertificate Reason = "no_certificate"
	UnknownCA     Reason = "unknown_ca"
	Expired       Reason = "expired"
	NotYetValid   Reason = "not_yet_valid"
	BadName       Reason = "bad_name"     // no name, more than one, or one of another domain
	NoRole        Reason = "no_role"      // the role was taken away
	WrongRole     Reason = "wrong_role"   // the role does not cover the method
	OtherNode     Reason = "other_node"   // an edge speaks for another
	NoRule        Reason = "no_rule"      // the method is not in the table
	TooLarge      Reason = "too_large"    // a message over the limit
	TooMany       Reason = "too_many"     // messages, refusals or connections, more than allowed
	TooSlow       Reason = "too_slow"     // a handshake or a body took too long
	NotTLS        Reason = "not_tls"      // plain text, or noise, where TLS is spoken
	NoHandshake   Reason = "no_handshake" // the TLS handshake failed otherwise
	NoRequest     Reason = "no_request"   // a connection for HTTP ended before it asked for anything
	Busy          Reason = "busy"         // too many connections began at once; never audited
	CrossOrigin   Reason = "cross_origin" // a browser was made to send it by another site
	BadToken      Reason = "bad_token"    // a join token that is unknown, used or expired, or a bad request with it
)

// Refusal is a call that was not allowed.
type Refusal struct {
	Reason Reason
	// Peer is as far as it is known: its name only if its certificate is good.
	Peer   Peer
	Addr   string // where the connection came from
	Method string // "": the connection itself
	// Token is the node of the join token that was shown, if it is one of ours.
	Token string
	Text  string // what the caller was told
	// Suppressed counts refusals that were counted but not reported since the last
	// one that was.
	Suppressed uint64
}

// Who returns the caller for people and for the audit log: as Peer.Who, or who had a
// token as token/NODE.
func (r Refusal) Who() string {
	if r.Token != "" && r.Peer.Name == (Name{}) {
		return "token/" + r.Token
	}
	return r.Peer.Who()
}

// named reports whether the caller has shown who it is.
func (r Refusal) named() bool { return r.Peer.Name != Name{} || r.Token != "" }

// Counter counts refusals by reason. It must not block.
type Counter interface {
	// Refused counts one refusal.
	Refused(Reason)
}

// status is what the caller is told.
func (r Refusal) status() error {
	switch r.Reason {
	case NoCertificate, UnknownCA, Expired, NotYetValid, BadName, BadToken:
		return status.Error(codes.Unauthenticated, r.Text)
	case TooLarge, TooMany:
		return status.Error(codes.ResourceExhausted, r.Text)
	}
	return status.Error(codes.PermissionDenied, r.Text)
}
