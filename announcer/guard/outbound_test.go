package guard

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"
)

// carry runs an outbound over a stream of the leg that then ends.
func carry(leg io.Reader, live bool) (wire []byte, sent [][]byte, confirms int, f *fault) {
	var confirmed, up atomic.Bool
	up.Store(live)
	o := outbound{
		leg: leg, count: &counters{}, confirmed: &confirmed, live: &up,
		write:   func(b []byte) error { wire = append(wire, b...); return nil },
		sent:    func(b []byte) { sent = append(sent, bytes.Clone(b)) },
		confirm: func() { confirms++ },
	}
	f = o.run()
	return wire, sent, confirms, f
}

func TestOutboundKeepsMessagesWhole(t *testing.T) {
	stream := bytes.Clone(keepalive)
	stream = append(stream, numbered(1)...)
	stream = append(stream, update(maxBody)...)
	stream = append(stream, refreshes[IPv4]...)
	stream = append(stream, numbered(2)...)
	for name, leg := range map[string]io.Reader{
		"at once":      bytes.NewReader(stream),
		"byte by byte": iotest.OneByteReader(bytes.NewReader(stream)),
		"in halves":    iotest.HalfReader(bytes.NewReader(stream)),
		"and a part":   bytes.NewReader(append(bytes.Clone(stream), update(50)[:40]...)),
	} {
		t.Run(name, func(t *testing.T) {
			wire, sent, confirms, f := carry(leg, true)
			if !bytes.Equal(wire, stream) {
				t.Errorf("%d bytes on the wire, want %d", len(wire), len(stream))
			}
			if len(sent) != 3 || !bytes.Equal(sent[0], numbered(1)) || !bytes.Equal(sent[2], numbered(2)) {
				t.Errorf("Sent saw %d UPDATEs", len(sent))
			}
			if confirms != 1 || f.notify == nil || f.notify.subcode != ceaseReset {
				t.Errorf("%d confirmations, ended with %+v", confirms, f)
			}
		})
	}
}

func TestOutboundRefusesWhatTheLegMustNotSay(t *testing.T) {
	for name, tt := range map[string]struct {
		stream []byte
		live   bool
	}{
		"UPDATE before Established":  {numbered(1), false},
		"refresh before Established": {refreshes[IPv4], false},
		"OPEN again":                 {legOpen().append(nil), true},
		"no marker":                  {make([]byte, 19), true},
		"unknown type":               {appendHeader(nil, 9, 0), true},
	} {
		t.Run(name, func(t *testing.T) {
			wire, sent, _, f := carry(bytes.NewReader(append(bytes.Clone(keepalive), tt.stream...)), tt.live)
			if !bytes.Equal(wire, keepalive) || len(sent) != 0 || f.notify == nil {
				t.Errorf("wire %x, fault %+v", wire, f)
			}
		})
	}
}

func TestOutboundEndsWithTheLegsNotification(t *testing.T) {
	n := notification{code: codeCease, subcode: ceaseReset}.append(nil)
	stream := append(append(bytes.Clone(keepalive), n...), keepalive...)
	wire, _, _, f := carry(bytes.NewReader(stream), true)
	if !bytes.Equal(wire, stream[:len(stream)-headerLen]) || !f.told || f.notify != nil ||
		!strings.Contains(f.reason, "Administrative Reset") {
		t.Errorf("wire %x, fault %+v", wire, f)
	}
}

// stuck takes some bytes, then times out until it is told to go on.
type stuck struct {
	bytes.Buffer
	take int // bytes before the timeout; negative: all
}

func (s *stuck) SetWriteDeadline(time.Time) error { return nil }

func (s *stuck) Write(b []byte) (int, error) {
	if s.take < 0 || len(b) <= s.take {
		return s.Buffer.Write(b)
	}
	n, _ := s.Buffer.Write(b[:s.take])
	s.take = -1
	return n, os.ErrDeadlineExceeded
}

func TestFarewellFinishesTheMessageThatWasCut(t *testing.T) {
	batch := append(append(numbered(1), numbered(2)...), numbered(3)...)
	size := len(numbered(1))
	bye := notification{code: codeSendHold}.append(nil)
	for take := range len(batch) {
		conn := &stuck{take: take}
		w := wire{conn: conn, hold: time.Second, linger: time.Second}
		if err := w.write(batch); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("write: %v", err)
		}
		if err := w.farewell(notification{code: codeSendHold}); err != nil {
			t.Fatalf("farewell: %v", err)
		}
		whole := (take + size - 1) / size * size
		if want := append(bytes.Clone(batch[:whole]), bye...); !bytes.Equal(conn.Bytes(), want) {
			t.Errorf("after %d bytes: wire %x, want %x", take, conn.Bytes(), want)
		}
		if err := w.write(numbered(4)); err == nil {
			t.Error("a message was written after the farewell")
		}
	}
}

func TestWriteFaults(t *testing.T) {
	if f := writeFault(os.ErrDeadlineExceeded); f.notify == nil || f.notify.code != codeSendHold {
		t.Errorf("timeout: %+v", f)
	}
	if f := writeFault(io.ErrClosedPipe); f.notify != nil {
		t.Errorf("broken connection: %+v", f)
	}
}
