package healthcheck

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"

	"golang.org/x/net/http/httpguts"
)

// ownHeaders belong to the connection, which is the probe's.
var ownHeaders = []string{"Connection", "Content-Length", "Trailer", "Transfer-Encoding"}

// httpTarget is the kind http.
func httpTarget(c Check) (*target, error) {
	if c.HTTP == nil {
		return nil, nil
	}
	p, err := newHTTPProbe(*c.HTTP)
	if err != nil {
		return nil, err
	}
	return &target{probe: p.attempt, address: p.address}, nil
}

func newHTTPProbe(h HTTP) (*httpProbe, error) {
	u, address, err := parseURL(h.URL)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	p := &httpProbe{address: address, status: slices.Clone(h.Status)}
	if u.Scheme == "https" {
		p.tls = &tls.Config{ServerName: h.ServerName, InsecureSkipVerify: h.InsecureSkipVerify, NextProtos: []string{"http/1.1"}}
		if h.ServerName == "" {
			p.tls.ServerName = u.Hostname()
		}
	}
	for _, code := range h.Status {
		if code < 200 || code > 599 {
			return nil, fmt.Errorf("status: %d is not a final HTTP status: write 200 to 599", code)
		}
	}
	if p.body, err = bodyPattern(h); err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	if p.request, err = newRequest(u, h); err != nil {
		return nil, err
	}
	var wire bytes.Buffer
	if err := p.request.Write(&wire); err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	p.wire = wire.Bytes()
	return p, nil
}

// parseURL returns the URL and the host:port to connect to.
func parseURL(text string) (*url.URL, string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, "", fmt.Errorf("not a URL: %w: write for example http://127.0.0.1:80/health", errors.Unwrap(err))
	}
	port, known := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if !known || u.Hostname() == "" {
		return nil, "", fmt.Errorf("%q is not an absolute http or https URL: write for example http://127.0.0.1:80/health", u.Redacted())
	}
	if u.Port() != "" {
		port = u.Port()
	}
	if err := checkPort(port); err != nil {
		return nil, "", err
	}
	return u, net.JoinHostPort(u.Hostname(), port), nil
}

func bodyPattern(h HTTP) (*regexp.Regexp, error) {
	if h.Body == "" {
		return nil, nil
	}
	if h.Method == http.MethodHead {
		return nil, errors.New("an answer to HEAD has no body: use method GET or leave body out")
	}
	pattern, err := regexp.Compile(h.Body)
	if err != nil {
		return nil, fmt.Errorf("not a regular expression (RE2): %w: quote special characters with a backslash", err)
	}
	return pattern, nil
}

func newRequest(u *url.URL, h HTTP) (*http.Request, error) {
	method := h.Method
	if method == "" {
		method = http.MethodGet
	}
	request, err := http.NewRequest(method, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("method: %w: write for example GET", err)
	}
	request.Close = true
	request.Header.Set("User-Agent", "catchment")
	if u.User != nil {
		password, _ := u.User.Password()
		request.SetBasicAuth(u.User.Username(), password)
	}
	for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
		if err := setHeader(request, name, h.Headers[name]); err != nil {
			return nil, fmt.Errorf("headers: %w", err)
		}
	}
	return request, nil
}

func setHeader(request *http.Request, name, value string) error {
	key := textproto.CanonicalMIMEHeaderKey(name)
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return fmt.Errorf("%q is not a header name: write for example X-Probe", name)
	case !httpguts.ValidHeaderFieldValue(value):
		return fmt.Errorf("the value of %q has characters that a header cannot carry: write one line of text", name)
	case slices.Contains(ownHeaders, key):
		return fmt.Errorf("%s is set by the probe itself: remove it", key)
	case key == "Host":
		if !httpguts.ValidHostHeader(value) || value == "" {
			return fmt.Errorf("%q is not a Host: write a name or an address", value)
		}
		request.Host = value
	default:
		request.Header.Set(key, value)
	}
	return nil
}
