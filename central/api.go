package central

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/audit"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/maintenance"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// api serves the NOC; it only translates. Who may call what is decided before it.
type api struct {
	centralv1.UnimplementedFleetServer
	f  *Fleet
	ca *identity.CA // nil: no tokens
}

// caller is who calls, as the gate has found.
func caller(ctx context.Context) Caller {
	p, ok := identity.FromContext(ctx)
	if !ok {
		return Caller{Name: "unknown"}
	}
	return Caller{Name: p.Who(), Role: string(p.Role)}
}

// ask is what every request that changes something says of itself.
type ask struct {
	method, target, reason, ticket string
}

// write makes a decision that somebody asked for. What a rule refuses is audited, too.
func (a *api) write(ctx context.Context, q ask, decision func(w *world, by Caller, now time.Time) (change, error)) error {
	if err := needReason(q.reason); err != nil {
		return failed(err)
	}
	if err := needShort("the ticket", q.ticket); err != nil {
		return failed(err)
	}
	by := caller(ctx)
	err := a.f.decide(ctx, func(w *world, now time.Time) (change, error) { return decision(w, by, now) })
	if no, is := err.(refused); is {
		a.f.meters.refusals.WithLabelValues(string(no.Limit)).Inc()
		e := audit.Entry{Who: by.Name, Role: by.Role, Method: q.method, Target: q.target, Reason: q.reason, Ticket: q.ticket,
			Outcome: audit.Refused, Detail: no.Error()}
		if err := a.f.commit(ctx, change{entries: []audit.Entry{e}}); err != nil {
			return failed(err)
		}
	}
	return failed(err)
}

// said is the reason of a change that needs none: what it undoes says why it was there.
func said(reason string) string {
	if reason == "" {
		return "none given"
	}
	return reason
}

// read looks at the world as it is.
func read[T any](a *api, look func(w *world, now time.Time) (T, error)) (T, error) {
	a.f.mu.RLock()
	defer a.f.mu.RUnlock()
	out, err := look(a.f.w, time.Now())
	return out, failed(err)
}

// ListNodes implements the API, and so do all methods below.
func (a *api) ListNodes(context.Context, *centralv1.ListNodesRequest) (*centralv1.ListNodesResponse, error) {
	return read(a, func(w *world, now time.Time) (*centralv1.ListNodesResponse, error) {
		out := &centralv1.ListNodesResponse{}
		for _, name := range sorted(w.nodes) {
			out.Nodes = append(out.Nodes, w.nodeProto(name, now))
		}
		return out, nil
	})
}

func (a *api) GetNode(_ context.Context, r *centralv1.GetNodeRequest) (*centralv1.Node, error) {
	return a.node(r.GetName())
}

func (a *api) node(name string) (*centralv1.Node, error) {
	return read(a, func(w *world, now time.Time) (*centralv1.Node, error) {
		if _, ok := w.nodes[name]; !ok {
			return nil, missing("node", name)
		}
		return w.nodeProto(name, now), nil
	})
}

func (a *api) TagNode(ctx context.Context, r *centralv1.TagNodeRequest) (*centralv1.Node, error) {
	reason := r.GetReason()
	if reason == "" {
		reason = r.GetMeaning() // what a tag is for says why it is there
	}
	if reason == "" {
		reason = "no meaning" // the rule about meanings answers
	}
	err := a.write(ctx, ask{"TagNode", r.GetNode(), reason, r.GetTicket()}, func(w *world, by Caller, now time.Time) (change, error) {
		return w.tag(r, by, a.f.view.Load(), now)
	})
	if err != nil {
		return nil, err
	}
	return a.node(r.GetNode())
}

func (a *api) UntagNode(ctx context.Context, r *centralv1.UntagNodeRequest) (*centralv1.Node, error) {
	err := a.write(ctx, ask{"UntagNode", r.GetNode(), said(r.GetReason()), r.GetTicket()}, func(w *world, by Caller, now time.Time) (change, error) {
		return w.untag(r, by, a.f.view.Load(), now)
	})
	if err != nil {
		return nil, err
	}
	return a.node(r.GetNode())
}

func (a *api) SetNode(ctx context.Context, r *centralv1.SetNodeRequest) (*centralv1.Node, error) {
	err := a.write(ctx, ask{"SetNode", r.GetName(), r.GetReason(), r.GetTicket()}, func(w *world, by Caller, now time.Time) (change, error) {
		return w.setNode(r, by, now)
	})
	if err != nil {
		return nil, err
	}
	if r.GetForget() {
		return &centralv1.Node{Name: r.GetName()}, nil
	}
	return a.node(r.GetName())
}

