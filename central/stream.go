package central

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/audit"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/central/store"
)

// edges serves the edges' streams.
type edges struct {
	centralv1.UnimplementedEdgesServer
	f    *Fleet
	gate *identity.Gate
	ca   *identity.CA // nil: nobody joins here
}

// Connect is one edge's stream. Two goroutines serve it: this one sends, the other
// takes in what comes.
func (e *edges) Connect(stream grpc.BidiStreamingServer[centralv1.EdgeMessage, centralv1.Intent]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	if first.GetHello() == nil {
		return status.Error(codes.InvalidArgument, "a stream begins with a hello")
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	s, err := e.f.open(ctx, first.GetHello())
	if err != nil {
		return failed(err)
	}
	defer e.f.shut(s)
	heard := make(chan error, 1)
	go func() { heard <- e.f.listen(ctx, s, first, stream.Recv) }()
	err = e.f.talk(ctx, s, heard, stream.Send)
	return failed(err) // Recv ends with the handler's return, and the listener with it
}

// listen takes in what an edge sends until the stream ends; nil: the edge has ended it.
func (f *Fleet) listen(ctx context.Context, s *session, m *centralv1.EdgeMessage, recv func() (*centralv1.EdgeMessage, error)) error {
	var due time.Time // when the next detail is to come, if they come steadily
	for {
		if m.GetDetail() != nil {
			// Each is work; who sends more of them waits with all that it sends.
			if early := time.Until(due); early > detailBurst*detailPause && !pause(ctx, early-detailBurst*detailPause) {
				return ctx.Err()
			}
			if now := time.Now(); due.Before(now) {
				due = now
			}
			due = due.Add(detailPause)
			f.details.hear(s.node, m.GetDetail(), time.Now())
		}
		if r := m.GetReport(); r != nil {
			tidy(r.ProtoReflect())
			if err := f.report(ctx, s, r); err != nil && !passing(err) {
				return err
			} else if err != nil {
				f.log.Warn("a report was not settled; the next one is", "node", s.node, "error", err)
			}
		}
		var err error
		m, err = recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if m.GetHello() != nil {
			if err := f.hello(ctx, s, m.GetHello()); err != nil {
				return err
			}
		}
	}
}

// passing reports whether the next report may fare better.
func passing(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrFull)
}

// talk sends intents until the stream ends.
func (f *Fleet) talk(ctx context.Context, s *session, heard <-chan error, send func(*centralv1.Intent) error) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		in, next := f.tell(s)
		if in != nil {
			if err := send(in); err != nil {
				return err
			}
			f.meters.intents.Inc()
		}
		if !next.IsZero() {
			timer.Reset(max(time.Millisecond, time.Until(next)))
		}
		select {
		case <-s.wake:
		case <-timer.C:
		case err := <-heard:
			return err
		case <-s.ended:
			f.mu.RLock()
			defer f.mu.RUnlock()
			return s.why
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// kindToken is the kind of join tokens.
const kindToken = "token"

// Join gives a machine its certificate for a token. A token that is no good is
// refused without a word about which of the reasons it is that others could use.
func (e *edges) Join(ctx context.Context, r *centralv1.JoinRequest) (*centralv1.JoinResponse, error) {
	const method = "/catchment.central.v1.Edges/Join"
	if e.ca == nil {
		return nil, status.Error(codes.Unimplemented, "this centre has no CA; configure pki, or issue certificates by catchment pki")
	}
	token := "" // the node of a token that is ours
	deny := func(text string) error {
		return e.gate.Deny(ctx, identity.Refusal{Reason: identity.BadToken, Method: method, Text: text, Token: token})
	}
	hash, err := identity.TokenKey(r.GetToken())
	if err != nil {
		return nil, deny(err.Error())
	}
	item, err := e.f.store.Get(ctx, key(kindToken, hash))
	if errors.Is(err, store.ErrNotFound) {
		return nil, deny("this join token is not known")
	}
	if err != nil {
		return nil, failed(err)
	}
	t, err := decode[identity.Token](item)
	if err != nil {
		return nil, failed(err)
	}
	token = t.Node
	now := time.Now()
	used, err := t.Redeem(r.GetToken(), now)
	if err != nil {
		return nil, deny(err.Error())
	}
	cert, err := e.ca.Sign(r.GetCsr(), t.Node, now)
	if err != nil {
		return nil, deny(err.Error())
	}
	op, err := put(item.Key, used)
	if err != nil {
		return nil, failed(err)
	}
	err = e.f.commit(ctx, change{conds: []store.Cond{{Key: item.Key, Revision: item.Revision}}, ops: []store.Op{op},
		entries: []audit.Entry{{Who: t.Node, Role: "edge", Method: "Join", Target: t.Node, Outcome: audit.Done, Detail: "token of " + t.By}}})
	if errors.Is(err, store.ErrConflict) {
		return nil, deny("this join token was used just now; get another one")
	}
	if err != nil {
		return nil, failed(err)
	}
	return &centralv1.JoinResponse{Certificate: cert, Ca: e.ca.PEM()}, nil
}
