package edge

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/edge/config"
)

const (
	// connectTime bounds the wait for a connection, greetTime that for the handshakes on
	// it, which take their turn at a centre that all edges come back to, firstTime that
	// for the first intent, and silentTime that for the next: the centre says all again
	// every 20 s.
	connectTime = 3 * time.Second
	greetTime   = 10 * time.Second
	firstTime   = 15 * time.Second
	silentTime  = 65 * time.Second
	// Between two tries of all centres passes retryLeast at first, later retryMost.
	retryLeast, retryMost = time.Second, 20 * time.Second
	// sendPause is the least time between two reports.
	sendPause = 50 * time.Millisecond
	// lookEvery is how often the files of the identity are looked at.
	lookEvery = 30 * time.Second
	// The connection is tried when it has been silent for pingAfter.
	pingAfter, pingWait = 10 * time.Second, 5 * time.Second
	// onTheWay is how much of the centre's may be on its way, in bytes.
	onTheWay = 64 << 10
	// mostIntent is how long an intent may be, in bytes. The 4 MiB of gRPC are some
	// thousand windows, and would end each stream that brings more.
	mostIntent = 32 << 20
)

// centreNews is what the loop hears of the centre: an intent, or with none that the
// stream has begun or ended.
type centreNews struct {
	up      bool
	address string
	fault   string
	intent  *centralv1.Intent
	at      time.Time // when it came
	// sent is when this node sent the newest report that the centre had when it wrote
	// the intent; zero: not known. answered: that was on this stream.
	sent     time.Time
	answered bool
}

// centreLink keeps one stream to one of the centres. It never makes the loop wait: of
// reports that were not sent yet the newest stands for all.
type centreLink struct {
	to   config.Central
	node string
	dial func(ctx context.Context, address string) (net.Conn, error)
	news chan<- centreNews
	wake chan struct{}

	mu     sync.Mutex
	hello  *centralv1.Hello // nil: sent on this stream
	greet  *centralv1.Hello // to begin a stream with
	report *centralv1.Report
	last   *centralv1.Report // to begin a stream with
	detail *centralv1.Detail // nil: sent on this stream
	whole  *centralv1.Detail // to begin a stream with
	ends   ends              // of the certificates read last

	// What follows belongs to the link's goroutine.
	number uint64
	sent   [64]sentReport
	stop   context.CancelFunc
	ended  chan struct{}
}

type sentReport struct {
	number uint64
	at     time.Time
}

// startLink connects once written is closed or delivers: the numbers of reports from
// number on are this run's then.
func startLink(ctx context.Context, to config.Central, node string, number uint64, written <-chan error,
	dial func(context.Context, string) (net.Conn, error), news chan<- centreNews,
) *centreLink {
	ctx, stop := context.WithCancel(ctx)
	l := &centreLink{to: to, node: node, dial: dial, news: news, wake: make(chan struct{}, 1), number: number, stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		select {
		case <-written:
		case <-ctx.Done():
		}
		l.run(ctx)
	}()
	return l
}

// close ends the stream and waits until all of it has ended.
func (l *centreLink) close() {
	l.stop()
	<-l.ended
}

// say hands the newest hello (nil: as before) and report over.
func (l *centreLink) say(h *centralv1.Hello, r *centralv1.Report) {
	l.mu.Lock()
	if h != nil {
		l.hello, l.greet = h, h
	}
	if r != nil {
		l.report, l.last = r, r
	}
	l.mu.Unlock()
	l.poke()
}

// sayDetail hands over what is for people.
func (l *centreLink) sayDetail(d *centralv1.Detail) {
	l.mu.Lock()
	l.detail, l.whole = d, d
	l.mu.Unlock()
	l.poke()
}

// poke has the link look for what is to be sent.
func (l *centreLink) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run goes round the centres. Each node begins with another one, so that they are
// spread, and waits a random time, so that those whom one centre lost do not all come
// to the next at once.
func (l *centreLink) run(ctx context.Context) {
	h := fnv.New32a()
	fmt.Fprint(h, l.node)
	at, failed := int(h.Sum32()%uint32(len(l.to.Addresses))), 0
	for ctx.Err() == nil {
		address := l.to.Addresses[at%len(l.to.Addresses)]
		heard, again, err := l.stream(ctx, address)
		if ctx.Err() != nil {
			return
		}
		l.tell(ctx, centreNews{address: address, fault: err.Error()})
		if again {
			continue
		}
		if heard {
			failed = 0
		}
		at++
		failed++
		if !pause(ctx, retryWait(failed, len(l.to.Addresses), rand.Float64())) {
			return
		}
	}
}

// retryWait is how long to wait after failures in a row: little before the next
// centre, more before all of them are tried again. chance is in 0..1.
func retryWait(failures, centres int, chance float64) time.Duration {
	round := (failures - 1) / centres
	wait := retryLeast << min(round, 10)
	return time.Duration((0.25 + 0.75*chance) * float64(min(wait, retryMost)))
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func (l *centreLink) tell(ctx context.Context, n centreNews) {
	select {
	case l.news <- n:
	case <-ctx.Done():
	}
}

// identity is the credentials by the files as they are now, and their digest.
func (l *centreLink) identity() (credentials.TransportCredentials, [32]byte, error) {
	if l.to.Insecure {
		return insecure.NewCredentials(), [32]byte{}, nil
	}
	var all []byte
	var files [3][]byte
	for i, name := range []string{l.to.TLS.CA, l.to.TLS.Cert, l.to.TLS.Key} {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, [32]byte{}, fmt.Errorf("central.tls: %w", err)
		}
		files[i], all = text, append(append(all, text...), 0)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(files[0]) {
		return nil, [32]byte{}, fmt.Errorf("central.tls.ca: %s holds no certificate", l.to.TLS.CA)
	}
	pair, err := tls.X509KeyPair(files[1], files[2])
	if err != nil {
		return nil, [32]byte{}, fmt.Errorf("central.tls: %s and %s: %w", l.to.TLS.Cert, l.to.TLS.Key, err)
	}
	l.mu.Lock()
	l.ends = endsOf(files[0], pair)
	l.mu.Unlock()
	return credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: pool,
		// Sent even where it seems of no use: the centre's answer says why in words.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil },
	}), sha256.Sum256(all), nil
}

