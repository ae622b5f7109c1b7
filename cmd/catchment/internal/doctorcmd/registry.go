package doctorcmd

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/doctor"
	"github.com/catchment-bgp/catchment/edge/config"
)

const (
	// fetchWithin bounds one download.
	fetchWithin = 2 * time.Minute
	// mostRead bounds a document, in octets, unpacked: the RIPE DB's routes have some
	// hundreds of MiB.
	mostRead = 4 << 30
	// perRoute is the path of Routinator's answers for one route.
	perRoute = "/api/v1/validity"
)

// prefixes are those of all services.
func prefixes(c *config.Config) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range c.Services {
		out = append(out, s.Prefixes...)
	}
	return out
}

// readVRPs reads a file, or what a validator serves.
func readVRPs(ctx context.Context, source string, c *config.Config) ([]doctor.VRP, error) {
	ours := prefixes(c)
	if !strings.Contains(source, "://") || !strings.Contains(source, perRoute) {
		var out []doctor.VRP
		err := open(ctx, source, func(r io.Reader) (err error) {
			out, err = doctor.ReadVRPs(r, ours)
			return err
		})
		return out, err
	}
	base, _, _ := strings.Cut(source, perRoute)
	var out []doctor.VRP
	seen := map[doctor.VRP]bool{}
	for _, p := range ours {
		err := open(ctx, fmt.Sprintf("%s%s/AS%d/%s", base, perRoute, c.ASN, p), func(r io.Reader) error {
			some, err := doctor.ReadVRPs(r, ours)
			for _, v := range some {
				if !seen[v] {
					seen[v] = true
					out = append(out, v)
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func readRoutes(ctx context.Context, source string, c *config.Config) ([]doctor.RouteObject, error) {
	var out []doctor.RouteObject
	err := open(ctx, source, func(r io.Reader) (err error) {
		out, err = doctor.ReadRoutes(r, prefixes(c))
		return err
	})
	return out, err
}

// open gives a file or the document at a URL to use, unpacked where it is gzip.
func open(ctx context.Context, source string, use func(io.Reader) error) error {
	in, err := raw(ctx, source)
	if err != nil {
		return err
	}
	defer in.Close() // it is only read
	plain, err := unpacked(io.LimitReader(in, mostRead))
	if err != nil {
		return err
	}
	return use(io.LimitReader(plain, mostRead))
}

func unpacked(r io.Reader) (io.Reader, error) {
	in := bufio.NewReader(r)
	if magic, err := in.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		return gzip.NewReader(in)
	}
	return in, nil
}

func raw(ctx context.Context, source string) (io.ReadCloser, error) {
	if !strings.Contains(source, "://") {
		return os.Open(source)
	}
	u, err := url.Parse(source)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("only files, and URLs that begin with http:// or https://, can be read")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return nil, errors.New("the URL cannot be used")
	}
	answer, err := (&http.Client{Timeout: fetchWithin}).Do(request)
	if err != nil {
		var where *url.Error // its text has the URL, which may hold a password
		if errors.As(err, &where) {
			err = where.Err
		}
		return nil, fmt.Errorf("%s: %w", u.Host, err)
	}
	if answer.StatusCode != http.StatusOK {
		_ = answer.Body.Close() // nothing of it was read
		return nil, fmt.Errorf("%s answers %s", u.Host, answer.Status)
	}
	return answer.Body, nil
}
