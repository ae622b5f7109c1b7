package scenarios

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// visitors are the people behind a client: they fetch from the VIP all the while, on one short connection after another,
// so that all that they fetch goes by the routes of the moment.
type visitors struct {
	from     client
	rate     atomic.Int64 // bit/s that they want
	got      atomic.Int64 // bytes
	failures atomic.Int64
}

// most bytes of one download.
const most = 32 << 10

// visit has visitors come to a client, at first at no rate, until the test ends.
func visit(t testing.TB, from client) *visitors {
	t.Helper()
	v := &visitors{from: from}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { v.fetchAll(ctx) })
	t.Cleanup(func() { cancel(); all.Wait() })
	return v
}

// fetchAll fetches as much as the rate has let pile up, of the last second at most: what a full link makes them miss is
// not caught up with.
func (v *visitors) fetchAll(ctx context.Context) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var due float64
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			rate := float64(v.rate.Load()) / 8
			due = min(due+now.Sub(last).Seconds()*rate, rate)
			last = now
		}
		for due >= most && ctx.Err() == nil {
			n, err := v.fetch(ctx, most)
			if err != nil && ctx.Err() == nil {
				v.failures.Add(1)
			}
			v.got.Add(n)
			due -= most
		}
	}
}

// fetch downloads so many bytes on a connection of its own.
func (v *visitors) fetch(ctx context.Context, n int) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	conn, err := v.from.dialVIP(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	request, err := http.NewRequest(http.MethodGet, "http://"+vip4+"/zeros", nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Range", fmt.Sprintf("bytes=0-%d", n-1))
	request.Close = true
	if err := request.Write(conn); err != nil {
		return 0, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusPartialContent {
		return 0, errors.New(answer.Status)
	}
	return io.Copy(io.Discard, answer.Body)
}

// dialVIP connects to nginx behind the VIP, from the client's own address.
func (c client) dialVIP(ctx context.Context) (conn net.Conn, err error) {
	err = c.Do(func() (err error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: c.four.AsSlice()}}
		conn, err = d.DialContext(ctx, "tcp", net.JoinHostPort(vip4, "8080"))
		return err
	})
	return conn, err
}

// pipe is a link of an edge: the edge's interface, and what it carries at most, in bit/s.
type pipe struct {
	name     string
	node     *netlab.Node
	iface    string
	capacity float64
}

// loads measures for a while what share of its capacity each pipe sends.
func loads(t testing.TB, during time.Duration, pipes ...pipe) []float64 {
	t.Helper()
	read := func() (sent []uint64) {
		for _, p := range pipes {
			c, err := p.node.Traffic(p.iface)
			if err != nil {
				t.Fatal(err)
			}
			sent = append(sent, c.Sent)
		}
		return sent
	}
	before, start := read(), time.Now()
	<-time.After(during)
	after, took := read(), time.Since(start).Seconds()
	var shares []float64
	for i, p := range pipes {
		shares = append(shares, float64(after[i]-before[i])*8/took/p.capacity)
	}
	return shares
}
