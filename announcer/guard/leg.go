package guard

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// leg is the connection to the local BGP server.
type leg struct {
	conn    net.Conn
	timeout time.Duration // of a write
	mu      sync.Mutex
}

// write sends one message to the leg.
func (l *leg) write(msg []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.conn.SetWriteDeadline(time.Now().Add(l.timeout))
	_, err := l.conn.Write(msg)
	return err
}

// connectLeg gets a leg that has sent its OPEN and waits for ours. A GoBGP
// server that is not ready takes connections and closes them, so that refusals
// of any kind are tried again until the Leg timer, or most of the hold time
// that the router allows for our KEEPALIVE, is over.
func (c *Config) connectLeg(ctx context.Context, a agreement) (*leg, error) {
	ctx, cancel := context.WithTimeout(ctx, min(c.Timers.Leg, a.hold*2/3))
	defer cancel()
	for wait := c.Timers.LegRetry; ; wait = min(2*wait, 5*c.Timers.LegRetry) {
		l, o, err := c.tryLeg(ctx)
		if err == nil {
			if err = c.checkLeg(o, a); err != nil {
				l.conn.Close()
				return nil, err
			}
			return l, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("no BGP server at %s: %w", c.Leg, err)
		case <-time.After(wait):
		}
	}
}

// tryLeg dials the leg once and reads its OPEN.
func (c *Config) tryLeg(ctx context.Context) (*leg, open, error) {
	conn, err := c.dialLeg(ctx, c.Timers.LegWrite)
	if err != nil {
		return nil, open{}, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	o, err := readLegOpen(conn)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, open{}, err
	}
	return &leg{conn: conn, timeout: c.Timers.LegWrite}, o, nil
}

// checkLeg refuses a leg that is set up for another session than ours: it
// would end it later, and for reasons harder to find.
func (c *Config) checkLeg(o open, a agreement) error {
	switch hold := time.Duration(o.hold) * time.Second; {
	case o.asn != c.LocalASN:
		return fmt.Errorf("the BGP server at %s is AS %d, not %d", c.Leg, o.asn, c.LocalASN)
	case hold < a.hold:
		return fmt.Errorf("the BGP server at %s has a hold time of %s: set it to %s or more", c.Leg, hold, a.hold)
	case a.families&^o.families != 0:
		return fmt.Errorf("the BGP server at %s lacks address families that the session carries", c.Leg)
	}
	return nil
}

// readLegOpen reads the leg's OPEN and not a byte more.
func readLegOpen(r io.Reader) (open, error) {
	var b [maxMessage]byte
	if _, err := io.ReadFull(r, b[:headerLen]); err != nil {
		return open{}, err
	}
	kind, length, f := checkHeader(b[:headerLen])
	if f != nil || kind != typeOpen {
		return open{}, fmt.Errorf("it sent a message of type %d, not an OPEN", kind)
	}
	if _, err := io.ReadFull(r, b[headerLen:length]); err != nil {
		return open{}, err
	}
	o, f := parseOpen(b[headerLen:length])
	if f != nil {
		return open{}, fmt.Errorf("its OPEN is malformed: %v", f.notify)
	}
	return o, nil
}
