package identity

import (
	"net"
	"sync"
)

// maxGuests is how many connections a listener has of callers who have not shown who
// they are: more than the edges of a large fleet that come back at once.
const maxGuests = 12_000

// Door returns a listener that bounds what strangers can hold open: connections whose
// handshake is not over, and those without a good certificate. When there are too
// many, one of the host that has the most of them is closed, so a flood from one place
// keeps nobody else out. Callers that are known are not bounded.
func (g *Gate) Door(l net.Listener) net.Listener {
	return &door{Listener: l, gate: g, most: maxGuests, guests: map[string][]*guest{}}
}

type door struct {
	net.Listener
	gate *Gate
	most int

	mu     sync.Mutex
	guests map[string][]*guest // by host, oldest first
	count  int
}

// guest is a connection that counts until it is closed or known.
type guest struct {
	net.Conn
	door *door
	host string
	in   bool // among the guests; under the door's lock
}

// Accept returns the next connection that may stay.
func (d *door) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		g := &guest{Conn: conn, door: d, host: hostOf(conn.RemoteAddr().String()), in: true}
		out := d.enter(g)
		if out != nil {
			_ = out.Close() // nothing was written to it that could be lost
			d.gate.tooMany(out)
		}
		if out != g {
			return g, nil
		}
	}
}

// enter counts a guest, and returns the one that has to go, if any.
func (d *door) enter(g *guest) *guest {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.guests[g.host] = append(d.guests[g.host], g)
	if d.count++; d.count <= d.most {
		return nil
	}
	host := g.host
	for h, all := range d.guests {
		if len(all) > len(d.guests[host]) {
			host = h
		}
	}
	if host == g.host {
		return g // one host: who came first may come to the end of its handshake
	}
	return d.guests[host][0]
}

// leave no longer counts a guest.
func (d *door) leave(g *guest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !g.in {
		return
	}
	g.in = false
	d.count--
	left := d.guests[g.host]
	for i, other := range left {
		if other == g {
			left = append(left[:i], left[i+1:]...)
			break
		}
	}
	if d.guests[g.host] = left; len(left) == 0 {
		delete(d.guests, g.host)
	}
}

// Close closes the connection.
func (g *guest) Close() error {
	g.door.leave(g)
	return g.Conn.Close()
}

// known says that the other end of a connection has shown who it is.
func known(conn net.Conn) {
	if g, ok := conn.(*guest); ok {
		g.door.leave(g)
	}
}