func (a *api) AddWindow(ctx context.Context, r *centralv1.AddWindowRequest) (*centralv1.AddWindowResponse, error) {
	if r.GetDryRun() {
		return a.previewWindow(ctx, r)
	}
	id, asked := newID("w"), ""
	if r.GetRequestId() != "" {
		var err error
		if id, asked, err = onceOf(r, caller(ctx)); err != nil {
			return nil, failed(err)
		}
	}
	out := &centralv1.AddWindowResponse{}
	err := a.write(ctx, ask{"AddWindow", id, r.GetReason(), r.GetTicket()}, func(w *world, by Caller, now time.Time) (change, error) {
		made, is, err := w.madeOf(id, asked)
		if is {
			out.Window = w.windowProto(made, now)
		}
		if is || err != nil {
			return change{}, err
		}
		d, notes, c, err := w.addWindow(r, by, id, asked, now)
		if err == nil {
			out.Window, out.Warnings = w.windowProto(d, now), notes
		}
		return c, err
	})
	return out, err
}

func (a *api) ListWindows(_ context.Context, r *centralv1.ListWindowsRequest) (*centralv1.ListWindowsResponse, error) {
	return read(a, func(w *world, now time.Time) (*centralv1.ListWindowsResponse, error) {
		out, targets := &centralv1.ListWindowsResponse{}, w.targets("")
		for _, id := range sorted(w.windows) {
			p := w.windowOf(w.windows.get(id), targets, now)
			if over := p.State == string(maintenance.Ended) || p.State == string(maintenance.Cancelled); r.GetAll() || !over {
				out.Windows = append(out.Windows, p)
			}
		}
		slices.SortStableFunc(out.Windows, func(a, b *centralv1.Window) int { return nextStart(a).Compare(nextStart(b)) })
		return out, nil
	})
}

// nextStart is when a window begins next, or began.
func nextStart(w *centralv1.Window) time.Time {
	if w.NextStart != nil {
		return w.GetNextStart().AsTime()
	}
	return w.GetStart().AsTime()
}

func (a *api) GetWindow(_ context.Context, r *centralv1.GetWindowRequest) (*centralv1.Window, error) {
	return read(a, func(w *world, now time.Time) (*centralv1.Window, error) {
		d, ok := w.windows[r.GetId()]
		if !ok {
			return nil, missing("window", r.GetId())
		}
		return w.windowProto(d.doc, now), nil
	})
}

func (a *api) EndWindow(ctx context.Context, r *centralv1.EndWindowRequest) (*centralv1.Window, error) {
	var out *centralv1.Window
	err := a.write(ctx, ask{"EndWindow", r.GetId(), said(r.GetReason()), r.GetTicket()}, func(w *world, by Caller, now time.Time) (change, error) {
		d, c, err := w.endWindow("EndWindow", r.GetId(), by, r.GetReason(), r.GetTicket(),
			func(m maintenance.Window) (maintenance.Window, error) { return m.End(now) })
		out = w.windowProto(d, now)
		return c, err
	})
	return out, err
}

func (a *api) CancelWindow(ctx context.Context, r *centralv1.CancelWindowRequest) (*centralv1.Window, error) {
	var out *centralv1.Window
	err := a.write(ctx, ask{"CancelWindow", r.GetId(), said(r.GetReason()), r.GetTicket()}, func(w *world, by Caller, now time.Time) (change, error) {
		d, c, err := w.endWindow("CancelWindow", r.GetId(), by, r.GetReason(), r.GetTicket(),
			func(m maintenance.Window) (maintenance.Window, error) { return m.Cancel(now) })
		out = w.windowProto(d, now)
		return c, err
	})
	return out, err
}

func (a *api) ImportWindows(ctx context.Context, r *centralv1.ImportWindowsRequest) (*centralv1.ImportWindowsResponse, error) {
	out := &centralv1.ImportWindowsResponse{}
	err := a.write(ctx, ask{"ImportWindows", r.GetName(), "import of " + r.GetName(), ""}, func(w *world, by Caller, now time.Time) (change, error) {
		res, c, err := w.importWindows(r, by, now)
		out.Proposals, out.Problems = nil, res.problems
		for _, d := range res.proposals {
			out.Proposals = append(out.Proposals, w.windowProto(d, now))
		}
		return c, err
	})
	return out, err
}

