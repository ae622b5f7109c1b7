package edge

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy"
)

// api serves the local API; it only translates.
type api struct {
	edgev1.UnimplementedEdgeServer
	edge *Edge
}

// failed gives an error its gRPC code.
func failed(err error) error {
	var usage UsageError
	var refused RefusedError
	var bad config.Errors
	switch {
	case err == nil:
		return nil
	case errors.As(err, &usage), errors.As(err, &bad):
		return status.Error(codes.InvalidArgument, err.Error())
	case errors.As(err, &refused):
		return status.Error(codes.FailedPrecondition, err.Error())
	case errors.Is(err, errLeaving):
		return status.Error(codes.Unavailable, err.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	}
	return status.Error(codes.Internal, err.Error())
}

func (a api) Status(ctx context.Context, _ *edgev1.StatusRequest) (*edgev1.StatusResponse, error) {
	s, err := a.edge.Snapshot(ctx)
	if err != nil {
		return nil, failed(err)
	}
	return s.proto(), nil
}

func (a api) Watch(_ *edgev1.StatusRequest, stream grpc.ServerStreamingServer[edgev1.StatusResponse]) error {
	ctx := stream.Context()
	var last *edgev1.StatusResponse
	for {
		news := a.edge.News()
		s, err := a.edge.Snapshot(ctx)
		if err != nil {
			return failed(err)
		}
		now := s.proto()
		if isNews(last, now) {
			if err := stream.Send(now); err != nil {
				return err
			}
			last = now
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil
		case <-a.edge.leaving:
			return failed(errLeaving)
		}
	}
}

// isNews says whether a watcher who has one status, or none, shall have the next.
func isNews(was, now *edgev1.StatusResponse) bool {
	return was == nil || loadMoved(was, now) || !proto.Equal(lasting(was), lasting(now))
}

// lasting is a status without what changes at every probe.
func lasting(s *edgev1.StatusResponse) *edgev1.StatusResponse {
	if s == nil {
		return nil
	}
	s = proto.CloneOf(s)
	for _, l := range s.Links {
		still(l)
	}
	for _, svc := range s.Services {
		for _, c := range svc.Checks {
			c.Last, c.DurationSeconds = nil, 0
		}
		for _, n := range svc.Neighbors {
			n.FlapPenalty = 0
			still(n.Link)
		}
	}
	return s
}

// still takes the figures out of a link that change with every sample.
func still(l *edgev1.Link) {
	if l != nil {
		*l = edgev1.Link{Name: l.Name, Stale: l.Stale, Absorb: l.Absorb, CapacityBps: l.CapacityBps, Target: l.Target}
	}
}

// moved is how far the load of a link moves, in shares of its capacity, before it
// is news.
const moved = 0.02

func loadMoved(was, now *edgev1.StatusResponse) bool {
	for i, l := range now.Links {
		if i >= len(was.Links) || math.Abs(l.GetUtilization()-was.Links[i].GetUtilization()) >= moved {
			return true
		}
	}
	return false
}

// defaultWhy is how many decisions Why tells when not asked for a number.
const defaultWhy = 20

func (a api) Why(ctx context.Context, r *edgev1.WhyRequest) (*edgev1.WhyResponse, error) {
	limit := int(r.GetLimit())
	if limit <= 0 {
		limit = defaultWhy
	}
	changes, loads, err := a.edge.Why(ctx, r.GetService(), limit)
	if err != nil {
		return nil, failed(err)
	}
	out := &edgev1.WhyResponse{}
	for _, c := range changes {
		out.Decisions = append(out.Decisions, changeProto(c))
	}
	for _, c := range loads {
		out.Load = append(out.Load, loadChangeProto(c))
	}
	return out, nil
}

func (a api) SetPin(ctx context.Context, r *edgev1.SetPinRequest) (*edgev1.PinResponse, error) {
	w := PinWord{Neighbor: r.GetNeighbor(), Rung: int(r.GetRung()), Reason: r.GetReason(), By: caller(ctx), OverrideSafety: r.GetOverrideSafety()}
	if d := r.GetDuration(); d != nil {
		if w.For = d.AsDuration(); w.For <= 0 || w.For > maxOverride {
			return nil, failed(usagef("--for %s: write a time between 1s and %s", w.For, maxOverride))
		}
	}
	pins, err := a.edge.SetPin(ctx, w)
	return pinsProto(pins, true), failed(err)
}

func (a api) ClearPin(ctx context.Context, r *edgev1.ClearPinRequest) (*edgev1.PinResponse, error) {
	pins, changed, err := a.edge.ClearPin(ctx, r.GetNeighbor(), r.GetReason(), caller(ctx))
	return pinsProto(pins, changed), failed(err)
}

func (a api) SetOverride(ctx context.Context, r *edgev1.SetOverrideRequest) (*edgev1.OverrideResponse, error) {
	w := Word{Reason: r.GetReason(), By: caller(ctx), EvenIfDead: r.GetEvenIfDead(), OverrideSafety: r.GetOverrideSafety()}
	if err := w.Verb.UnmarshalText([]byte(r.GetVerb())); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if d := r.GetDuration(); d != nil {
		if w.For = d.AsDuration(); w.For <= 0 || w.For > maxOverride {
			return nil, failed(usagef("--for %s: write a time between 1s and %s", w.For, maxOverride))
		}
	}
	overrides, changed, err := a.edge.SetOverride(ctx, selector(r.GetSelector()), w)
	return overrideProto(overrides, changed), failed(err)
}

// maxOverride bounds --for; without it an override has no end.
const maxOverride = 10 * 365 * 24 * time.Hour

func (a api) ClearOverride(ctx context.Context, r *edgev1.ClearOverrideRequest) (*edgev1.OverrideResponse, error) {
	overrides, changed, err := a.edge.ClearOverride(ctx, selector(r.GetSelector()), r.GetReason(), caller(ctx))
	return overrideProto(overrides, changed), failed(err)
}

func (a api) Transcript(ctx context.Context, _ *edgev1.TranscriptRequest) (*edgev1.TranscriptResponse, error) {
	content, err := a.edge.Transcript(ctx)
	return &edgev1.TranscriptResponse{Content: content}, failed(err)
}

func (a api) Plan(ctx context.Context, r *edgev1.PlanRequest) (*edgev1.PlanResponse, error) {
	c, warnings, err := a.parse(r.GetConfig())
	if err != nil {
		return nil, failed(err)
	}
	plans, lost, err := a.edge.Plan(ctx, c)
	if err != nil {
		return nil, failed(err)
	}
	differs, err := a.edge.Differences(ctx, c)
	return &edgev1.PlanResponse{Neighbors: plansProto(plans), Warnings: texts(warnings), NeedsLeave: lossesProto(lost),
		Differences: differs, Compared: true}, failed(err)
}

func (a api) Apply(ctx context.Context, r *edgev1.ApplyRequest) (*edgev1.ApplyResponse, error) {
	c, warnings, err := a.parse(r.GetConfig())
	if err != nil {
		return nil, failed(err)
	}
	o := ApplyOptions{OverrideSafety: r.GetOverrideSafety(), Reason: r.GetReason(), By: caller(ctx)}
	if d := r.GetConfirmWithin(); d != nil {
		if o.ConfirmWithin = d.AsDuration(); o.ConfirmWithin <= 0 || o.ConfirmWithin > maxConfirm {
			return nil, failed(usagef("--confirm-within %s: write a time between 1s and %s", o.ConfirmWithin, maxConfirm))
		}
	}
	plans, revertsAt, err := a.edge.Apply(ctx, c, warnings, r.GetConfig().GetContent(), o)
	return &edgev1.ApplyResponse{Neighbors: plansProto(plans), Warnings: texts(warnings), RevertsAt: stamp(revertsAt)}, failed(err)
}

// maxConfirm bounds --confirm-within.
const maxConfirm = 24 * time.Hour

func (a api) parse(f *edgev1.ConfigFile) (*config.Config, []config.Problem, error) {
	return a.edge.Parse(f.GetName(), f.GetContent())
}

func (a api) Confirm(ctx context.Context, _ *edgev1.ConfirmRequest) (*edgev1.ApplyResponse, error) {
	return &edgev1.ApplyResponse{}, failed(a.edge.Confirm(ctx))
}

func (a api) Rollback(ctx context.Context, _ *edgev1.RollbackRequest) (*edgev1.ApplyResponse, error) {
	plans, err := a.edge.Rollback(ctx)
	return &edgev1.ApplyResponse{Neighbors: plansProto(plans)}, failed(err)
}

func selector(s *edgev1.Selector) Selector {
	return Selector{Services: s.GetServices(), Neighbors: s.GetNeighbors(), All: s.GetAll(), Expect: int(s.GetExpect())}
}

// caller names who is at the other end of the socket.
func caller(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok {
		if who, ok := p.AuthInfo.(callerInfo); ok {
			return string(who)
		}
	}
	return ""
}

func texts(ps []config.Problem) []string {
	out := make([]string, 0, len(ps))
	for _, p := range ps {
		out = append(out, p.String())
	}
	return out
}

func overrideProto(os []policy.Override, changed int) *edgev1.OverrideResponse {
	out := &edgev1.OverrideResponse{Changed: int32(changed)}
	for _, o := range os {
		out.Overrides = append(out.Overrides, toOverride(o))
	}
	return out
}

func forService(os []policy.Override, name string) []*edgev1.Override {
	var out []*edgev1.Override
	for _, o := range os {
		if o.Service == name {
			out = append(out, toOverride(o))
		}
	}
	return out
}

// atNeighbor sums a neighbour's families up: the less severe one.
func atNeighbor(d policy.NeighborDecision) policy.Cause {
	families := []policy.Cause{d.IPv4, d.IPv6}
	families = slices.DeleteFunc(families, func(c policy.Cause) bool {
		return c.Severity == policy.Withdrawn && c.Reason == policy.Normal
	})
	if len(families) == 0 {
		return d.IPv4
	}
	return slices.MinFunc(families, func(a, b policy.Cause) int { return int(a.Severity) - int(b.Severity) })
}
