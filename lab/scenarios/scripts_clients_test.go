package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/catchment-bgp/catchment/lab/router"
)

// servePort is where nodes of the topologies answer, unless /etc/catchment/serve says another.
const servePort = 8080

// service is the address that clients ask: text (with or without a port), or the first line that a node serves.
func (w *world) service(text string) (netip.AddrPort, error) {
	if text != "" {
		if at, err := netip.ParseAddrPort(text); err == nil {
			return at, nil
		}
		a, err := netip.ParseAddr(text)
		return netip.AddrPortFrom(a, servePort), err
	}
	for _, n := range w.topology.Nodes {
		for _, b := range n.Binds {
			if b.Target != "/etc/catchment/serve" {
				continue
			}
			text, err := os.ReadFile(b.Source)
			line, _, _ := strings.Cut(string(text), "\n")
			at, e := netip.ParseAddrPort(strings.TrimSpace(line))
			return at, cmp.Or(err, e)
		}
	}
	return netip.AddrPort{}, errors.New("no node of the lab serves anything")
}

// ask is what answers a client by HTTP: a node's name.
func (w *world) ask(client string, at netip.AddrPort) (string, error) {
	text, err := w.must(client, "curl", "-sS", "--fail", "--max-time", "2", "http://"+at.String()+"/")
	return strings.TrimSpace(text), err
}

// clientWords are the words of a command that asks from a client; an address may be the last.
func (w *world) clientWords(words []string, count int, usage string) ([]string, netip.AddrPort, time.Duration, error) {
	words, within, err := cutWithin(words, conditionWait)
	if err == nil && len(words) != count && len(words) != count+1 {
		err = errors.New("write: " + usage)
	}
	if err != nil {
		return nil, netip.AddrPort{}, 0, err
	}
	if _, err := w.node(words[0]); err != nil {
		return nil, netip.AddrPort{}, 0, err
	}
	address := ""
	if len(words) > count {
		address = words[count]
	}
	at, err := w.service(address)
	return words, at, within, err
}

// serves CLIENT NODE [ADDRESS]
func (w *world) serves(words []string) (func() error, time.Duration, error) {
	words, at, within, err := w.clientWords(words, 2, "serves CLIENT NODE [ADDRESS] [within 5s]")
	return func() error {
		who, err := w.ask(words[0], at)
		if err == nil && who != words[1] {
			err = fmt.Errorf("%s is served by %s, not by %s", words[0], who, words[1])
		}
		return err
	}, within, err
}

// unserved CLIENT [ADDRESS]
func (w *world) unserved(words []string) (func() error, time.Duration, error) {
	words, at, within, err := w.clientWords(words, 1, "unserved CLIENT [ADDRESS] [within 5s]")
	return func() error {
		if who, err := w.ask(words[0], at); err == nil {
			return fmt.Errorf("%s is served by %s", words[0], who)
		}
		return nil
	}, within, err
}

// agree CLIENT... | all: what serves the client by HTTP is the node that the tag on its router's best route names.
func (w *world) agree(words []string) (func() error, time.Duration, error) {
	words, within, err := cutWithin(words, conditionWait)
	if err == nil && (len(words) == 0 || w.topology == nil) {
		err = errors.New("write: agree CLIENT... [within 5s], or: agree all")
	}
	if err != nil {
		return nil, 0, err
	}
	if words[0] == "all" {
		words = w.clients()
	}
	at, err := w.service("")
	return func() error {
		if err := w.learnTags(); err != nil {
			return err
		}
		for _, client := range words {
			if err := w.agrees(client, at); err != nil {
				return err
			}
		}
		return nil
	}, within, err
}

func (w *world) agrees(client string, at netip.AddrPort) error {
	gateway, err := w.gateway(client)
	if err != nil {
		return err
	}
	who, err := w.ask(client, at)
	if err != nil {
		return err
	}
	bits := 24
	if at.Addr().Is6() {
		bits = 48
	}
	prefix, err := at.Addr().Prefix(bits)
	if err != nil {
		return err
	}
	paths, err := w.routes(gateway, prefix)
	if err != nil {
		return err
	}
	for _, p := range paths {
		if !p.Best {
			continue
		}
		var named []string
		for _, c := range slices.Concat(p.Communities, p.LargeCommunities) {
			if node := w.tags[c]; node != "" && !slices.Contains(named, node) {
				named = append(named, node)
			}
		}
		if !slices.Equal(named, []string{who}) {
			return fmt.Errorf("%s is served by %s; the tags at %s name %v (%v %v)", client, who, gateway, named, p.Communities, p.LargeCommunities)
		}
		return nil
	}
	return fmt.Errorf("%s has no best route to %s", gateway, prefix)
}

