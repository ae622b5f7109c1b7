package healthcheck

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// dnsTypes are the record types that go by name.
var dnsTypes = map[string]dnsmessage.Type{
	"A": dnsmessage.TypeA, "AAAA": dnsmessage.TypeAAAA, "ANY": dnsmessage.TypeALL, "CAA": 257, "CNAME": dnsmessage.TypeCNAME,
	"DNSKEY": 48, "DS": 43, "HTTPS": dnsmessage.TypeHTTPS, "MX": dnsmessage.TypeMX, "NAPTR": 35, "NS": dnsmessage.TypeNS,
	"PTR": dnsmessage.TypePTR, "SOA": dnsmessage.TypeSOA, "SRV": dnsmessage.TypeSRV, "SVCB": dnsmessage.TypeSVCB,
	"TLSA": 52, "TXT": dnsmessage.TypeTXT,
}

// rcodes are the response codes that fit a header (RFC 6895, section 2.3).
var rcodes = map[string]dnsmessage.RCode{
	"NOERROR": 0, "FORMERR": 1, "SERVFAIL": 2, "NXDOMAIN": 3, "NOTIMP": 4, "REFUSED": 5,
	"YXDOMAIN": 6, "YXRRSET": 7, "NXRRSET": 8, "NOTAUTH": 9, "NOTZONE": 10,
}

var dnsClasses = map[string]dnsmessage.Class{"IN": dnsmessage.ClassINET, "CH": dnsmessage.ClassCHAOS, "HS": dnsmessage.ClassHESIOD}

func parseType(s string) (dnsmessage.Type, error) {
	if s == "" {
		return dnsmessage.TypeA, nil
	}
	if t, ok := dnsTypes[s]; ok {
		return t, nil
	}
	if digits, ok := strings.CutPrefix(s, "TYPE"); ok {
		if n, err := strconv.ParseUint(digits, 10, 16); err == nil && n > 0 {
			return dnsmessage.Type(n), nil
		}
	}
	return 0, fmt.Errorf("%q is not a record type: write %s, or TYPE and a number", s, list(dnsTypes))
}

func parseClass(s string) (dnsmessage.Class, error) {
	if s == "" {
		return dnsmessage.ClassINET, nil
	}
	if c, ok := dnsClasses[s]; ok {
		return c, nil
	}
	return 0, fmt.Errorf("%q is not a class: write IN, CH or HS", s)
}

func parseRCode(s string) (dnsmessage.RCode, error) {
	if s == "" {
		return dnsmessage.RCodeSuccess, nil
	}
	if c, ok := rcodes[s]; ok {
		return c, nil
	}
	return 0, fmt.Errorf("%q is not a response code: write one of %s", s, list(rcodes))
}

func list[T any](m map[string]T) string { return strings.Join(slices.Sorted(maps.Keys(m)), ", ") }

func typeName(t dnsmessage.Type) string {
	for name, known := range dnsTypes {
		if known == t {
			return name
		}
	}
	return fmt.Sprintf("TYPE%d", uint16(t))
}

func rcodeName(c dnsmessage.RCode) string {
	for name, known := range rcodes {
		if known == c {
			return name
		}
	}
	return strconv.Itoa(int(c))
}

// recordText is a record's data as DNS.Answer describes it. Names are as they are
// on the wire, with their dot at the end.
func recordText(body dnsmessage.ResourceBody) string {
	switch r := body.(type) {
	case *dnsmessage.AResource:
		return netip.AddrFrom4(r.A).String()
	case *dnsmessage.AAAAResource:
		return netip.AddrFrom16(r.AAAA).String()
	case *dnsmessage.CNAMEResource:
		return r.CNAME.String()
	case *dnsmessage.NSResource:
		return r.NS.String()
	case *dnsmessage.PTRResource:
		return r.PTR.String()
	case *dnsmessage.MXResource:
		return fmt.Sprintf("%d %v", r.Pref, r.MX)
	case *dnsmessage.SRVResource:
		return fmt.Sprintf("%d %d %d %v", r.Priority, r.Weight, r.Port, r.Target)
	case *dnsmessage.SOAResource:
		return fmt.Sprintf("%v %v %d %d %d %d %d", r.NS, r.MBox, r.Serial, r.Refresh, r.Retry, r.Expire, r.MinTTL)
	case *dnsmessage.TXTResource:
		return strings.Join(r.TXT, "")
	case *dnsmessage.SVCBResource:
		return serviceText(*r)
	case *dnsmessage.HTTPSResource:
		return serviceText(r.SVCBResource)
	case *dnsmessage.UnknownResource:
		return genericText(r.Data)
	}
	return genericText(nil)
}

// serviceText writes parameters as RFC 9460, section 2.1 has them for keys
// without a form of their own, values in hexadecimal.
func serviceText(r dnsmessage.SVCBResource) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %v", r.Priority, r.Target)
	for _, p := range r.Params {
		fmt.Fprintf(&b, " key%d=%x", uint16(p.Key), p.Value)
	}
	return b.String()
}

// genericText is the form for any type (RFC 3597, section 5).
func genericText(data []byte) string {
	return strings.TrimSpace(fmt.Sprintf(`\# %d %x`, len(data), data))
}
