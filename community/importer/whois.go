package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Dialer opens connections; *net.Dialer is one.
type Dialer interface {
	// DialContext connects as that of *net.Dialer does.
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Bounds of an answer from a server.
const (
	longestAnswer = 16 << 20
	longestWait   = 30 * time.Second
)

// Whois asks a whois server (RFC 3912) for query, such as AS64500, and reads the objects
// of the answer. host is a name or an address, with a port if it is not 43. It takes at
// most 30 seconds and 16 MiB. An error is that of the network, or says that the server has
// no such object.
func Whois(ctx context.Context, dialer Dialer, host, query string) (Result, error) {
	if query == "" || len(query) > 255 || strings.ContainsFunc(query, func(r rune) bool { return r < ' ' || r == 0x7F }) {
		return Result{}, fmt.Errorf("whois query %q is empty, too long or has control characters; ask for example AS64500", query)
	}
	ctx, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	address := host
	if _, _, err := net.SplitHostPort(host); err != nil {
		address = net.JoinHostPort(strings.Trim(host, "[]"), "43")
	}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return Result{}, fmt.Errorf("whois %s: %w", host, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	answer, err := ask(conn, query)
	if ctxErr := ctx.Err(); err != nil && ctxErr != nil {
		err = ctxErr
	}
	if err != nil {
		return Result{}, fmt.Errorf("whois %s: %w", host, err)
	}
	return readAnswer(answer, "whois://"+host+"/"+query)
}

// ask sends a query and reads all of the answer.
func ask(conn io.ReadWriter, query string) (string, error) {
	if _, err := io.WriteString(conn, query+"\r\n"); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(io.LimitReader(conn, longestAnswer+1))
	switch {
	case err != nil:
		return "", err
	case len(answer) > longestAnswer:
		return "", fmt.Errorf("the answer is larger than %d MiB", longestAnswer>>20)
	}
	return string(answer), nil
}

// readAnswer reads the objects of an answer; one without any is an error, with what the
// server says.
func readAnswer(answer, name string) (Result, error) {
	out, err := readRPSL(strings.NewReader(answer), name, Options{})
	if err != nil {
		return Result{}, err
	}
	if len(out.Entries)+len(out.InUse)+len(out.Problems) == 0 && !hasObject(answer) {
		return Result{}, fmt.Errorf("%s: %w", name, serverSays(answer))
	}
	return out, nil
}

// hasObject reports whether an answer has an aut-num.
func hasObject(answer string) bool {
	for l := range strings.Lines(answer) {
		if len(l) > 8 && strings.EqualFold(l[:8], "aut-num:") {
			return true
		}
	}
	return false
}

// serverSays is the first line that is an error, or says that there is nothing.
func serverSays(answer string) error {
	for l := range strings.Lines(answer) {
		said := strings.TrimSpace(strings.TrimLeft(clean(l), "%# "))
		if lower := strings.ToLower(said); strings.HasPrefix(lower, "error") || strings.Contains(lower, "no entries") || strings.Contains(lower, "not found") || strings.Contains(lower, "no match") {
			return errors.New(brief(said))
		}
	}
	return errors.New("the answer has no aut-num object")
}
