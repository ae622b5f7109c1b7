package healthcheck

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

const (
	maxHead    = 64 << 10 // bytes of status lines and headers, interim answers included
	maxBody    = 64 << 10 // bytes of body that are read
	maxInterim = 5        // answers 1xx (RFC 9110, section 15.2) before the final one
)

// httpProbe is one request, made ready. It speaks HTTP/1.1 on a connection of its
// own instead of using http.Transport, whose dials outlive their request.
type httpProbe struct {
	address string
	tls     *tls.Config // nil: plain HTTP
	request *http.Request
	wire    []byte // the request as sent
	status  []int
	body    *regexp.Regexp // nil: any
}

// attempt is the probe.
func (p *httpProbe) attempt(ctx context.Context) error {
	raw, err := dialer.DialContext(ctx, "tcp", p.address)
	if err != nil {
		return err
	}
	defer raw.Close()
	defer bind(ctx, raw)()
	conn := raw
	if p.tls != nil {
		secure := tls.Client(raw, p.tls)
		if err := secure.HandshakeContext(ctx); err != nil {
			return err
		}
		conn = secure
	}
	if _, err := conn.Write(p.wire); err != nil {
		return err
	}
	return p.judge(conn)
}

// judge reads the answer. The response's body is never closed: closing reads it
// to its end, and the connection goes anyway.
func (p *httpProbe) judge(conn io.Reader) error {
	limited := &io.LimitedReader{R: conn, N: maxHead}
	response, err := finalResponse(bufio.NewReader(limited), p.request)
	if err != nil {
		if limited.N <= 0 {
			return errors.New("answer with more than 64 KiB of headers")
		}
		return err
	}
	if err := p.checkStatus(response.StatusCode); err != nil {
		return err
	}
	limited.N = math.MaxInt64 // the body has its own limit, and net/http one for chunk headers
	return p.checkBody(io.LimitReader(response.Body, maxBody))
}

// finalResponse skips interim answers.
func finalResponse(r *bufio.Reader, request *http.Request) (*http.Response, error) {
	for range maxInterim + 1 {
		response, err := http.ReadResponse(r, request)
		if err != nil {
			return nil, err
		}
		if response.StatusCode >= 200 || response.StatusCode == http.StatusSwitchingProtocols {
			return response, nil
		}
	}
	return nil, fmt.Errorf("more than %d interim answers (1xx)", maxInterim)
}

func (p *httpProbe) checkStatus(code int) error {
	want := "200-299"
	if len(p.status) == 0 {
		if code >= 200 && code <= 299 {
			return nil
		}
	} else {
		if slices.Contains(p.status, code) {
			return nil
		}
		want = strings.Trim(strings.Join(strings.Fields(fmt.Sprint(p.status)), ", "), "[]")
	}
	if code >= 300 && code <= 399 {
		return fmt.Errorf("status %d, want %s (redirects are not followed)", code, want)
	}
	return fmt.Errorf("status %d, want %s", code, want)
}

// checkBody reads the body even where any will do: one that hangs is a failure.
func (p *httpProbe) checkBody(r io.Reader) error {
	if p.body == nil {
		_, err := io.Copy(io.Discard, r)
		return err
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(r); err != nil {
		return err
	}
	if !p.body.Match(text.Bytes()) {
		return fmt.Errorf("body does not match %q", p.body)
	}
	return nil
}
