// Package octets writes wire formats for tests.
//
// In goes a text of hexadecimal octets in groups; out come the octets, with the length
// of each group filled in. It does no I/O.
package octets

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
)

// Of returns the octets of a text, words of hexadecimal digits. A group "N[ ... ]" has
// its length in N octets before it; "bgp[ ... ]" is a BGP message (RFC 4271, section
// 4.1) from its type on, and "bmp[ ... ]" one of BMP (RFC 7854, section 4.1) from its
// type on. Another text ends the test.
func Of(t testing.TB, text string) []byte {
	t.Helper()
	var out []byte
	type opened struct{ at, size, extra int }
	var open []opened
	group := func(size, extra int) {
		out = append(out, make([]byte, size)...)
		open = append(open, opened{len(out), size, extra})
	}
	for _, word := range strings.Fields(text) {
		size, opens := strings.CutSuffix(word, "[")
		switch {
		case size == "bgp" && opens:
			out = append(out, bytes.Repeat([]byte{0xff}, 16)...)
			group(2, 18)
		case size == "bmp" && opens:
			out = append(out, 3)
			group(4, 5)
		case opens:
			group(int(size[0]-'0'), 0)
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