var (
	errFilesChanged = errors.New("the files of the identity have changed")
	errSilent       = errors.New("the centre is silent")
	errSlow         = fmt.Errorf("no connection within %s, or no handshake on it within %s", connectTime, greetTime)
)

// stream connects to one centre and stays until the stream ends. heard: it said
// something; again: try the same one at once.
func (l *centreLink) stream(ctx context.Context, address string) (heard, again bool, err error) {
	creds, digest, err := l.identity()
	if err != nil {
		return false, false, err
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingAfter, Timeout: pingWait}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: connectTime + greetTime}),
		grpc.WithDisableServiceConfig(), grpc.WithNoProxy(), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(mostIntent)),
		// To find a better window each intent would be answered by a ping.
		grpc.WithStaticStreamWindowSize(onTheWay), grpc.WithStaticConnWindowSize(onTheWay),
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slow := time.AfterFunc(connectTime, func() { cancel(errSlow) })
	options = append(options, grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		raw, err := l.open(ctx, address)
		if err == nil {
			slow.Reset(greetTime)
		}
		return raw, err
	}))
	conn, err := grpc.NewClient("passthrough:///"+address, options...)
	if err != nil {
		return false, false, err
	}
	defer conn.Close()
	stream, err := centralv1.NewEdgesClient(conn).Connect(ctx)
	switch {
	case !slow.Stop(): // ctx ends any moment, if it has not
		return false, false, errSlow
	case err != nil:
		return false, false, cause(ctx, err)
	}
	heard, err = l.talk(ctx, cancel, stream, address, digest)
	return heard, errors.Is(err, errFilesChanged), err
}

// open makes a connection.
func (l *centreLink) open(ctx context.Context, address string) (net.Conn, error) {
	if l.dial != nil {
		return l.dial(ctx, address)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}

// cause is why a context has ended, if it has.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// talk sends, while another goroutine receives.
func (l *centreLink) talk(ctx context.Context, cancel context.CancelCauseFunc, stream centralv1.Edges_ConnectClient, address string, digest [32]byte) (bool, error) {
	first := l.number + 1
	heard := make(chan *centralv1.Intent)
	failed := make(chan error, 1)
	go func() {
		for {
			in, err := stream.Recv()
			if err != nil {
				failed <- err
				return
			}
			select {
			case heard <- in:
			case <-ctx.Done():
				failed <- ctx.Err()
				return
			}
		}
	}()
	l.begin()
	l.tell(ctx, centreNews{up: true, address: address})
	silence := time.AfterFunc(firstTime, func() { cancel(errSilent) })
	look := time.NewTicker(lookEvery)
	defer func() {
		silence.Stop()
		look.Stop()
		cancel(nil)
		<-failed
	}()
	spoke, wake, rest := false, l.wake, (<-chan time.Time)(nil)
	for {
		select {
		case <-wake:
			wake, rest = nil, time.After(sendPause)
			if m := l.message(); m != nil {
				if err := stream.Send(m); err != nil {
					return spoke, cause(ctx, l.why(ctx, stream, failed, err))
				}
			}
		case <-rest:
			wake, rest = l.wake, nil
		case in := <-heard:
			spoke = true
			silence.Reset(silentTime)
			n := centreNews{up: true, address: address, intent: in, at: time.Now(), answered: in.GetReport() >= first}
			if s := l.sent[in.GetReport()%uint64(len(l.sent))]; s.number == in.GetReport() {
				n.sent = s.at
			}
			l.tell(ctx, n)
		case err := <-failed:
			failed <- err
			return spoke, cause(ctx, err)
		case <-look.C:
			if _, now, err := l.identity(); err == nil && now != digest {
				return spoke, errFilesChanged
			}
		}
	}
}

// why is what the other end said when a message could not be sent.
func (l *centreLink) why(_ context.Context, _ centralv1.Edges_ConnectClient, failed chan error, err error) error {
	select {
	case said := <-failed:
		failed <- said
		return said
	case <-time.After(time.Second):
		return err
	}
}

// begin has a stream begin with the hello and the newest report.
func (l *centreLink) begin() {
	l.mu.Lock()
	l.hello, l.report, l.detail = l.greet, l.last, l.whole
	l.mu.Unlock()
	l.poke()
}

// message is what is to be sent now; nil: nothing.
func (l *centreLink) message() *centralv1.EdgeMessage {
	l.mu.Lock()
	m := &centralv1.EdgeMessage{Hello: l.hello, Report: l.report, Detail: l.detail}
	l.hello, l.report, l.detail = nil, nil, nil
	l.mu.Unlock()
	if m.Hello == nil && m.Report == nil && m.Detail == nil {
		return nil
	}
	if m.Report != nil {
		now := time.Now()
		l.number++
		l.sent[l.number%uint64(len(l.sent))] = sentReport{l.number, now}
		m.Report = proto.CloneOf(m.Report)
		m.Report.Number, m.Report.Clock = l.number, timestamppb.New(now)
	}
	return m
}
