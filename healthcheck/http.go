package healthcheck

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
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
	headers []headerPattern
	body    *regexp.Regexp // nil: any
	// minBytes and maxTime are zero where they do not matter.
	minBytes int64
	maxTime  time.Duration
}

// headerPattern is what one header of the answer must be.
type headerPattern struct {
	name    string // canonical
	pattern *regexp.Regexp
}

// attempt is the probe.
func (p *httpProbe) attempt(ctx context.Context) error {
	if p.maxTime == 0 {
		return p.exchange(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, p.maxTime)
	defer cancel()
	err := p.exchange(limited)
	if limited.Err() == nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	var part partialBody
	errors.As(err, &part)
	return progress(fmt.Sprintf("%d of %d bytes in %v", part.bytes, p.minBytes, p.maxTime))
}

// exchange sends the request and judges the answer.
func (p *httpProbe) exchange(ctx context.Context) error {
	raw, err := dial(ctx, dialer, "tcp", p.address)
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
	if err := p.checkHeaders(response.Header); err != nil {
		return err
	}
	limited.N = math.MaxInt64 // the body has its own limit, and net/http one for chunk headers
	return p.checkBody(response.Body)
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

func (p *httpProbe) checkHeaders(header http.Header) error {
	for _, want := range p.headers {
		values := header[want.name]
		if len(values) == 0 {
			return fmt.Errorf("no header %s, want one that matches %q", want.name, want.pattern)
		}
		if !slices.ContainsFunc(values, want.pattern.MatchString) {
			return fmt.Errorf("header %s: %q does not match %q", want.name, strings.Join(values, ", "), want.pattern)
		}
	}
	return nil
}

// partialBody is the end of a body before its time.
type partialBody struct {
	bytes int64
	err   error
}

// Error is the reason alone: how much there was matters with a time limit only.
func (p partialBody) Error() string { return p.err.Error() }

// Unwrap returns the reason.
func (p partialBody) Unwrap() error { return p.err }

// copyBuffers are used again: a new one for each probe was most of what it allocated.
var copyBuffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// checkBody reads the body even where any will do: one that hangs is a failure.
func (p *httpProbe) checkBody(body io.Reader) error {
	limit := p.minBytes
	if p.minBytes == 0 || p.body != nil {
		limit = max(limit, maxBody)
	}
	var text head
	if p.body != nil {
		text.size = maxBody
	}
	buffer := copyBuffers.Get().(*[32 << 10]byte)
	defer copyBuffers.Put(buffer)
	_, err := io.CopyBuffer(&text, io.LimitReader(body, limit), buffer[:])
	switch {
	case err != nil:
		return partialBody{text.total, err}
	case text.total < p.minBytes:
		return fmt.Errorf("body of %d bytes, want %d or more", text.total, p.minBytes)
	case p.body != nil && !p.body.Match(text.bytes):
		return fmt.Errorf("body does not match %q", p.body)
	}
	return nil
}
