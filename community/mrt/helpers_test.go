package mrt

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/internal/octets"
)

// line is an entry as the tests write it:
//
//	A|seconds|peer|ASN|prefix|path identifier|path|next hop|standard|large and extended
//	W|seconds|peer|ASN|prefix|path identifier
func line(e Entry) string {
	at := fmt.Sprint(e.Time.Unix())
	if us := e.Time.Nanosecond() / 1000; us != 0 {
		at += fmt.Sprintf(".%06d", us)
	}
	kind, id := "A", ""
	if e.Withdrawn {
		kind = "W"
	}
	if e.Local {
		kind += " local"
	}
	if e.PathID != 0 {
		id = fmt.Sprint(e.PathID)
	}
	fields := []string{kind, at, e.Peer.String(), fmt.Sprint(e.PeerASN), e.Prefix.String(), id}
	if e.Withdrawn {
		return strings.Join(fields, "|")
	}
	hop := ""
	if e.NextHop.IsValid() {
		hop = e.NextHop.String()
	}
	standard := e.Communities.Of(community.Standard)
	rest := e.Communities.Without(standard)
	return strings.Join(append(fields, e.Path.String(), hop, strings.Join(standard.Strings(), " "), strings.Join(rest.Strings(), " ")), "|")
}

// lines are those of all entries.
func lines(entries iter.Seq[Entry]) []string {
	var out []string
	for e := range entries {
		out = append(out, line(e))
	}
	return out
}

// texts are those of all problems.
func texts(problems []Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.String())
	}
	return out
}

// octetsOf writes records, see octets.Of.
func octetsOf(t testing.TB, text string) []byte {
	t.Helper()
	return octets.Of(t, text)
}

func readerOf(b []byte) *Reader { return NewReader(bytes.NewReader(b)) }

// same fails the test where two lists differ, and says where.
func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got\n\t%s\nwant\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// oneByOne gives one octet at a time, as a slow pipe may.
func oneByOne(b []byte) io.Reader { return &dripping{b} }

type dripping struct{ b []byte }

func (d *dripping) Read(p []byte) (int, error) {
	if len(d.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(1, len(p))], d.b)
	d.b = d.b[n:]
	return n, nil
}

func prefix(text string) netip.Prefix { return netip.MustParsePrefix(text) }
