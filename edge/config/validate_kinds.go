package config

import (
	"net/netip"
	"strings"

	"github.com/catchment-bgp/catchment/healthcheck"
)

// The kinds' own rules are those of package healthcheck, by way of trial; here
// are the keys that must stand there, defaults, and what a trial says less well.

func (c *checker) dns(path string, raw *rawDNS) *healthcheck.DNS {
	if !c.usable(path) {
		return nil
	}
	r := value(raw, rawDNS{})
	if c.need(path, "server", "a host and port, such as 198.51.100.53:53") {
		c.hostPort(join(path, "server"), *r.Server, "198.51.100.53:53")
	}
	c.need(path, "name", "what to ask for, such as www.example.net")
	d := &healthcheck.DNS{
		Server: value(r.Server, ""),
		TCP:    value(r.Transport, "udp") == "tcp",
		Name:   value(r.Name, ""),
		Type:   strings.ToUpper(value(r.Type, "A")),
		Class:  strings.ToUpper(value(r.Class, "IN")),
		RCode:  strings.ToUpper(value(r.RCode, "NOERROR")),
		Answer: string(value(r.Answer, "")),
		Source: value(r.Source, netip.Addr{}),
	}
	c.pattern(join(path, "answer"), d.Answer)
	d.MinAnswers = c.count(join(path, "min_answers"), r.MinAnswers, defaultAnswers(d.RCode), 0, 1000)
	return d
}

// defaultAnswers: a name without data is not what a service is checked by.
func defaultAnswers(rcode string) int {
	if rcode == "NOERROR" {
		return 1
	}
	return 0
}

func (c *checker) icmp(path string, raw *rawICMP) *healthcheck.ICMP {
	if !c.usable(path) {
		return nil
	}
	r := value(raw, rawICMP{})
	c.need(path, "address", "who shall answer, such as 10.77.1.2")
	return &healthcheck.ICMP{
		Address:    value(r.Address, netip.Addr{}),
		Count:      c.count(join(path, "count"), r.Count, 1, 1, 100),
		MinReplies: c.count(join(path, "min_replies"), r.MinReplies, 1, 1, 100),
		Source:     value(r.Source, netip.Addr{}),
	}
}

func (c *checker) grpc(path string, raw *rawGRPC) *healthcheck.GRPC {
	if !c.usable(path) {
		return nil
	}
	r := value(raw, rawGRPC{})
	if c.need(path, "address", "a host and port, such as 198.51.100.1:50051") {
		c.hostPort(join(path, "address"), *r.Address, "198.51.100.1:50051")
	}
	g := &healthcheck.GRPC{Address: value(r.Address, ""), Service: value(r.Service, "")}
	tls := c.clientTLS(path, r.CAFile, r.ServerName, r.InsecureSkipVerify)
	if value(r.TLS, false) {
		g.TLS = &tls
		return g
	}
	for _, key := range []string{"ca_file", "server_name", "insecure_skip_verify"} {
		if at := join(path, key); c.usable(at) && !c.bad[join(path, "tls")] {
			c.reject(at, "the connection has no TLS; write tls: true, or remove the key")
		}
	}
	return g
}

func (c *checker) exec(path string, raw *rawExec) *healthcheck.Exec {
	if !c.usable(path) {
		return nil
	}
	r := value(raw, rawExec{})
	const hint = "[/path/of/program, argument]"
	if c.need(path, "command", hint) {
		c.notEmpty(join(path, "command"), len(r.Command), "write "+hint)
	}
	if len(r.Command) == 1 && strings.ContainsAny(string(r.Command[0]), " \t") {
		c.warn(item(join(path, "command"), 0), "%s is the name of one program, since no shell reads it; write each argument as an entry of its own", show(string(r.Command[0])))
	}
	c.notEmpty(join(path, "exit"), len(r.Exit), "write the codes that are good, or remove the key for 0")
	return &healthcheck.Exec{
		Command:     each(r.Command, func(s literal) string { return string(s) }),
		Exit:        c.codes(join(path, "exit"), r.Exit),
		Environment: each(r.Environment, func(s literal) string { return string(s) }),
		Directory:   value(r.Directory, "/"),
	}
}

func (c *checker) codes(path string, raw []count) []int {
	if len(raw) == 0 {
		return []int{0}
	}
	for i, code := range raw {
		if at := item(path, i); !c.bad[at] {
			c.countWithin(at, int(code), 0, 255)
		}
	}
	return each(raw, func(n count) int { return int(n) })
}

func (c *checker) unit(path string, raw *rawUnit) *healthcheck.Unit {
	if !c.usable(path) {
		return nil
	}
	c.need(path, "name", "a systemd unit, such as nginx.service")
	return &healthcheck.Unit{Name: value(value(raw, rawUnit{}).Name, "")}
}

func (c *checker) fileCheck(path string, raw *rawFile) *healthcheck.File {
	if !c.usable(path) {
		return nil
	}
	r := value(raw, rawFile{})
	c.need(path, "path", "a file, such as /run/catchment/disable")
	return &healthcheck.File{
		Path:    value(r.Path, ""),
		Present: value(r.Present, false),
		MaxAge:  c.duration(join(path, "max_age"), r.MaxAge, 0, minInterval, 10*day),
	}
}