func (a *api) ConfirmWindow(ctx context.Context, r *centralv1.ConfirmWindowRequest) (*centralv1.AddWindowResponse, error) {
	out := &centralv1.AddWindowResponse{}
	err := a.write(ctx, ask{"ConfirmWindow", r.GetId(), r.GetReason(), r.GetTicket()}, func(w *world, by Caller, now time.Time) (change, error) {
		d, warnings, c, err := w.confirmWindow(r, by, now)
		if err == nil {
			out.Window, out.Warnings = w.windowProto(d, now), warnings
		}
		return c, err
	})
	return out, err
}

func (a *api) SetFleetOverride(ctx context.Context, r *centralv1.SetFleetOverrideRequest) (*centralv1.FleetOverride, error) {
	id := newID("o")
	var out *centralv1.FleetOverride
	err := a.write(ctx, ask{"SetFleetOverride", id, r.GetReason(), r.GetTicket()}, func(w *world, by Caller, now time.Time) (change, error) {
		o, c, err := w.setOverride(r, by, id, now)
		out = o.proto()
		return c, err
	})
	return out, err
}

func (a *api) ClearFleetOverride(ctx context.Context, r *centralv1.ClearFleetOverrideRequest) (*centralv1.FleetOverride, error) {
	var out *centralv1.FleetOverride
	err := a.write(ctx, ask{"ClearFleetOverride", r.GetId(), r.GetReason(), r.GetTicket()}, func(w *world, by Caller, _ time.Time) (change, error) {
		o, c, err := w.clearOverride(r, by)
		out = o.proto()
		return c, err
	})
	return out, err
}

func (a *api) ListFleetOverrides(context.Context, *centralv1.ListFleetOverridesRequest) (*centralv1.ListFleetOverridesResponse, error) {
	return read(a, func(w *world, now time.Time) (*centralv1.ListFleetOverridesResponse, error) {
		out := &centralv1.ListFleetOverridesResponse{}
		for _, id := range sorted(w.overrides) {
			if o := w.overrides.get(id); o.Until.IsZero() || o.Until.After(now) {
				out.Overrides = append(out.Overrides, o.proto())
			}
		}
		return out, nil
	})
}

func (a *api) GetFleet(context.Context, *centralv1.GetFleetRequest) (*centralv1.FleetStatus, error) {
	return a.status()
}

// status is of now, not of the last view: whoever has just changed something sees it.
func (a *api) status() (*centralv1.FleetStatus, error) {
	return source{a.f}.Status(), nil
}

func (a *api) Freeze(ctx context.Context, r *centralv1.FreezeRequest) (*centralv1.FleetStatus, error) {
	err := a.write(ctx, ask{"Freeze", "fleet", r.GetReason(), r.GetTicket()}, func(w *world, by Caller, now time.Time) (change, error) {
		return w.freeze("Freeze", freezeDoc{Reason: r.GetReason(), Ticket: r.GetTicket(), By: by.Name, Since: now},
			audit.Entry{Who: by.Name, Role: by.Role, Reason: r.GetReason(), Ticket: r.GetTicket()})
	})
	if err != nil {
		return nil, err
	}
	return a.status()
}

func (a *api) Thaw(ctx context.Context, r *centralv1.ThawRequest) (*centralv1.FleetStatus, error) {
	err := a.write(ctx, ask{"Thaw", "fleet", r.GetReason(), r.GetTicket()}, func(w *world, by Caller, _ time.Time) (change, error) {
		return w.freeze("Thaw", freezeDoc{}, audit.Entry{Who: by.Name, Role: by.Role, Reason: r.GetReason(), Ticket: r.GetTicket()})
	})
	if err != nil {
		return nil, err
	}
	return a.status()
}

func (a *api) ListGrants(context.Context, *centralv1.ListGrantsRequest) (*centralv1.ListGrantsResponse, error) {
	return read(a, func(w *world, _ time.Time) (*centralv1.ListGrantsResponse, error) {
		out := &centralv1.ListGrantsResponse{}
		for _, name := range sorted(w.grants) {
			out.Grants = append(out.Grants, grantProto(w.grants.get(name), uint64(w.grants[name].revision)))
		}
		return out, nil
	})
}

