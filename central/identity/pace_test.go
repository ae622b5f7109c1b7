package identity

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// pacedCentre serves a handler behind the gate over TLS, and returns its address and what
// somebody known shows.
func pacedCentre(t *testing.T, answer time.Duration, handler http.HandlerFunc) (addr string, vera *tls.Config) {
	t.Helper()
	c := newCentre(t)
	c.gate.answerTime = answer
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, done := c.gate.Web(c.gate.HTTP(handler)), make(chan struct{})
	go func() { defer close(done); _ = server.Serve(tls.NewListener(l, c.gate.cfg.Files.ServerTLS())) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	if vera, err = c.open(t, c.ca, Order{Kind: NOC, Name: "vera"}, "vera", time.Now()).ClientTLS(); err != nil {
		t.Fatal(err)
	}
	vera.ServerName = "127.0.0.1"
	return l.Addr().String(), vera
}

// stalled are ways to ask for something and to read nothing of the answer.
var stalled = map[string]func(t *testing.T, addr string, cfg *tls.Config){
	"over HTTP/1.1": func(t *testing.T, addr string, cfg *tls.Config) {
		fmt.Fprintf(dialed(t, addr, cfg, "http/1.1"), "GET /v1/fleet/watch HTTP/1.1\r\nHost: x\r\n\r\n")
	},
	"over HTTP/2, a stream of many": func(t *testing.T, addr string, cfg *tls.Config) {
		transport := &http.Transport{TLSClientConfig: cfg, ForceAttemptHTTP2: true}
		t.Cleanup(transport.CloseIdleConnections)
		resp, err := (&http.Client{Transport: transport}).Get("https://" + addr + "/v1/fleet/watch")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		if resp.ProtoMajor != 2 {
			t.Errorf("the answer comes by %s", resp.Proto)
		}
	},
	"over HTTP/2, the whole connection": func(t *testing.T, addr string, cfg *tls.Config) {
		conn := dialed(t, addr, cfg, "h2")
		const most = 1<<31 - 1
		var fields bytes.Buffer
		for _, f := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "x"}, {":path", "/v1/fleet/watch"}} {
			if err := hpack.NewEncoder(&fields).WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := io.WriteString(conn, http2.ClientPreface)
		framer := http2.NewFramer(conn, conn)
		err = errors.Join(err, framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: most}),
			framer.WriteWindowUpdate(0, most-65535),
			framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: fields.Bytes(), EndStream: true, EndHeaders: true}))
		if err != nil {
			t.Fatal(err)
		}
	},
}

func dialed(t *testing.T, addr string, cfg *tls.Config, protocol string) net.Conn {
	t.Helper()
	cfg = cfg.Clone()
	cfg.NextProtos = []string{protocol}
	conn, err := tls.Dial("tcp", addr, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if got := conn.ConnectionState().NegotiatedProtocol; got != protocol {
		t.Fatalf("the connection speaks %q", got)
	}
	return conn
}

// TestAReaderWhoStopsIsLeftThoughKnown: else each page or stream that nobody reads any more
// would keep its handler for ever.
func TestAReaderWhoStopsIsLeftThoughKnown(t *testing.T) {
	for name, ask := range stalled {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			addr, cfg := pacedCentre(t, 300*time.Millisecond, func(w http.ResponseWriter, _ *http.Request) {
				for part := make([]byte, 300<<10); ; {
					_, err := w.Write(part)
					if err == nil {
						err = http.NewResponseController(w).Flush()
					}
					if err != nil {
						ended <- err
						return
					}
				}
			})
			ask(t, addr, cfg)
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Fatal("the handler still waits for its reader")
			}
		})
	}
}

func TestAStreamThatHasNothingToSayIsNotLeft(t *testing.T) {
	const answer = 500 * time.Millisecond
	for name, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr, cfg := pacedCentre(t, answer, func(w http.ResponseWriter, _ *http.Request) {
				_, err := io.WriteString(w, "news\n")
				if err := errors.Join(err, http.NewResponseController(w).Flush()); err != nil {
					t.Error(err)
				}
				<-time.After(3 * answer)
				_, _ = io.WriteString(w, "end\n")
			})
			transport := &http.Transport{TLSClientConfig: cfg, ForceAttemptHTTP2: h2}
			defer transport.CloseIdleConnections()
			resp, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Get("https://" + addr + "/v1/fleet/watch")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if text, err := io.ReadAll(resp.Body); err != nil || string(text) != "news\nend\n" || (resp.ProtoMajor == 2) != h2 {
				t.Errorf("by %s: %q, %v", resp.Proto, text, err)
			}
		})
	}
}

func TestALongAnswerArrivesWhole(t *testing.T) {
	want := bytes.Repeat([]byte("catchment"), 3*paceStep/8)
	addr, cfg := pacedCentre(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) {
		if n, err := w.Write(want); n != len(want) || err != nil {
			t.Errorf("%d of %d bytes, %v", n, len(want), err)
		}
		if n, err := w.Write(nil); n != 0 || err != nil {
			t.Errorf("nothing: %d, %v", n, err)
		}
	})
	transport := &http.Transport{TLSClientConfig: cfg}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Get("https://" + addr + "/v1/fleet")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
