package edgecmd

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
)

// before is a moment that long before now; after one after it.
func before(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(now.Add(-d)) }
func after(d time.Duration) *timestamppb.Timestamp  { return timestamppb.New(now.Add(d)) }

// fullStatus has everything that a status can have.
func fullStatus() *edgev1.StatusResponse {
	return &edgev1.StatusResponse{
		Node: "msk1", Central: "none", Version: "v0.1.0", Started: before(3*time.Hour + 12*time.Minute),
		PendingApply: &edgev1.PendingApply{RevertsAt: after(100 * time.Second)},
		Warnings:     []string{"video: 198.51.100.0/25 is too long for the Internet"},
		WayBack:      &edgev1.WayBack{Required: true, Ipv4: "up", Ipv6: "down"},
		Services:     []*edgev1.Service{video(), deadDNS()},
		LoadMode:     "pi", Links: someLinks(), Pins: somePins(),
	}
}

func someLinks() []*edgev1.Link {
	return []*edgev1.Link{
		{Name: "transit-a", Utilization: proto.Float64(0.914), AgeSeconds: proto.Float64(0.4), LoadBps: 9.14e9, CapacityBps: 10e9,
			Target: 0.82, Shed: 0.31, Slowdown: 0.4, Drop: 0.1, Detail: "dwell until 12:01:30"},
		{Name: "ix", Utilization: proto.Float64(1.2), AgeSeconds: proto.Float64(90), Stale: true, LoadBps: 120e6, CapacityBps: 100e6, Shed: 0.5, Absorb: true},
		{Name: "new", CapacityBps: 1.5e12},
	}
}

func somePins() []*edgev1.Pin {
	return []*edgev1.Pin{
		{Neighbor: "transit-a", Rung: 2, Reason: "loss behind transit-a", By: "uid 0", Since: before(time.Minute), Until: after(59 * time.Minute)},
		{Neighbor: "core", Reason: "never here"},
	}
}

func video() *edgev1.Service {
	return &edgev1.Service{
		Name: "video", State: "steered", Reason: "load", Since: before(3 * time.Minute), Detail: "transit-a at 0.91",
		Checks: []*edgev1.Check{
			{Name: "web", Up: true, Last: before(time.Second), Scope: "hard", DurationSeconds: 0.0023},
			{Name: "origin", Scope: "soft", Error: "not probed yet"},
			{Name: "new", Observing: true, Last: before(2 * time.Second), Scope: "hard", Error: "HTTP 503", DurationSeconds: 1.5},
		},
		Neighbors: []*edgev1.Neighbor{
			{Name: "transit-a", Address: "10.77.1.2", Asn: 65001, Session: "established", SessionSince: before(50 * time.Hour),
				HoldTimeSeconds: 9, Rung: 2, Rungs: 4, Shed: 0.31, State: "steered", Reason: "load", Detail: "transit-a at 0.91",
				ReturnPath: "symmetric", LinkControl: "on", Settled: true, FlapPenalty: 500.4, RungReason: "covers 31% of the demand", Link: &edgev1.Link{Utilization: proto.Float64(0.914), AgeSeconds: proto.Float64(1)},
				Routes: []*edgev1.Route{
					{Prefix: "198.51.100.0/24", NextHop: "10.77.1.1", Prepend: 3, Communities: []string{"57629:101", "57629:1:101"}},
					{Prefix: "2001:db8:100::/48", NextHop: "fd77:1::1", Prepend: 3, Communities: []string{"57629:101"}, Med: proto.Uint32(0)},
				}},
			{Name: "transit-b", ReturnPath: "failed: IPv4: interface eth2 is down", LinkControl: "off",
				LinkControlReason: "replies do not leave where requests come in: IPv4: interface eth2 is down", Address: "10.77.2.2", Asn: 4200000001, Session: "idle", Rungs: 4, State: "withdrawn", Reason: "override",
				Detail: "loss in transit-b", LastError: "Cease 6/2: maintenance \x1b[2Jtonight", Link: &edgev1.Link{Stale: true, Utilization: proto.Float64(0.2)}},
			{Name: "core", Session: "established", Settled: true, State: "announced", Reason: "normal", Link: &edgev1.Link{},
				ReturnPath: "failed: nftables: no right", LinkControl: "off", LinkControlReason: "link core has no capacity; write capacity: under links:",
				Routes: []*edgev1.Route{{Prefix: "198.51.100.0/24", NextHop: "10.77.3.1", LocalPref: proto.Uint32(90)}}},
		},
		Overrides: []*edgev1.Override{{Service: "video", Neighbor: "transit-b", Verb: "withdraw", Reason: "loss in transit-b",
			By: "uid 0", Since: before(time.Minute), Until: after(29*time.Minute + 59*time.Second)}},
	}
}

