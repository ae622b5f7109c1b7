package announcer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	api "github.com/osrg/gobgp/v3/api"

	"github.com/catchment-bgp/catchment/announcer/internal/gobgp"
)

// speaker is one embedded GoBGP server with at most one neighbour: the guard,
// which dials it on a loopback port.
//
// A GoBGP server cannot be ended: its goroutine runs for ever, and stopping it
// can take 20 s. So a speaker that is no longer needed is emptied and kept for the next
// neighbour; its own ASN and router ID never show, since the guard writes OPEN.
type speaker struct {
	bgp  *gobgp.Server
	addr netip.AddrPort
	key  string // TCP MD5 key of the loopback leg
}

// loopback is the address that both ends of the leg use.
var loopback = netip.MustParseAddr("127.0.0.1")

const (
	// speakerASN and speakerID are GoBGP's global settings. Every neighbour
	// brings its own local ASN, so neither is ever seen by anyone.
	speakerASN = 64512
	speakerID  = "127.0.0.1"
	// longestHold is GoBGP's own hold time in seconds. The guard hands it the
	// hold time that was negotiated with the router, which is never longer.
	longestHold = 65535
)

// speakers holds the idle speakers of this process and the key of all legs.
var speakers struct {
	sync.Mutex
	idle []*speaker
	key  string
}

// takeSpeaker returns a speaker without neighbour and routes.
func takeSpeaker(log *slog.Logger) (*speaker, error) {
	speakers.Lock()
	defer speakers.Unlock()
	if n := len(speakers.idle); n > 0 {
		s := speakers.idle[n-1]
		speakers.idle = speakers.idle[:n-1]
		return s, nil
	}
	if speakers.key == "" {
		speakers.key = rand.Text()
	}
	s := &speaker{bgp: gobgp.New(log), key: speakers.key}
	if err := s.listen(); err != nil {
		return nil, err
	}
	return s, nil
}

// giveBack empties a speaker and keeps it for the next neighbour.
func (s *speaker) giveBack(routes []*api.Path) error {
	err := s.part()
	for _, p := range routes {
		err = errors.Join(err, s.withdraw(p))
	}
	if err != nil {
		return err // its state is unknown: never used again
	}
	speakers.Lock()
	defer speakers.Unlock()
	speakers.idle = append(speakers.idle, s)
	return nil
}

// listen starts GoBGP on a free loopback port.
func (s *speaker) listen() error {
	var err error
	for range 10 {
		if s.addr, err = freePort(); err != nil {
			return err
		}
		err = s.bgp.Start(&api.Global{
			Asn: speakerASN, RouterId: speakerID,
			ListenPort: int32(s.addr.Port()), ListenAddresses: []string{s.addr.Addr().String()},
		})
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("announcer: start the embedded BGP server on %s: %w", s.addr, err)
	}
	return nil
}

// freePort finds a loopback port that nobody listens on.
func freePort() (netip.AddrPort, error) {
	l, err := net.Listen("tcp", netip.AddrPortFrom(loopback, 0).String())
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("announcer: find a free loopback port: %w", err)
	}
	defer l.Close()
	return netip.ParseAddrPort(l.Addr().String())
}

// join adds the neighbour. GoBGP waits for the guard's connection from then on.
func (s *speaker) join(localASN, peerASN uint32, v4, v6 bool) error {
	var families []*api.AfiSafi
	add := func(on bool, afi api.Family_Afi) {
		if on {
			families = append(families, &api.AfiSafi{Config: &api.AfiSafiConfig{
				Enabled: true, Family: &api.Family{Afi: afi, Safi: api.Family_SAFI_UNICAST}}})
		}
	}
	add(v4, api.Family_AFI_IP)
	add(v6, api.Family_AFI_IP6)
	err := s.bgp.AddPeer(context.Background(), &api.AddPeerRequest{Peer: &api.Peer{
		Conf: &api.PeerConf{
			NeighborAddress: loopback.String(),
			LocalAsn:        localASN,
			PeerAsn:         peerASN,
			AuthPassword:    s.key,
		},
		Transport: &api.Transport{PassiveMode: true, LocalAddress: loopback.String()},
		Timers:    &api.Timers{Config: &api.TimersConfig{HoldTime: longestHold, KeepaliveInterval: longestHold / 3}},
		AfiSafis:  families,
	}})
	if err != nil {
		return fmt.Errorf("announcer: add the neighbour to the embedded BGP server: %w", err)
	}
	return nil
}

const (
	// partTime bounds the wait for GoBGP to notice that the guard has hung up,
	// which takes it some microseconds; partPoll is the time between two looks.
	partTime = 200 * time.Millisecond
	partPoll = 500 * time.Microsecond
)

// part removes the neighbour, if there is one. The guard has closed its
// connection before.
func (s *speaker) part() error {
	// A GoBGP whose neighbour is removed between OPEN and KEEPALIVE leaves a
	// goroutine behind for ever when a message has just come in.
	deadline := time.Now().Add(partTime)
	state, found, err := s.peerState()
	for found && handshaking(state) && time.Now().Before(deadline) {
		time.Sleep(partPoll)
		state, found, err = s.peerState()
	}
	if err != nil || !found {
		return err
	}
	return s.bgp.DeletePeer(context.Background(), &api.DeletePeerRequest{Address: loopback.String()})
}

func handshaking(state api.PeerState_SessionState) bool {
	return state == api.PeerState_OPENSENT || state == api.PeerState_OPENCONFIRM
}

// peerState is the state of the neighbour, if there is one.
func (s *speaker) peerState() (state api.PeerState_SessionState, found bool, err error) {
	err = s.bgp.ListPeer(context.Background(), &api.ListPeerRequest{}, func(p *api.Peer) {
		state, found = p.GetState().GetSessionState(), true
	})
	return state, found, err
}

// announce adds a path or replaces the one with the same prefix.
func (s *speaker) announce(p *api.Path) error {
	_, err := s.bgp.AddPath(context.Background(), &api.AddPathRequest{TableType: api.TableType_GLOBAL, Path: p})
	return err
}

// withdraw takes a path away.
func (s *speaker) withdraw(p *api.Path) error {
	return s.bgp.DeletePath(context.Background(), &api.DeletePathRequest{TableType: api.TableType_GLOBAL, Path: p})
}

// within bounds a call of GoBGP, which ignores contexts: it returns an error when
// the call has not come back after the time given. The call itself goes on.
func within(d time.Duration, what string, call func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case err := <-done:
		return err
	case <-t.C:
		return fmt.Errorf("announcer: the embedded BGP server did not %s within %s", what, d)
	}
}