// learnTags notes communities that one node alone announces.
func (w *world) learnTags() error {
	nodes := map[string][]string{}
	for _, name := range w.ofRole("catchment-edge") {
		s, err := w.statusOf(name)
		if err != nil {
			continue // it is down: what was seen of it before stands
		}
		for _, service := range s.Services {
			for _, n := range service.Neighbors {
				for _, r := range n.Routes {
					for _, c := range r.Communities {
						if !slices.Contains(nodes[c], name) {
							nodes[c] = append(nodes[c], name)
						}
					}
				}
			}
		}
	}
	for c, names := range nodes {
		if len(names) == 1 && (w.tags[c] == "" || w.tags[c] == names[0]) {
			w.tags[c] = names[0]
		} else {
			delete(w.tags, c)
		}
	}
	if len(w.tags) == 0 {
		return errors.New("no node announces a community of its own")
	}
	return nil
}

// gateway is the router that a client hangs on: itself if it is one, or the other end of its first link.
func (w *world) gateway(client string) (string, error) {
	n, err := w.node(client)
	if err != nil || router.Speaks(n.Role()) {
		return client, err
	}
	for _, l := range w.topology.Links {
		switch client {
		case l.A.Node:
			return l.B.Node, nil
		case l.B.Node:
			return l.A.Node, nil
		}
	}
	return "", fmt.Errorf("%s has no link", client)
}

// download is a long TCP session.
type download struct {
	cancel context.CancelFunc
	done   chan struct{}
	once   sync.Once
	ended  error // how, when done is closed
	got    int64 // bytes that were seen last
	at     time.Time
}

func (d *download) stop() {
	d.once.Do(d.cancel)
	<-d.done
}

// over says whether it has ended; then ended may be read.
func (d *download) over() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

const downloadFile = "/tmp/slow"

// download CLIENT NODE
func (w *world) download(words []string) (answer, error) {
	check, within, err := w.serves(words)
	if err != nil {
		return answer{}, err
	}
	if err := until(within, check); err != nil {
		return answer{}, err
	}
	client := words[0]
	if w.downloads[client] != nil {
		return answer{}, fmt.Errorf("%s has a session already", client)
	}
	at, err := w.service("")
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	d := &download{cancel: cancel, done: make(chan struct{}), at: time.Now()}
	w.downloads[client] = d
	go func() {
		defer close(d.done)
		a, err := w.runContext(ctx, client, nil, "curl", "-sS", "--fail", "--max-time", "120", "-o", downloadFile, "http://"+at.String()+"/slow")
		d.ended = cmp.Or(err, fmt.Errorf("curl's exit code %d: %s", a.code, strings.TrimSpace(a.stderr)))
	}()
	return answer{}, until(within, func() error { return w.grows(client, 0) })
}

// grows says whether more than size has come.
func (w *world) grows(client string, size int64) error {
	d := w.downloads[client]
	if d.over() {
		return fmt.Errorf("the session of %s has ended: %w", client, d.ended)
	}
	text, err := w.must(client, "stat", "-c", "%s", downloadFile)
	if err != nil {
		return err
	}
	got, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err == nil && got > d.got {
		d.got, d.at = got, time.Now()
	}
	if err == nil && got <= size {
		err = fmt.Errorf("the session of %s stands at %d bytes", client, got)
	}
	return err
}

// downloadWords finds the session that alive and broken ask for.
func (w *world) downloadWords(words []string) (*download, string, time.Duration, error) {
	words, within, err := cutWithin(words, conditionWait)
	if err == nil && (len(words) != 1 || w.downloads[words[0]] == nil) {
		err = errors.New("write: alive CLIENT, or: broken CLIENT, after: download CLIENT NODE")
	}
	if err != nil {
		return nil, "", 0, err
	}
	return w.downloads[words[0]], words[0], within, nil
}

// alive CLIENT: the session that was begun receives more.
func (w *world) alive(words []string) (func() error, time.Duration, error) {
	d, client, within, err := w.downloadWords(words)
	if err != nil {
		return nil, 0, err
	}
	size := int64(-1)
	return func() error {
		if size < 0 {
			if err := w.grows(client, -1); err != nil {
				return err
			}
			size = d.got
		}
		return w.grows(client, size)
	}, within, nil
}

// silence is how long nothing may come before a session counts as broken.
const silence = 4 * time.Second

// broken CLIENT: it has ended, or receives nothing any more.
func (w *world) broken(words []string) (func() error, time.Duration, error) {
	d, client, within, err := w.downloadWords(words)
	return func() error {
		err := w.grows(client, d.got)
		if d.over() || time.Since(d.at) > silence {
			return nil
		}
		return fmt.Errorf("the session of %s lives: %w", client, err)
	}, within, err
}
