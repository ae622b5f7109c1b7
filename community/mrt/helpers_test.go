package mrt

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/community"
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

// octetsOf returns the octets of hexadecimal digits with blanks between them. N[ ... ] is
// what stands in it behind its length in N octets, and bgp[ ... ] a BGP message behind its
// marker and its length.
func octetsOf(t testing.TB, text string) []byte {
	t.Helper()
	var out []byte
	type opened struct{ at, size, extra int }
	var open []opened
	for _, word := range strings.Fields(text) {
		size, group := strings.CutSuffix(word, "[")
		switch {
		case size == "bgp" && group:
			out = append(out, marker...)
			out = append(out, 0, 0)
			open = append(open, opened{len(out), 2, 18})
		case group:
			n := int(size[0] - '0')
			out = append(out, make([]byte, n)...)
			open = append(open, opened{len(out), n, 0})
		case word == "]":
			last := open[len(open)-1]
			open = open[:len(open)-1]
			n := len(out) - last.at + last.extra
			for i := range last.size {
				out[last.at-1-i] = byte(n >> (8 * i))
			}
		default:
			b, err := hex.DecodeString(word)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, b...)
		}
	}
	if len(open) > 0 {
		t.Fatalf("%s: a group without an end", text)
	}
	return out
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
