package edge

import (
	"context"
	"net"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/edge/config"
)

// Link is a node's stream to the centre without the node: the same connections, waits
// and turns from one centre to the next as those of an Edge, but nothing that obeys.
// It is for programs that measure a centre. All methods may be called at the same time.
type Link struct {
	link  *centreLink
	ended chan struct{}
}

// LinkNews is what comes of a centre.
type LinkNews struct {
	// Up is true while the stream stands; else Fault says why it does not.
	Up    bool
	Fault string
	// Intent is what the centre wants; nil where only Up has changed.
	Intent *centralv1.Intent
}

// OpenLink begins to connect for a node, until Close or until ctx ends. dial opens
// connections; nil: as the system does. heard is called for all that comes, never
// twice at once, and keeps the link waiting meanwhile.
func OpenLink(ctx context.Context, to config.Central, node string, dial func(ctx context.Context, address string) (net.Conn, error), heard func(LinkNews)) *Link {
	news, written := make(chan centreNews), make(chan error)
	close(written) // nothing is kept
	l := &Link{link: startLink(ctx, to, node, 0, written, dial, news), ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		for {
			select {
			case n := <-news:
				heard(LinkNews{Up: n.up, Fault: n.fault, Intent: n.intent})
			case <-l.link.ended:
				return
			}
		}
	}()
	return l
}

// Say hands over the newest hello (nil: as before) and report (nil: as before). Both
// are also what the next stream begins with; they must not be changed any more.
func (l *Link) Say(h *centralv1.Hello, r *centralv1.Report) { l.link.say(h, r) }

// Close ends the stream and waits until all of it has ended. heard may not call it.
func (l *Link) Close() {
	l.link.close()
	<-l.ended
}
