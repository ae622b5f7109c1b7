package routegen

import (
	"bufio"
	"context"
	"io"
	"time"
)

// Peer is the OPEN that the other side sent.
func (s *Speaker) Peer() Open { return s.peer }

// Send writes bytes as they are: a whole message, several, or nonsense.
func (s *Speaker) Send(raw []byte) error {
	s.write.Lock()
	defer s.write.Unlock()
	_, err := s.conn.Write(raw)
	return err
}

// SendUpdate sends an UPDATE with this body.
func (s *Speaker) SendUpdate(body []byte) error { return s.Send(Frame(TypeUpdate, body)) }

// batch is how many bytes Flood writes at a time; KEEPALIVEs go between.
const batch = 64 << 10

// Flood sends the messages gen(0) to gen(n-1) as fast as the other side takes them, and returns how many it sent. It
// ends early when ctx does, between two messages; a write that blocks for a second after that is cut off, and the
// session with it.
func (s *Speaker) Flood(ctx context.Context, n int, gen func(i int) []byte) (int, error) {
	buffer := make([]byte, 0, batch+maxMessage)
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetWriteDeadline(time.Now().Add(time.Second)) })
	defer func() {
		if !stop() {
			_ = s.conn.SetWriteDeadline(time.Time{})
		}
	}()
	sent, i := 0, 0
	for i < n {
		for buffer = buffer[:0]; i < n && len(buffer) < batch; i++ {
			buffer = append(buffer, gen(i)...)
		}
		if ctx.Err() != nil {
			return sent, ctx.Err()
		}
		if err := s.Send(buffer); err != nil {
			return sent, err
		}
		sent = i
	}
	return sent, nil
}

// Received gives every message of the other side, those of the handshake first, in order and however late it is read.
// It is closed when the connection has ended and all was taken.
func (s *Speaker) Received() <-chan Message { return s.received }

// Done is closed when the connection has ended.
func (s *Speaker) Done() <-chan struct{} { return s.ended }

// Err says why the connection ended: a *Notification when the other side sent one, io.EOF when it just closed; nil while
// it lives.
func (s *Speaker) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Stall stops reading from the connection, after the message that is under way, until Resume: the other side's writes
// block when the kernel's buffers are full.
func (s *Speaker) Stall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stalled == nil {
		s.stalled = make(chan struct{})
	}
}

// Resume ends a Stall.
func (s *Speaker) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stalled != nil {
		close(s.stalled)
		s.stalled = nil
	}
}

// awaitResume waits while reading is stalled.
func (s *Speaker) awaitResume() {
	s.mu.Lock()
	stalled := s.stalled
	s.mu.Unlock()
	if stalled == nil {
		return
	}
	select {
	case <-stalled:
	case <-s.quit:
	}
}

// Close ends the connection without a NOTIFICATION and waits for the speaker's goroutines. What was received and not
// taken is lost.
func (s *Speaker) Close() error {
	var err error
	s.once.Do(func() {
		close(s.quit)
		err = s.conn.Close()
	})
	s.workers.Wait()
	return err
}

// read puts messages into the queue until the connection ends.
func (s *Speaker) read(r *bufio.Reader) {
	defer close(s.ended)
	var reason error
	for {
		s.awaitResume()
		m, err := readMessage(r)
		if err != nil {
			if reason == nil {
				reason = err
			}
			s.push(nil, reason)
			return
		}
		if m.Type == TypeNotification {
			if n, err := ParseNotification(m.Body); err == nil {
				reason = n
			}
		}
		s.push(&m, nil)
	}
}

func (s *Speaker) push(m *Message, err error) {
	s.mu.Lock()
	if m != nil {
		s.queue = append(s.queue, *m)
	} else {
		s.err = err
	}
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// deliver moves messages from the queue, which has no limit, to the channel.
func (s *Speaker) deliver() {
	defer close(s.received)
	for {
		s.mu.Lock()
		queue, err := s.queue, s.err
		s.queue = nil
		s.mu.Unlock()
		for _, m := range queue {
			select {
			case s.received <- m:
			case <-s.quit:
				return
			}
		}
		if err != nil {
			return
		}
		select {
		case <-s.more:
		case <-s.quit:
			return
		}
	}
}

// keep sends KEEPALIVEs until the connection ends.
func (s *Speaker) keep(interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if s.Send(Frame(TypeKeepalive, nil)) != nil {
				return
			}
		case <-s.quit:
			return
		case <-s.ended:
			return
		}
	}
}

var _ io.Closer = (*Speaker)(nil)
