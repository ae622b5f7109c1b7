package healthcheck

import (
	"bytes"
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
func httpTarget(c Check) (*target, []error) {
	if c.HTTP == nil {
		return nil, nil
	}
	p, errs := newHTTPProbe(*c.HTTP)
	if c.HTTP.MaxTime > c.Timeout {
		errs = append(errs, fmt.Errorf("http.max_time: %v is above the timeout %v: write a longer timeout", c.HTTP.MaxTime, c.Timeout))
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return &target{probe: p.attempt, address: p.address}, nil
}

func newHTTPProbe(h HTTP) (*httpProbe, []error) {
	var errs []error
	note := func(field string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("http.%s: %w", field, err))
		}
	}
	p := &httpProbe{status: slices.Clone(h.Status), minBytes: h.MinBytes, maxTime: h.MaxTime}
	u, address, err := parseURL(h.URL)
	note("url", err)
	p.address = address
	for _, code := range h.Status {
		if code < 200 || code > 599 {
			note("status", fmt.Errorf("%d is not a final HTTP status: write 200 to 599", code))
		}
	}
	p.body, err = bodyPattern(h)
	note("body", err)
	p.request, err = newRequest(h.Method)
	note("method", err)
	var wrong []error
	p.headers, wrong = headerPatterns(h.ExpectHeaders)
	for _, err := range wrong {
		note("expect_headers", err)
	}
	note("min_bytes", checkMinBytes(h))
	note("max_time", checkMaxTime(h))
	if len(errs) > 0 {
		return nil, errs
	}
	setURL(p.request, u)
	for _, err := range setHeaders(p.request, h.Headers) {
		note("headers", err)
	}
	p.wire, err = render(p.request)
	note("url", err)
	if u.Scheme == "https" {
		p.tls, err = h.TLS.config(u.Hostname(), "http/1.1")
		note("ca_file", err)
	} else if h.TLS.CA != "" {
		note("ca_file", errors.New("the URL is not https: remove it, or write https"))
	}
	return p, errs
}

func checkMinBytes(h HTTP) error {
	switch {
	case h.MinBytes < 0:
		return fmt.Errorf("%d is below zero: write how many bytes the body must have", h.MinBytes)
	case h.MinBytes > 0 && h.Method == http.MethodHead:
		return errors.New("an answer to HEAD has no body: use method GET or leave min_bytes out")
	}
	return nil
}

func checkMaxTime(h HTTP) error {
	switch {
	case h.MaxTime < 0:
		return fmt.Errorf("%v is below zero: write for example 4s", h.MaxTime)
	case h.MaxTime > 0 && h.MinBytes == 0:
		return errors.New("there is no min_bytes that it would be the time of: write min_bytes, or timeout instead")
	}
	return nil
}

func headerPatterns(expected map[string]string) ([]headerPattern, []error) {
	var patterns []headerPattern
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(expected)) {
		pattern, err := regexp.Compile(expected[name])
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			errs = append(errs, fmt.Errorf("%q is not a header name: write for example Content-Type", name))
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: not a regular expression (RE2): %w: quote special characters with a backslash", name, err))
		default:
			patterns = append(patterns, headerPattern{textproto.CanonicalMIMEHeaderKey(name), pattern})
		}
	}
	return patterns, errs
}

func render(request *http.Request) ([]byte, error) {
	var wire bytes.Buffer
	err := request.Write(&wire)
	return wire.Bytes(), err
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

func newRequest(method string) (*http.Request, error) {
	if method == "" {
		method = http.MethodGet
	}
	request, err := http.NewRequest(method, "/", nil)
	if err != nil {
		return nil, fmt.Errorf("%w: write for example GET", err)
	}
	request.Close = true
	request.Header.Set("User-Agent", "catchment")
	return request, nil
}

func setURL(request *http.Request, u *url.URL) {
	request.URL, request.Host = u, u.Host
	if u.User != nil {
		password, _ := u.User.Password()
		request.SetBasicAuth(u.User.Username(), password)
	}
}

func setHeaders(request *http.Request, headers map[string]string) []error {
	var errs []error
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		key := textproto.CanonicalMIMEHeaderKey(name)
		if seen[key] {
			errs = append(errs, fmt.Errorf("%s is given twice: keep one", key))
			continue
		}
		seen[key] = true
		if err := setHeader(request, name, headers[name]); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
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
