package identity

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Kind is what a name stands for.
type Kind string

// The kinds of names.
const (
	Edge    Kind = "edge"    // an edge node
	NOC     Kind = "noc"     // a person or program of the NOC
	Central Kind = "central" // a centre's server
)

// Name is the name in a certificate: spiffe://DOMAIN/KIND/NAME.
type Name struct {
	Domain string `json:"domain"`
	Kind   Kind   `json:"kind"`
	Name   string `json:"name"`
}

const (
	scheme    = "spiffe://"
	maxDomain = 255  // SPIFFE-ID, section 2.1
	maxName   = 63   // as the configuration of an edge has it
	maxURI    = 2048 // SPIFFE-ID, section 2.3
)

// ParseName reads a name strictly: lower-case domain, exactly the two parts of the
// path, no escapes, no query. Errors name the part that is wrong.
func ParseName(s string) (Name, error) {
	if len(s) > maxURI {
		return Name{}, fmt.Errorf("a name of %d bytes; at most %d", len(s), maxURI)
	}
	rest, ok := strings.CutPrefix(s, scheme)
	if !ok {
		return Name{}, fmt.Errorf("name %q does not begin with %s", clip(s), scheme)
	}
	parts := strings.Split(rest, "/")
	if len(parts) != 3 {
		return Name{}, fmt.Errorf("name %q is not spiffe://DOMAIN/KIND/NAME", clip(s))
	}
	n := Name{Domain: parts[0], Kind: Kind(parts[1]), Name: parts[2]}
	if err := n.Check(); err != nil {
		return Name{}, fmt.Errorf("name %q: %w", clip(s), err)
	}
	return n, nil
}

// Check returns what is wrong with the name, if anything.
func (n Name) Check() error {
	if err := CheckDomain(n.Domain); err != nil {
		return err
	}
	switch n.Kind {
	case Edge, NOC, Central:
	default:
		return fmt.Errorf("kind %q is not edge, noc or central", clip(string(n.Kind)))
	}
	plain := func(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }
	if n.Name == "" || len(n.Name) > maxName || !plain(n.Name[0]) {
		return fmt.Errorf("%q is no name: 1 to %d of a-z, 0-9, dot, _ and -, beginning with a letter or digit", clip(n.Name), maxName)
	}
	return only(n.Name, func(c byte) bool { return plain(c) || c == '.' || c == '-' || c == '_' })
}

// clip shortens what a stranger wrote.
func clip(s string) string {
	if len(s) > maxName {
		return s[:maxName] + "..."
	}
	return s
}

// CheckDomain returns what is wrong with a trust domain, if anything: it is made of
// a-z, 0-9, '.', '-' and '_'.
func CheckDomain(domain string) error {
	switch {
	case domain == "":
		return errors.New("the domain is empty")
	case len(domain) > maxDomain:
		return fmt.Errorf("a domain of %d bytes; at most %d", len(domain), maxDomain)
	}
	return only(domain, func(c byte) bool {
		return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '-' || c == '_'
	})
}

// only refuses the first byte that may not be in s.
func only(s string, may func(byte) bool) error {
	for i := range len(s) {
		if !may(s[i]) {
			return fmt.Errorf("%q has %q, which may not stand there", clip(s), s[i])
		}
	}
	return nil
}

// String returns the name as it stands in a certificate; "" for none.
func (n Name) String() string {
	if n == (Name{}) {
		return ""
	}
	return scheme + n.Domain + "/" + string(n.Kind) + "/" + n.Name
}

// Short returns KIND/NAME.
func (n Name) Short() string { return string(n.Kind) + "/" + n.Name }

func (n Name) uri() *url.URL {
	return &url.URL{Scheme: "spiffe", Host: n.Domain, Path: "/" + string(n.Kind) + "/" + n.Name}
}

// Role is what a caller may do.
type Role string

// The roles. Of the last three each may do what the one before it may.
const (
	None     Role = "none"     // nothing: taken away by the configuration
	EdgeRole Role = "edge"     // speak for itself
	Viewer   Role = "viewer"   // read
	Operator Role = "operator" // write
	Admin    Role = "admin"    // also what weakens the centre itself
)

// ParseRole reads a role that a person can have.
func ParseRole(s string) (Role, error) {
	switch r := Role(s); r {
	case None, Viewer, Operator, Admin:
		return r, nil
	}
	return None, fmt.Errorf("role %q is not viewer, operator, admin or none", s)
}

var ranks = map[Role]int{Viewer: 1, Operator: 2, Admin: 3}

// covers reports whether r may do what least may. An edge covers nothing but edge.
func (r Role) covers(least Role) bool {
	if r == EdgeRole || least == EdgeRole {
		return r == least
	}
	return ranks[r] > 0 && ranks[r] >= ranks[least]
}

// Above reports whether a person with the role r may do more than one with the other.
func (r Role) Above(other Role) bool { return ranks[r] > ranks[other] }
