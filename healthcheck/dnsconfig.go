package healthcheck

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// dnsTarget is the kind dns.
func dnsTarget(c Check) (*target, []error) {
	if c.DNS == nil {
		return nil, nil
	}
	p, errs := newDNSProbe(*c.DNS)
	return &target{probe: p.attempt}, errs
}

func newDNSProbe(d DNS) (*dnsProbe, []error) {
	var errs []error
	note := func(field string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("dns.%s: %w", field, err))
		}
	}
	p := &dnsProbe{server: d.Server, tcp: d.TCP, dialer: dialer, source: d.Source, min: d.MinAnswers}
	note("server", splitAddress(d.Server))
	var err error
	p.question.Type, err = parseType(d.Type)
	note("type", err)
	p.question.Class, err = parseClass(d.Class)
	note("class", err)
	p.rcode, err = parseRCode(d.RCode)
	note("rcode", err)
	p.question.Name, p.query, err = pack(d.Name, p.question)
	note("name", err)
	if d.Answer != "" {
		p.pattern, err = regexp.Compile(d.Answer)
		if err != nil {
			note("answer", fmt.Errorf("not a regular expression (RE2): %w: quote special characters with a backslash", err))
		}
	}
	if d.MinAnswers < 0 {
		note("min_answers", fmt.Errorf("%d is below zero: write 0 or more", d.MinAnswers))
	}
	if p.rcode != dnsmessage.RCodeSuccess {
		none := fmt.Errorf("with %s there are no answers: leave it out, or want NOERROR", d.RCode)
		if d.MinAnswers > 0 {
			note("min_answers", none)
		}
		if d.Answer != "" {
			note("answer", none)
		}
	}
	note("source", checkSource(d.Source, d.Server))
	return p, errs
}

// pack makes the query; the question's name is yet to be filled in.
func pack(name string, q dnsmessage.Question) (dnsmessage.Name, []byte, error) {
	bad := fmt.Errorf("%q is not a domain name: write for example www.example.net", name)
	absolute := name
	if !strings.HasSuffix(name, ".") && name != "" {
		absolute += "."
	}
	var err error
	q.Name, err = dnsmessage.NewName(absolute)
	if err != nil || name == "" {
		return q.Name, nil, bad
	}
	query := dnsmessage.Message{
		Header:    dnsmessage.Header{RecursionDesired: true},
		Questions: []dnsmessage.Question{q},
	}
	wire, err := query.Pack()
	if err != nil {
		return q.Name, nil, bad
	}
	return q.Name, wire, nil
}

// checkSource compares the families of a source and a server that is given as an
// address.
func checkSource(source netip.Addr, server string) error {
	if !source.IsValid() {
		return nil
	}
	if source.Zone() != "" || source.Is4In6() || source.IsUnspecified() || source.IsMulticast() {
		return fmt.Errorf("%v is not the address of an interface: write for example 198.51.100.53", source)
	}
	host, _, err := net.SplitHostPort(server)
	if err != nil {
		return nil // reported as the server's mistake
	}
	if a, err := netip.ParseAddr(host); err == nil && a.Unmap().Is4() != source.Is4() {
		return fmt.Errorf("%v is of another family than %v: write an address of the same", source, a)
	}
	return nil
}
