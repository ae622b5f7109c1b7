package guard

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// wire writes to the router. Whole messages go in; when a write was cut short,
// the rest of the message that it stopped in still precedes the farewell.
type wire struct {
	conn interface {
		Write([]byte) (int, error)
		SetWriteDeadline(time.Time) error
	}
	closing atomic.Bool
	linger  time.Duration

	mu   sync.Mutex
	hold time.Duration // send hold time
	rest []byte        // of a message that was written in part
	bad  error
}

var errClosing = errors.New("the connection is being closed")

// setHold changes the send hold time for the writes to come.
func (w *wire) setHold(d time.Duration) {
	w.mu.Lock()
	w.hold = d
	w.mu.Unlock()
}

// write sends whole messages.
func (w *wire) write(b []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bad != nil {
		return w.bad
	}
	if w.closing.Load() {
		return errClosing
	}
	_ = w.conn.SetWriteDeadline(time.Now().Add(w.hold))
	if w.closing.Load() { // farewell has set its deadline before ours
		_ = w.conn.SetWriteDeadline(time.Now().Add(w.linger))
	}
	n, err := w.conn.Write(b)
	if err != nil {
		w.bad, w.rest = err, unfinished(b, n)
	}
	return err
}

// unfinished is what is missing of the message that a write of b stopped in
// after n bytes; nothing when it stopped between two.
func unfinished(b []byte, n int) []byte {
	start := 0
	for start < n {
		end := start + int(binary.BigEndian.Uint16(b[start+16:start+18]))
		if n < end {
			return append([]byte(nil), b[n:end]...)
		}
		start = end
	}
	return nil
}

// farewell writes the last message. A write that is under way gets the linger
// time to end.
func (w *wire) farewell(n notification) error {
	w.closing.Store(true)
	_ = w.conn.SetWriteDeadline(time.Now().Add(w.linger))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bad != nil && !isTimeout(w.bad) {
		return w.bad
	}
	_ = w.conn.SetWriteDeadline(time.Now().Add(w.linger))
	_, err := w.conn.Write(n.append(w.rest))
	return err
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}
