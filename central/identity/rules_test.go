package identity

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// served are the packages whose services the centre serves.
var served = []protoreflect.FullName{"catchment.central.v1", "grpc.health.v1", "grpc.reflection.v1", "grpc.reflection.v1alpha"}

// methods returns every method of every service that the centre serves, from the
// descriptors.
func methods(t *testing.T) map[string]protoreflect.MethodDescriptor {
	t.Helper()
	all := map[string]protoreflect.MethodDescriptor{}
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		if !slices.Contains(served, f.Package()) {
			return true
		}
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			for j := range s.Methods().Len() {
				m := s.Methods().Get(j)
				all[fmt.Sprintf("/%s/%s", s.FullName(), m.Name())] = m
			}
		}
		return true
	})
	if len(all) < 30 {
		t.Fatalf("only %d methods found", len(all))
	}
	return all
}

func TestEveryMethodHasARule(t *testing.T) {
	all, rules := methods(t), Rules()
	for method, m := range all {
		rule, ok := rules[method]
		if !ok {
			t.Errorf("%s has no rule: give it one in rules.go", method)
		}
		if rule.Streams != (m.IsStreamingClient() || m.IsStreamingServer()) {
			t.Errorf("%s: the rule says that it streams: %t", method, rule.Streams)
		}
	}
	for method, r := range rules {
		if _, ok := all[method]; !ok {
			t.Errorf("there is a rule for %s, which is no method", method)
		}
		if r.Anyone == (r.Least != "") {
			t.Errorf("%s: the rule names both a role and anyone, or neither", method)
		}
	}
}

// TestReadersReadAndWritersWrite holds the table against the methods' names.
func TestReadersReadAndWritersWrite(t *testing.T) {
	reads := []string{"List", "Get", "Watch", "Plan", "History", "Verify"}
	for method, m := range methods(t) {
		if m.Parent().Name() != "Fleet" {
			continue
		}
		read := slices.ContainsFunc(reads, func(p string) bool { return len(m.Name()) >= len(p) && string(m.Name()[:len(p)]) == p })
		own := m.Name() == "CreateWebLogin" // it writes, and gives the caller no more than there is
		if r := Rules()[method]; r.Writes == read || (read || own) != (r.Least == Viewer) {
			t.Errorf("%s: %+v", method, r)
		}
	}
}

// TestEveryMethodRefusesWhoMayNotCallIt calls every method as every kind of caller.
func TestEveryMethodRefusesWhoMayNotCallIt(t *testing.T) {
	c := newCentre(t)
	c.reportsAll()
	other, err := Init(c.path("other"), domain, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := Init(c.path("foreign"), "elsewhere.net", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-MachineLife - time.Hour)
	// What a caller may do is written down here once more, by hand.
	reads, writes, admin, edge, all := 1, 2, 4, 8, 16
	callers := []struct {
		name  string
		files *Files
		may   int
		why   Reason
	}{
		{"nobody", nil, all, NoCertificate},
		{"viewer", c.open(t, c.ca, Order{Kind: NOC, Name: "vera"}, "viewer", time.Now()), all | reads, WrongRole},
		{"operator", c.open(t, c.ca, Order{Kind: NOC, Name: "olga", Role: Operator}, "operator", time.Now()), all | reads | writes, WrongRole},
		{"admin", c.open(t, c.ca, Order{Kind: NOC, Name: "anna", Role: Admin}, "admin", time.Now()), all | reads | writes | admin, WrongRole},
		{"edge", c.open(t, c.ca, Order{Kind: Edge, Name: "msk1"}, "edge", time.Now()), all | edge, WrongRole},
		{"wrong CA", c.open(t, other, Order{Kind: NOC, Name: "eve", Role: Admin}, "eve", time.Now()), all, UnknownCA},
		{"wrong domain", c.open(t, foreign, Order{Kind: NOC, Name: "eve", Role: Admin}, "fred", time.Now()), all, UnknownCA},
		{"expired", c.open(t, c.ca, Order{Kind: Edge, Name: "old"}, "old", past), all, Expired},
		{"not yet valid", c.open(t, c.ca, Order{Kind: Edge, Name: "young"}, "young", time.Now().Add(48*time.Hour)), all, NotYetValid},
		{"a server's certificate", c.open(t, c.ca, Order{Kind: Central, Name: "c2", Hosts: []string{"x"}}, "c2", time.Now()), all, UnknownCA},
	}
	admins := []protoreflect.Name{"Backup", "CreateJoinToken"}
	for _, caller := range callers {
		t.Run(caller.name, func(t *testing.T) {
			conn := c.dial(t, caller.files)
			for method, m := range methods(t) {
				c.later(time.Minute / 2) // the limit on refusals is another test's
				needs := reads
				switch rule := Rules()[method]; {
				case rule.Anyone:
					needs = all
				case m.Name() == "CreateWebLogin":
				case m.Name() == "Connect":
					needs = edge
				case slices.Contains(admins, m.Name()):
					needs = admin
				case rule.Writes:
					needs = writes
				}
				before := c.counts.count(caller.why)
				err := invoke(t.Context(), conn, method, m)
				denied := status.Code(err) == codes.PermissionDenied || status.Code(err) == codes.Unauthenticated
				if m.Name() == "Join" {
					denied = !strings.Contains(status.Convert(err).Message(), "no join token")
				}
				if denied != (caller.may&needs == 0) {
					t.Errorf("%s: %v", method, err)
				}
				if denied && c.counts.count(caller.why) != before+1 {
					t.Errorf("%s: not counted as %s, but %v", method, caller.why, c.counts.by)
				}
				if r, ok := c.counts.last(caller.why); denied && (!ok || r.Method != method || r.Text != status.Convert(err).Message()) {
					t.Errorf("%s: reported as %+v", method, r)
				}
			}
		})
	}
	if err := c.dial(t, callers[3].files).Invoke(t.Context(), "/catchment.central.v1.Fleet/Nothing", dynamic(t), dynamic(t)); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a method without a rule: %v", err)
	}
	if c.counts.count(NoRule) != 1 {
		t.Error("a method without a rule is not counted")
	}
}

func dynamic(t *testing.T) *dynamicpb.Message {
	return dynamicpb.NewMessage(methods(t)["/catchment.central.v1.Fleet/GetFleet"].Input())
}

// invoke calls any method with an empty message and returns how it ends.
func invoke(ctx context.Context, conn *grpc.ClientConn, method string, m protoreflect.MethodDescriptor) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	in, out := dynamicpb.NewMessage(m.Input()), dynamicpb.NewMessage(m.Output())
	if !m.IsStreamingClient() && !m.IsStreamingServer() {
		return conn.Invoke(ctx, method, in, out)
	}
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: m.IsStreamingClient(), ServerStreams: m.IsStreamingServer()}, method)
	if err != nil {
		return err
	}
	// A refusal may come before the message is out; the answer says it.
	_ = s.SendMsg(in)
	if err := s.CloseSend(); err != nil {
		return err
	}
	return s.RecvMsg(out)
}
