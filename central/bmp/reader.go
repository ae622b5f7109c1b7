package bmp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// reader reads messages of a connection.
type reader struct {
	conn  net.Conn
	in    *bufio.Reader
	body  []byte
	began bool
}

func newReader(conn net.Conn) *reader {
	return &reader{conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
}

// wireError is that of octets that are no message.
type wireError struct{ error }

// next returns the next message; the body is good until the next call.
func (r *reader) next() (kind byte, body []byte, err error) {
	if r.began { // a router without news is silent
		if _, err := r.in.Peek(1); err != nil {
			return 0, nil, err
		}
	}
	var h [headSize]byte
	if err := r.fill(h[:]); err != nil {
		return 0, nil, err
	}
	kind, size, err := head(h)
	if err != nil {
		return 0, nil, &wireError{err}
	}
	if size > cap(r.body) {
		r.body = make([]byte, size)
	}
	r.body = r.body[:size]
	if err := r.fill(r.body); err != nil {
		return 0, nil, err
	}
	r.began = true
	return kind, r.body, nil
}

// fill reads as many octets as b has. Those that are not here yet must come in time.
func (r *reader) fill(b []byte) error {
	if r.in.Buffered() < len(b) {
		if err := r.conn.SetReadDeadline(time.Now().Add(MessageTime)); err != nil {
			return err
		}
	}
	if _, err := io.ReadFull(r.in, b); err != nil {
		return err
	}
	return r.conn.SetReadDeadline(time.Time{})
}

// reason is why a connection ended, for people.
func reason(err error) string {
	switch {
	case errors.Is(err, io.EOF):
		return "the router closed the connection"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the router closed the connection inside a message"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Sprintf("no whole message came within %v", MessageTime)
	case errors.Is(err, net.ErrClosed):
		return "this centre closed the connection"
	}
	return err.Error()
}
