package scenarios

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/lab/router"
)

// routes asks a router for its paths to a prefix.
func (w *world) routes(node string, prefix netip.Prefix) ([]router.Path, error) {
	r, err := w.reader(node)
	if err != nil {
		return nil, err
	}
	return r.Routes(context.Background(), prefix)
}

// route ROUTER PREFIX [CONDITION...]
func (w *world) route(words []string) (func() error, time.Duration, error) {
	want, err := parseRoute(words)
	if err == nil {
		_, err = w.reader(want.router)
	}
	if err == nil && want.from != "" {
		want.addressesOfFrom, err = w.addresses(want.from)
	}
	return func() error {
		paths, err := w.routes(want.router, want.prefix)
		return cmp.Or(err, want.fits(paths))
	}, want.within, err
}

// gone ROUTER PREFIX [from=NODE]
func (w *world) gone(words []string) (func() error, time.Duration, error) {
	want, err := parseRoute(words)
	if err == nil && len(words) > 2 && !reflect.DeepEqual(want, routeWant{router: want.router, prefix: want.prefix, from: want.from, within: want.within}) {
		err = errors.New("write: gone ROUTER PREFIX [from=NODE] [within 1s]")
	}
	if err == nil {
		_, err = w.reader(want.router)
	}
	if err == nil && want.from != "" {
		want.addressesOfFrom, err = w.addresses(want.from)
	}
	want.any = true
	return func() error {
		paths, err := w.routes(want.router, want.prefix)
		if err == nil && want.fits(paths) == nil {
			err = fmt.Errorf("%s has %+v", want.router, paths)
		}
		return err
	}, want.within, err
}

// sessions: every router's session with every neighbour is established. A router that has said so is asked no more
// until all have.
func (w *world) sessions(words []string) (func() error, time.Duration, error) {
	words, within, err := cutWithin(words, sessionsWait)
	if err == nil && len(words) > 0 {
		err = errors.New("write: sessions [within 30s]")
	}
	if err != nil || w.topology == nil {
		return nil, 0, cmp.Or(err, errors.New("there is no lab yet; write: lab TOPOLOGY"))
	}
	var all []string
	for _, n := range w.topology.Nodes {
		if router.Speaks(n.Role()) {
			all = append(all, n.Name)
		}
	}
	left := all
	return func() error {
		for len(left) > 0 {
			list, err := w.neighbors(left[0])
			if err != nil {
				return err
			}
			if at := slices.IndexFunc(list, func(n router.Neighbor) bool { return n.State != router.Established }); at >= 0 || len(list) == 0 {
				return fmt.Errorf("%s has %d sessions, not all are established: %s", left[0], len(list), states(list))
			}
			left = left[1:]
		}
		left = all // for the next time
		return nil
	}, within, nil
}

func (w *world) neighbors(node string) ([]router.Neighbor, error) {
	r, err := w.reader(node)
	if err != nil {
		return nil, err
	}
	return r.Sessions(context.Background())
}

func states(list []router.Neighbor) string {
	var words []string
	for _, n := range list {
		words = append(words, fmt.Sprintf("%s %s", n.Address, strings.Join(strings.Fields(n.State+" "+n.LastError), " ")))
	}
	return strings.Join(words, "; ")
}

// session A B STATE
func (w *world) session(words []string) (func() error, time.Duration, error) {
	words, within, err := cutWithin(words, sessionWait)
	if err == nil && len(words) != 3 {
		err = errors.New("write: session A B STATE [within 20s]; STATE is established, down or what the router calls it")
	}
	if err != nil {
		return nil, 0, err
	}
	addresses, err := w.addresses(words[1])
	if err == nil {
		_, err = w.reader(words[0])
	}
	return func() error {
		list, err := w.neighbors(words[0])
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(n router.Neighbor) bool { return !slices.Contains(addresses, n.Address) })
		if len(list) == 0 {
			return fmt.Errorf("%s has no session with %s", words[0], words[1])
		}
		for _, n := range list {
			if !inState(n.State, words[2]) {
				return fmt.Errorf("%s: %s", words[0], states(list))
			}
		}
		return nil
	}, within, err
}

func inState(state, wanted string) bool {
	if strings.EqualFold(wanted, "down") {
		return state != router.Established
	}
	return strings.EqualFold(state, wanted)
}

// nodeStatus is the part that is read of `catchment edge status -o json`.
type nodeStatus struct {
	Central  string
	Services []struct {
		Name, State, Reason, Detail string
		Neighbors                   []struct {
			Name   string
			Routes []struct{ Communities []string }
		}
	}
}

func (w *world) statusOf(node string) (s nodeStatus, err error) {
	text, err := w.must(node, "catchment", "edge", "status", "-o", "json")
	if err == nil {
		err = json.Unmarshal([]byte(text), &s)
	}
	return s, err
}

// state NODE STATE [reason=R] [service=S]
func (w *world) state(words []string) (func() error, time.Duration, error) {
	words, within, err := cutWithin(words, conditionWait)
	if err == nil && len(words) < 2 {
		err = errors.New("write: state NODE STATE [reason=R] [service=S] [within 5s]")
	}
	if err != nil {
		return nil, 0, err
	}
	wanted := map[string]string{}
	for _, word := range words[2:] {
		key, value, _ := strings.Cut(word, "=")
		if key != "reason" && key != "service" {
			return nil, 0, fmt.Errorf("%s: write reason=R or service=S", word)
		}
		wanted[key] = value
	}
	_, err = w.node(words[0])
	return func() error {
		s, err := w.statusOf(words[0])
		if err != nil {
			return err
		}
		seen := 0
		for _, service := range s.Services {
			if wanted["service"] != "" && wanted["service"] != service.Name {
				continue
			}
			seen++
			if service.State != words[1] || wanted["reason"] != "" && wanted["reason"] != service.Reason {
				return fmt.Errorf("%s: %s is %s for %s: %s", words[0], service.Name, service.State, service.Reason, service.Detail)
			}
		}
		if seen == 0 {
			return fmt.Errorf("%s has no such service", words[0])
		}
		return nil
	}, within, err
}
