// Package gobgp starts embedded GoBGP servers so that several can live in one
// process.
//
// In goes what a server shall be; out comes a running one. GoBGP keeps some
// settings in package variables: StartBgp writes them while every other server
// may be reading them. So Start halts all other servers for the moment of the
// start. It also keeps GoBGP's logger from ending the process.
//
// It knows nothing of neighbours and routes. A server's goroutine cannot be
// ended; callers should use servers again.
package gobgp

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	api "github.com/osrg/gobgp/v3/api"
	"github.com/osrg/gobgp/v3/pkg/log"
	"github.com/osrg/gobgp/v3/pkg/server"
)

// started holds the servers of this process, in starts of one at a time.
var started struct {
	sync.Mutex
	servers []*Server
}

// Server is an embedded GoBGP server.
type Server struct {
	*server.BgpServer
	logger *logger
}

// New makes a server and runs its goroutine. Its log lines go to to at debug
// level; nil drops them.
func New(to *slog.Logger) *Server {
	l := &logger{to: to, park: make(chan chan struct{})}
	s := &Server{BgpServer: server.NewBgpServer(server.LoggerOption(l)), logger: l}
	go s.Serve()
	return s
}

// Start starts the server while all others are halted.
func (s *Server) Start(global *api.Global) error {
	started.Lock()
	defer started.Unlock()
	release := make(chan struct{})
	var parked sync.WaitGroup
	for _, other := range started.servers {
		if other != s {
			other.halt(&parked, release)
		}
	}
	err := s.StartBgp(context.Background(), &api.StartBgpRequest{Global: global})
	close(release)
	parked.Wait()
	if err == nil {
		started.servers = append(started.servers, s)
	}
	return err
}

const (
	// haltTime bounds the wait for one server to halt.
	haltTime = time.Second
	// haltName is the name of a peer group whose making halts a server: GoBGP
	// logs it from its one goroutine, and the logger waits.
	haltName = "catchment-halt"
)

// halt makes the server's goroutine wait until release is closed, and returns
// when it does. A server that was stopped does not halt and needs not to.
func (s *Server) halt(parked *sync.WaitGroup, release chan struct{}) {
	over := make(chan struct{})
	parked.Go(func() {
		defer close(over)
		ctx := context.Background()
		group := &api.PeerGroup{Conf: &api.PeerGroupConf{PeerGroupName: haltName}}
		if s.AddPeerGroup(ctx, &api.AddPeerGroupRequest{PeerGroup: group}) == nil {
			_ = s.DeletePeerGroup(ctx, &api.DeletePeerGroupRequest{Name: haltName})
		}
	})
	t := time.NewTimer(haltTime)
	defer t.Stop()
	select {
	case s.logger.park <- release:
	case <-over:
	case <-t.C:
	}
}

// logger takes GoBGP's log lines to debug level. GoBGP's own logger would end
// the process in Fatal and Panic; this one never does.
type logger struct {
	to   *slog.Logger
	park chan chan struct{} // whoever is received from here waits for that channel
}

func (l *logger) put(level, msg string, f log.Fields) {
	if l.to == nil || !l.to.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	attrs := []any{"gobgp", level}
	for k, v := range f {
		attrs = append(attrs, k, fmt.Sprint(v))
	}
	l.to.Debug(msg, attrs...)
}

func (l *logger) Panic(msg string, f log.Fields) { l.put("panic", msg, f) }
func (l *logger) Fatal(msg string, f log.Fields) { l.put("fatal", msg, f) }
func (l *logger) Error(msg string, f log.Fields) { l.put("error", msg, f) }
func (l *logger) Warn(msg string, f log.Fields)  { l.put("warn", msg, f) }
func (l *logger) Debug(msg string, f log.Fields) { l.put("debug", msg, f) }

// Info also is where a server halts.
func (l *logger) Info(msg string, f log.Fields) {
	if f["Name"] == haltName {
		select {
		case release := <-l.park:
			<-release
		default:
		}
		return
	}
	l.put("info", msg, f)
}

// SetLevel does nothing: slog's handler decides.
func (l *logger) SetLevel(log.LogLevel) {}

// GetLevel says that debug lines would be dropped, so that GoBGP does not build
// the costly ones.
func (l *logger) GetLevel() log.LogLevel { return log.InfoLevel }