func deadDNS() *edgev1.Service {
	return &edgev1.Service{
		Name: "dns", State: "withdrawn", Reason: "hard_failure", Since: before(40 * time.Second), Detail: "tcp: connection refused",
		Checks: []*edgev1.Check{{Name: "tcp", Last: before(0), Scope: "hard", Error: "connection refused", DurationSeconds: 0.00012}},
		Neighbors: []*edgev1.Neighbor{{Name: "transit-a", Session: "established", Settled: true, State: "withdrawn",
			Reason: "hard_failure", Detail: "tcp: connection refused", Link: nil,
			ReturnPath: "routed", LinkControl: "off", LinkControlReason: "the neighbor names no link"}},
		Overrides: []*edgev1.Override{
			{Service: "dns", Verb: "announce", Reason: "the check is wrong", EvenIfDead: false},
			{Service: "dns", Neighbor: "transit-a", Verb: "drain", Reason: "kernel upgrade", WithdrawAt: after(20 * time.Second)},
		},
	}
}

func someDecisions() *edgev1.WhyResponse {
	return &edgev1.WhyResponse{Decisions: []*edgev1.Decision{
		{At: before(3 * time.Minute), Trigger: "check web", Service: "video", Neighbor: "transit-a", Family: "ipv4",
			From: "announced (normal)", To: "withdrawn (hard_failure)", Detail: "web: connection refused",
			Inputs: []string{"check web down: connection refused", "override none", "way back ipv4 up"}},
		{At: before(26 * time.Hour), Trigger: "start", Service: "video", To: "announced (normal)"},
	}, Load: []*edgev1.LoadDecision{
		{At: before(2 * time.Minute), Link: "transit-a", Neighbor: "transit-a", From: 0, To: 2, Utilization: proto.Float64(0.914), Shed: 0.31,
			Detail: "covers 31% of the demand", Inputs: []string{"link transit-a 91% (9.14 of 10 Gbit/s), 1s old", "flap penalty 0 of 1800"}},
		{At: before(4 * time.Minute), Link: "ix", Detail: "absorbs: no rung left"},
		{At: before(5 * time.Minute), Link: "ix", Neighbor: "rs1", From: 1, To: 1, Detail: "stale figures"},
	}}
}

func somePlan() []*edgev1.NeighborPlan {
	return []*edgev1.NeighborPlan{
		{Name: "transit-a", Session: "kept",
			Announced: []*edgev1.Route{{Prefix: "203.0.113.0/24", NextHop: "10.77.1.1", Communities: []string{"57629:101"}}},
			Withdrawn: []*edgev1.Route{{Prefix: "2001:db8:100::/48", NextHop: "fd77:1::1", Prepend: 1}},
			Changed: []*edgev1.RouteChange{{
				From: &edgev1.Route{Prefix: "198.51.100.0/24", NextHop: "10.77.1.1", Communities: []string{"57629:101", "65001:3001"}},
				To: &edgev1.Route{Prefix: "198.51.100.0/24", NextHop: "10.77.1.9", Prepend: 3, Communities: []string{"57629:101", "65535:0"},
					Med: proto.Uint32(10), LocalPref: proto.Uint32(0)}}}},
		{Name: "transit-b", Session: "kept"},
		{Name: "ix", Session: "restarted"},
		{Name: "new", Session: "added", Announced: []*edgev1.Route{{Prefix: "198.51.100.0/24", NextHop: "10.77.4.1"}}},
		{Name: "old", Session: "removed", Withdrawn: []*edgev1.Route{{Prefix: "198.51.100.0/24", NextHop: "10.77.5.1"}}},
	}
}

func twoOverrides() *edgev1.OverrideResponse {
	return &edgev1.OverrideResponse{Changed: 2, Overrides: []*edgev1.Override{
		{Service: "video", Verb: "drain", Reason: "replacing a disk", By: "uid 0", Since: before(0), Until: after(30 * time.Minute)},
		{Service: "dns", Neighbor: "transit-a", Verb: "announce", Reason: "wrong check", By: "uid 1000", Since: before(0), EvenIfDead: true},
	}}
}
