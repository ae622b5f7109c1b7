package config

import (
	"fmt"
	"net"
	"net/netip"
)

// exampleCentre is an address to write.
const exampleCentre = "central.example.net:7179"

// maxCentres bounds the list of addresses.
const maxCentres = 16

func (c *checker) central(r *rawCentral) *Central {
	// viper drops empty mappings; the file's own tree tells.
	if !c.usable("central") {
		return nil
	}
	raw := value(r, rawCentral{})
	out := &Central{Addresses: c.centres(raw), Insecure: value(raw.Insecure, false), Standby: value(raw.Standby, false)}
	if out.Insecure {
		c.insecure(out.Addresses)
		return out
	}
	tls := value(raw.TLS, rawTLS{})
	if c.need("central", "tls", "{ca: ca.pem, cert: edge.pem, key: edge.key}") {
		out.TLS = TLS{
			CA:   c.tlsFile("ca", "the file of the centre's CA certificate", tls.CA),
			Cert: c.tlsFile("cert", "the file of this edge's certificate", tls.Cert),
			Key:  c.tlsFile("key", "the file of this edge's private key", tls.Key),
		}
	}
	return out
}

// centres are the addresses, each by its path in the file.
func (c *checker) centres(raw rawCentral) []string {
	switch {
	case c.has("central.address") && c.has("central.addresses"):
		c.reject("central.addresses", "address is there as well; write one of the two")
		return nil
	case !c.has("central.addresses"):
		if !c.need("central", "address", "the centre's host and port") {
			return nil
		}
		c.hostPort("central.address", *raw.Address, exampleCentre)
		return []string{*raw.Address}
	}
	c.notEmpty("central.addresses", len(raw.Addresses), "write the hosts and ports of the centres, or address with one")
	if len(raw.Addresses) > maxCentres {
		c.reject("central.addresses", "there are %d; write %d at most", len(raw.Addresses), maxCentres)
	}
	seen := map[string]string{}
	for i, a := range raw.Addresses {
		path := fmt.Sprintf("central.addresses[%d]", i)
		c.hostPort(path, a, exampleCentre)
		c.unique(seen, a, path)
	}
	return raw.Addresses
}

// insecure refuses plain text on any way that leaves the machine.
func (c *checker) insecure(addresses []string) {
	if c.has("central.tls") {
		c.reject("central.insecure", "tls is there as well; write one of the two")
	}
	for _, a := range addresses {
		host, _, err := net.SplitHostPort(a)
		if err != nil {
			continue // told already
		}
		ip, err := netip.ParseAddr(host)
		if loopback := host == "localhost" || err == nil && ip.IsLoopback(); !loopback {
			c.reject("central.insecure", "%s is not a loopback address, and plain text would leave this machine; write tls instead", show(a))
		}
	}
}

func (c *checker) tlsFile(key, what string, p *string) string {
	if !c.need("central.tls", key, what) {
		return ""
	}
	if *p == "" {
		c.reject("central.tls."+key, "\"\" is not a file; write %s", what)
	}
	return c.resolve(*p)
}
