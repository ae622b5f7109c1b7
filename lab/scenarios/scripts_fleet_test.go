package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// clientLabel marks nodes that are clients beside what else they are.
const clientLabel = "client"

// clients are all nodes of a lab that ask for its service.
func (w *world) clients() []string {
	names := w.ofRole("client")
	for _, n := range w.topology.Nodes {
		if n.Labels[clientLabel] != "" && !slices.Contains(names, n.Name) {
			names = append(names, n.Name)
		}
	}
	return names
}

// answers CLIENT NODE: of pings from the service's address at every node the client's answer comes back at that node, and
// at no other.
func (w *world) answers(words []string) (func() error, time.Duration, error) {
	words, within, err := cutWithin(words, conditionWait)
	if err == nil && len(words) != 2 {
		err = errors.New("write: answers CLIENT NODE [within 5s]")
	}
	if err != nil {
		return nil, 0, err
	}
	list, err := w.addresses(words[0])
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s has no address", words[0])
	}
	at, e := w.service("")
	if err = cmp.Or(err, e); err != nil {
		return nil, 0, err
	}
	return func() error {
		heard := w.pinged(at.Addr().String(), list[0].String())
		if !slices.Equal(heard, words[1:]) {
			return fmt.Errorf("the answers of %s (%s) come back at %v, not at %s alone", words[0], list[0], heard, words[1])
		}
		return nil
	}, within, nil
}

// pinged lists the nodes that hear an answer to a ping of their own, from one address to another.
func (w *world) pinged(from, to string) (heard []string) {
	nodes := w.ofRole("catchment-edge")
	answered := make([]bool, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() {
			a, err := w.run(n, "ping", "-n", "-c", "2", "-i", "0.3", "-W", "1", "-I", from, to)
			answered[i] = err == nil && a.code == 0
		})
	}
	all.Wait()
	for i, n := range nodes {
		if answered[i] {
			heard = append(heard, n)
		}
	}
	return heard
}

// prints PATTERN NODE COMMAND...: what the command writes to stdout fits the regular expression.
func (w *world) prints(words []string) (func() error, time.Duration, error) {
	words, within, err := cutWithin(words, conditionWait)
	if err == nil && len(words) < 3 {
		err = errors.New("write: prints PATTERN NODE COMMAND... [within 5s]")
	}
	if err != nil {
		return nil, 0, err
	}
	pattern, err := regexp.Compile("(?m)" + words[0])
	return func() error {
		a, err := w.run(words[1], words[2:]...)
		if err == nil && !pattern.MatchString(a.stdout) {
			err = fmt.Errorf("%s of %s writes %q %q", strings.Join(words[2:], " "), words[1], a.stdout, a.stderr)
		}
		return err
	}, within, err
}
