package config

import (
	"net/textproto"
	"slices"

	"github.com/catchment-bgp/catchment/healthcheck"
)

func rawCheckOf(k healthcheck.Check) rawCheck {
	r := rawCheck{
		Name:         &k.Name,
		Interval:     new(duration(k.Interval)),
		FastInterval: new(duration(k.FastInterval)),
		Timeout:      new(duration(k.Timeout)),
		Rise:         new(count(k.Rise)),
		Fall:         new(count(k.Fall)),
		Scope:        new(scope(either(k.Soft, "soft", "hard"))),
		Jitter:       &k.Jitter,
		Watch:        &k.Watch,
		RestartGrace: new(duration(k.RestartGrace)),
	}
	if h := k.HTTP; h != nil {
		r.HTTP = &rawHTTP{
			URL: new(redact(h.URL)), Method: &h.Method, Headers: headersOf(h.Headers),
			Status:             each(h.Status, func(n int) count { return count(n) }),
			Body:               (*multiline)(given(h.Body)),
			ExpectHeaders:      literals(h.ExpectHeaders),
			MinBytes:           (*count)(given(int(h.MinBytes))),
			MaxTime:            (*duration)(given(h.MaxTime)),
			CAFile:             given(h.TLS.CAFile),
			ServerName:         given(h.TLS.ServerName),
			InsecureSkipVerify: given(h.TLS.InsecureSkipVerify),
		}
	}
	if k.TCP != nil {
		r.TCP = &rawTCP{Address: &k.TCP.Address}
	}
	if d := k.DNS; d != nil {
		r.DNS = rawDNSOf(d)
	}
	if i := k.ICMP; i != nil {
		r.ICMP = &rawICMP{
			Address: &i.Address, Count: new(count(i.Count)), MinReplies: new(count(i.MinReplies)), Source: addrOf(i.Source),
		}
	}
	if g := k.GRPC; g != nil {
		r.GRPC = rawGRPCOf(g)
	}
	if e := k.Exec; e != nil {
		text := func(s string) literal { return literal(s) }
		r.Exec = &rawExec{
			Command: each(e.Command, text), Exit: each(e.Exit, func(n int) count { return count(n) }),
			Environment: each(e.Environment, text), Directory: &e.Directory,
		}
	}
	if k.Unit != nil {
		r.Unit = &rawUnit{Name: &k.Unit.Name}
	}
	if f := k.File; f != nil {
		r.File = &rawFile{Path: &f.Path, Present: &f.Present, MaxAge: (*duration)(given(f.MaxAge))}
	}
	return r
}

func rawDNSOf(d *healthcheck.DNS) *rawDNS {
	return &rawDNS{
		Server: &d.Server, Transport: new(transport(either(d.TCP, "tcp", "udp"))), Name: &d.Name, Type: &d.Type, Class: &d.Class,
		RCode: &d.RCode, Answer: (*multiline)(given(d.Answer)), MinAnswers: new(count(d.MinAnswers)), Source: addrOf(d.Source),
	}
}

func rawGRPCOf(g *healthcheck.GRPC) *rawGRPC {
	r := &rawGRPC{Address: &g.Address, Service: given(g.Service), TLS: new(g.TLS != nil)}
	if t := g.TLS; t != nil {
		r.CAFile, r.ServerName, r.InsecureSkipVerify = given(t.CAFile), given(t.ServerName), given(t.InsecureSkipVerify)
	}
	return r
}

// secretHeaders are printed like passwords.
var secretHeaders = []string{"Authorization", "Cookie", "Proxy-Authorization"}

func headersOf(m map[string]string) map[string]literal {
	out := literals(m)
	for name := range out {
		if slices.Contains(secretHeaders, textproto.CanonicalMIMEHeaderKey(name)) {
			out[name] = Mask
		}
	}
	return out
}
