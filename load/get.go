package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Bounds of one request.
const (
	longestRequest = 5 * time.Second
	longestAnswer  = 1 << 20
)

// getter gets documents over HTTP. It follows no redirect, asks no proxy, and
// keeps its connection between requests.
type getter struct {
	client  http.Client
	timeout time.Duration
}

func newGetter(period time.Duration) *getter {
	dialer := net.Dialer{Timeout: longestRequest}
	return &getter{
		timeout: min(period, longestRequest),
		client: http.Client{
			Transport: &http.Transport{
				DialContext: dialer.DialContext, MaxIdleConns: 1, MaxConnsPerHost: 1,
				IdleConnTimeout: 2 * time.Minute, MaxResponseHeaderBytes: 64 << 10,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

func (g *getter) close() { g.client.CloseIdleConnections() }

// get returns the body of an answer of a wanted status. Every error is a *Refusal,
// without the URL's password.
func (g *getter) get(ctx context.Context, where string, wanted func(status int) bool) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return nil, refuse(Unreachable, "%v", inner(err))
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "catchment")
	answer, err := g.client.Do(request)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, refuse(Unreachable, "GET %s: no answer within %v", bare(request.URL), g.timeout)
		}
		return nil, refuse(Unreachable, "GET %s: %v", bare(request.URL), inner(err))
	}
	defer answer.Body.Close()
	if !wanted(answer.StatusCode) {
		return nil, refuse(Unreachable, "GET %s: status %d", bare(request.URL), answer.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, longestAnswer+1))
	switch {
	case err != nil:
		return nil, refuse(Unreachable, "GET %s: %v", bare(request.URL), err)
	case len(body) > longestAnswer:
		return nil, refuse(Malformed, "GET %s: the answer is longer than %d octets", bare(request.URL), longestAnswer)
	}
	return body, nil
}

// inner is what a *url.Error is about: its text has the whole URL.
func inner(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// bare is a URL for logs: no password, no query.
func bare(u *url.URL) string { return fmt.Sprintf("%s://%s%s", u.Scheme, u.Host, u.Path) }
