package bmp

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/internal/octets"
)

var (
	video4 = netip.MustParsePrefix("198.51.100.0/24")
	video6 = netip.MustParsePrefix("2001:db8:100::/48")
	wanted = map[netip.Prefix]bool{video4: true, video6: true}
	start  = time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
)

// captured returns the messages of a file in testdata.
func captured(t testing.TB, name string) (out [][]byte) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			b, err := hex.DecodeString(line)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, b)
		}
	}
	return out
}

// feed gives a table a message, header and all.
func feed(t *table, b []byte, now time.Time) (bool, error) {
	kind, size, err := head([headSize]byte(b))
	if err != nil {
		return false, err
	}
	if size != len(b)-headSize {
		return false, fmt.Errorf("%d octets, not %d", len(b)-headSize, size)
	}
	return t.apply(kind, b[headSize:], now)
}

// lines are the routes of a state, in order.
func lines(s State) []string {
	var out []string
	for _, r := range s.Routes {
		id := ""
		if r.PathID != 0 {
			id = fmt.Sprintf(" #%d", r.PathID)
		}
		out = append(out, fmt.Sprintf("%s%s of %s AS%d at AS%d via %s path %q %s", r.Prefix, id, r.Peer, r.PeerASN, r.LocalASN, r.NextHop, r.Path, r.Communities))
	}
	slices.Sort(out)
	return out
}

// What messages are made of. A peer is 192.0.2.1 of AS 57629, unless its flags say else.
const (
	initiation = `bmp[ 04 0002 2[ 726f75746572 ] ] ` // "router"
	zeros      = `0000000000000000 00000000`
	rest       = ` 0000e11d c0000201 00000000 00000000 `
	peerPre    = `00 00 0000000000000000 ` + zeros + ` c0000201` + rest
	peerPost   = `00 40 0000000000000000 ` + zeros + ` c0000201` + rest
	openOurs   = ` bgp[ 01 04 fde9 0009 c00002fe 1[ 02 1[ 41 1[ 0000fde9 ] ] ] ] `
	openTheirs = ` bgp[ 01 04 e11d 0009 c0000201 1[ ] ] `
	origin     = ` 40 01 1[ 00 ] `
	path       = ` 40 02 1[ 02 01 0000e11d ] `
	hop        = ` 40 03 1[ c0000201 ] `
	tag        = ` c0 08 1[ e11d0065 ] `
	nlri       = ` 18 c63364 `
)

// up is a Peer Up with these OPENs.
func up(sent, received string) string {
	return `bmp[ 03 ` + peerPre + ` ` + zeros + ` c00002fe 00b3 00b3 ` + sent + received + ` ] `
}

// routes is a Route Monitoring of the post-policy table of the peer.
func routes(withdrawn, attrs, nlri string) string {
	return `bmp[ 00 ` + peerPost + ` bgp[ 02 2[ ` + withdrawn + ` ] 2[ ` + attrs + ` ] ` + nlri + ` ] ] `
}

// split takes messages apart.
func split(t testing.TB, text string) (out [][]byte) {
	t.Helper()
	for b := octets.Of(t, text); len(b) > 0; {
		_, size, err := head([headSize]byte(b))
		if err != nil {
			t.Fatal(err)
		}
		out, b = append(out, b[:headSize+size]), b[headSize+size:]
	}
	return out
}

// fed returns a table that has taken messages in without an error.
func fed(t testing.TB, rib RIB, messages ...[]byte) *table {
	t.Helper()
	table := newTable(rib, wanted)
	for i, m := range messages {
		if _, err := feed(table, m, start); err != nil {
			t.Fatalf("message %d, %x: %v", i, m, err)
		}
	}
	return table
}

func join(messages [][]byte) []byte { return bytes.Join(messages, nil) }
