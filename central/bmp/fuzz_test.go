package bmp

import (
	"bytes"
	"net"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/internal/octets"
)

func octetsOf(t testing.TB, text string) []byte {
	t.Helper()
	return octets.Of(t, text)
}

// replayed is a connection on which these octets come.
type replayed struct {
	net.Conn // nothing of it is used
	*bytes.Reader
}

func (r replayed) Read(b []byte) (int, error)    { return r.Reader.Read(b) }
func (replayed) SetReadDeadline(time.Time) error { return nil }

func FuzzSession(f *testing.F) {
	for _, name := range []string{"frr-8.4.4-post-late.txt", "frr-8.4.4-post-dump.txt", "frr-8.4.4-pre-dump.txt"} {
		f.Add(join(captured(f, name)))
	}
	f.Add(join(split(f, initiation+up(openOurs, openTheirs)+routes("", origin+path+hop+tag, nlri)+`bmp[ 05 ] `)))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newReader(replayed{Reader: bytes.NewReader(data)})
		table := newTable(Post, wanted)
		for {
			kind, body, err := r.next()
			if err != nil {
				break
			}
			if _, err := table.apply(kind, body, start); err != nil {
				break
			}
		}
		s, kept := table.state(start), 0
		for _, p := range table.peers {
			kept += len(p.routes)
		}
		if len(s.Routes) != table.routes || kept != table.routes {
			t.Errorf("%d routes in the state, %d kept, %d counted", len(s.Routes), kept, table.routes)
		}
		for _, r := range s.Routes {
			if !wanted[r.Prefix] {
				t.Errorf("%s is not wanted", r.Prefix)
			}
		}
	})
}
