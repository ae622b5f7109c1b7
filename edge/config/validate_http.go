package config

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/catchment-bgp/catchment/healthcheck"
)

func (c *checker) http(path string, raw *rawHTTP) *healthcheck.HTTP {
	if !c.usable(path) {
		return nil
	}
	r := value(raw, rawHTTP{})
	if c.need(path, "url", "what to ask for, such as http://198.51.100.1:8080/health") {
		c.url(join(path, "url"), *r.URL, "http://198.51.100.1:8080/health")
	}
	h := &healthcheck.HTTP{
		URL:           value(r.URL, ""),
		Method:        c.method(join(path, "method"), r.Method),
		Headers:       c.headers(join(path, "headers"), r.Headers),
		Status:        c.status(join(path, "status"), r.Status),
		Body:          string(value(r.Body, "")),
		ExpectHeaders: c.headerPatterns(join(path, "expect_headers"), r.ExpectHeaders),
		MinBytes:      int64(c.count(join(path, "min_bytes"), r.MinBytes, 0, 1, maxCount)),
		MaxTime:       c.duration(join(path, "max_time"), r.MaxTime, 0, time.Millisecond, maxInterval),
		TLS:           c.clientTLS(path, r.CAFile, r.ServerName, r.InsecureSkipVerify),
	}
	c.pattern(join(path, "body"), h.Body)
	return h
}

// pattern checks a regular expression.
func (c *checker) pattern(path, s string) {
	if _, err := regexp.Compile(s); err != nil {
		c.reject(path, "%s; write a regular expression (RE2)", oneLineOf(err))
	}
}

func (c *checker) headerPatterns(path string, raw map[string]literal) map[string]string {
	out := c.headers(path, raw)
	for _, name := range slices.Sorted(maps.Keys(out)) {
		c.pattern(join(path, pathKey(name)), out[name])
	}
	return out
}

// clientTLS reads what tells how a server's certificate is judged.
func (c *checker) clientTLS(path string, file, name *string, insecure *bool) healthcheck.TLS {
	t := healthcheck.TLS{ServerName: value(name, ""), InsecureSkipVerify: value(insecure, false)}
	at := join(path, "ca_file")
	if file == nil {
		return t
	}
	t.CAFile = c.resolve(*file)
	data, err := c.readFile(*file, t.CAFile)
	switch {
	case err != nil:
		c.reject(at, "%s; write the path of a file with PEM certificates", err.Error())
	case len(data) == 0:
		c.reject(at, "%s is empty; write the path of a file with PEM certificates", show(*file))
	}
	t.CA = string(data)
	return t
}

func (c *checker) method(path string, p *string) string {
	m := value(p, http.MethodGet)
	if m == "" || strings.Trim(m, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		c.reject(path, "%s is not an HTTP method; write for example GET or HEAD", show(m))
	}
	return m
}

func (c *checker) headers(path string, raw map[string]literal) map[string]string {
	if len(raw) == 0 {
		return nil
	}
	out := make(map[string]string, len(raw))
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		at := join(path, pathKey(name))
		if !httpguts.ValidHeaderFieldName(name) {
			c.reject(at, "%s is not the name of an HTTP header; write letters, digits and -", show(name))
		}
		if !httpguts.ValidHeaderFieldValue(string(raw[name])) {
			c.reject(at, "the value is not one of an HTTP header; write plain text")
		}
		out[name] = string(raw[name])
	}
	return out
}

func (c *checker) status(path string, raw []count) []int {
	c.notEmpty(path, len(raw), "write the codes that are good, or remove the key for 200 to 299")
	var out []int
	for i, code := range raw {
		at := item(path, i)
		if !c.bad[at] && (code < 200 || code > 599) {
			c.reject(at, "%d is not a final HTTP status; write 200 to 599", code)
		}
		out = append(out, int(code))
	}
	return out
}

func (c *checker) tcp(path string, raw *rawTCP) *healthcheck.TCP {
	if !c.usable(path) {
		return nil
	}
	r := value(raw, rawTCP{})
	if c.need(path, "address", "a host and port, such as 198.51.100.1:443") {
		c.hostPort(join(path, "address"), *r.Address, "198.51.100.1:443")
	}
	return &healthcheck.TCP{Address: value(r.Address, "")}
}