func (a *api) RevokeGrant(ctx context.Context, r *centralv1.RevokeGrantRequest) (*centralv1.Grant, error) {
	var out *centralv1.Grant
	err := a.write(ctx, ask{"RevokeGrant", r.GetId(), r.GetReason(), r.GetTicket()}, func(w *world, by Caller, _ time.Time) (change, error) {
		node, err := w.holder(r.GetNode(), r.GetId())
		if err != nil {
			return change{}, err
		}
		c, taken, err := w.revoke(func(g fleet.Grant) bool { return g.ID == r.GetId() && g.Node == node }, audit.Entry{Who: by.Name, Role: by.Role,
			Method: "RevokeGrant", Reason: r.GetReason(), Ticket: r.GetTicket(), Outcome: audit.Done})
		if len(taken) > 0 {
			out = grantProto(taken[0], 0)
		}
		return c, err
	})
	return out, err
}

func (a *api) Plan(_ context.Context, r *centralv1.PlanRequest) (*centralv1.PlanResponse, error) {
	return read(a, func(w *world, now time.Time) (*centralv1.PlanResponse, error) {
		for _, name := range r.GetDrain() {
			if _, ok := w.nodes[name]; !ok {
				return nil, missing("node", name)
			}
		}
		if len(r.GetDrain()) == 0 {
			return nil, badf("name the nodes that would be drained")
		}
		answer, landed := fleet.Plan(w.fleetAt(now), r.GetDrain())
		out := &centralv1.PlanResponse{Allowed: answer.OK, Reason: answer.Refusal.Reason, Limit: string(answer.Refusal.Limit)}
		for _, l := range landed {
			out.Landings = append(out.Landings, &centralv1.Landing{Node: l.Node, Utilization: l.Utilization, WouldBe: l.WouldBe})
		}
		return out, nil
	})
}

func (a *api) History(ctx context.Context, r *centralv1.HistoryRequest) (*centralv1.FleetStatus, error) {
	if r.GetAt() == nil {
		return nil, failed(badf("say of which moment with at"))
	}
	out, err := a.f.past(ctx, moment(r.GetAt()))
	return out, failed(err)
}

// watchEvery is how often a watch hears of changes at most.
const watchEvery = time.Second

func (a *api) Watch(_ *centralv1.GetFleetRequest, stream grpc.ServerStreamingServer[centralv1.FleetStatus]) error {
	ctx := stream.Context()
	var last *centralv1.FleetStatus
	for {
		a.f.mu.RLock()
		news := a.f.news
		a.f.mu.RUnlock()
		now, err := a.status()
		if err != nil {
			return err
		}
		if !sameFleet(last, now) {
			if err := stream.Send(now); err != nil {
				return err
			}
			last = now
		}
		if !pause(ctx, watchEvery) {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil
		case <-a.f.leaving:
			return failed(errLeaving)
		}
	}
}

// maxRecords is how many audit records one answer has at most.
const maxRecords = 1000

func (a *api) ListAudit(ctx context.Context, r *centralv1.ListAuditRequest) (*centralv1.ListAuditResponse, error) {
	limit := min(int(r.GetLimit()), maxRecords)
	records, err := a.f.audit.From(ctx, r.GetFrom(), limit)
	if r.GetFrom() == 0 {
		records, err = a.f.audit.List(ctx, audit.Filter{Limit: limit, Who: r.GetWho(), Target: r.GetTarget(), Before: r.GetBefore()})
	}
	if err != nil {
		return nil, failed(err)
	}
	out := &centralv1.ListAuditResponse{}
	for _, rec := range records {
		out.Records = append(out.Records, &centralv1.AuditRecord{Number: rec.Number, At: stamp(rec.At), Who: rec.Who, Role: rec.Role, Method: rec.Method,
			Target: rec.Target, Reason: rec.Reason, Ticket: rec.Ticket, Outcome: rec.Outcome, Detail: rec.Detail, Before: rec.Before, After: rec.After, Hash: rec.Hash})
	}
	return out, nil
}

func (a *api) VerifyAudit(ctx context.Context, _ *centralv1.VerifyAuditRequest) (*centralv1.VerifyAuditResponse, error) {
	v, err := a.f.audit.Verify(ctx)
	if err != nil {
		return nil, failed(err)
	}
	out := &centralv1.VerifyAuditResponse{Ok: v.OK, Records: v.Records, BrokenAt: v.BrokenAt, Detail: v.Detail,
		Pruned: v.Pruned.Number, PrunedHash: v.Pruned.Hash, HeadHash: v.Head.Hash}
	if !v.PrunedAt.IsZero() {
		out.PrunedAt = stamp(v.PrunedAt)
	}
	return out, nil
}
