package router

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"time"
)

// frrReader asks FRR's bgpd with vtysh.
type frrReader struct{ asker }

func (r frrReader) vtysh(ctx context.Context, command string) ([]byte, error) {
	text, err := r.ask(ctx, "vtysh", "-c", command)
	return []byte(fromBrace(text)), err
}

// fromBrace drops what vtysh says of its own configuration before an answer in JSON.
func fromBrace(text string) string {
	if i := strings.IndexByte(text, '{'); i >= 0 {
		return text[i:]
	}
	return text
}

func (r frrReader) Routes(ctx context.Context, prefix netip.Prefix) ([]Path, error) {
	family := "ipv4"
	if prefix.Addr().Is6() {
		family = "ipv6"
	}
	text, err := r.vtysh(ctx, "show bgp "+family+" unicast "+prefix.String()+" json")
	if err != nil {
		return nil, err
	}
	paths, err := ParseFRRRoutes(text)
	return parsed(r.asker, paths, err)
}

func (r frrReader) Table(ctx context.Context) ([]Path, error) {
	var all []Path
	for _, family := range []string{"ipv4", "ipv6"} {
		text, err := r.vtysh(ctx, "show bgp "+family+" unicast json detail")
		if err != nil {
			return nil, err
		}
		paths, err := ParseFRRTable(text)
		if err != nil {
			return parsed[Path](r.asker, nil, err)
		}
		all = append(all, paths...)
	}
	return all, nil
}

func (r frrReader) Sessions(ctx context.Context) ([]Neighbor, error) {
	text, err := r.vtysh(ctx, "show bgp neighbors json")
	if err != nil {
		return nil, err
	}
	list, err := ParseFRRNeighbors(text)
	return parsed(r.asker, list, err)
}

// birdReader asks BIRD with birdc.
type birdReader struct{ asker }

func (r birdReader) birdc(ctx context.Context, words ...string) (string, error) {
	return r.ask(ctx, append([]string{"birdc", "-s", "/run/bird/bird.ctl"}, words...)...)
}

func (r birdReader) routes(ctx context.Context, words ...string) ([]Path, error) {
	text, err := r.birdc(ctx, words...)
	if says(err, "Network not found") {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	neighbors, err := r.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	paths, err := ParseBIRDRoutes(text, neighbors)
	return parsed(r.asker, paths, err)
}

func (r birdReader) Routes(ctx context.Context, prefix netip.Prefix) ([]Path, error) {
	return r.routes(ctx, "show", "route", prefix.String(), "all")
}

func (r birdReader) Table(ctx context.Context) ([]Path, error) {
	return r.routes(ctx, "show", "route", "all")
}

func (r birdReader) Sessions(ctx context.Context) ([]Neighbor, error) {
	status, err := r.birdc(ctx, "show", "status")
	if err != nil {
		return nil, err
	}
	text, err := r.birdc(ctx, "show", "protocols", "all")
	if err != nil {
		return nil, err
	}
	return ParseBIRDNeighbors(text, birdClock(status, time.Now())), nil
}

// birdClock is the time in `show status`, so that a node in another time zone does no harm; other where it has a format
// that is not known.
func birdClock(status string, other time.Time) time.Time {
	_, rest, _ := strings.Cut(status, "Current server time is ")
	line, _, _ := strings.Cut(rest, "\n")
	at, err := time.Parse("2006-01-02 15:04:05.999999", strings.TrimSpace(line))
	if err != nil {
		return other
	}
	return at
}

// openBGPDReader asks OpenBGPD with bgpctl.
type openBGPDReader struct{ asker }

// bgpctl tries the socket that OpenBGPD has unless it is told another, then the one that a configuration may name.
func (r openBGPDReader) bgpctl(ctx context.Context, words ...string) ([]byte, error) {
	text, err := r.ask(ctx, append([]string{"bgpctl", "-j"}, words...)...)
	if says(err, "bgpctl: connect: ") {
		text, err = r.ask(ctx, append([]string{"bgpctl", "-s", "/run/openbgpd/bgpd.sock", "-j"}, words...)...)
	}
	return []byte(text), err
}

func (r openBGPDReader) rib(ctx context.Context, words ...string) ([]Path, error) {
	text, err := r.bgpctl(ctx, append([]string{"show", "rib", "detail"}, words...)...)
	if err != nil {
		return nil, err
	}
	paths, err := ParseOpenBGPDRoutes(text)
	return parsed(r.asker, paths, err)
}

// Routes leaves out the paths to shorter prefixes, which bgpctl lists too.
func (r openBGPDReader) Routes(ctx context.Context, prefix netip.Prefix) ([]Path, error) {
	paths, err := r.rib(ctx, prefix.String())
	return to(prefix, paths), err
}

func (r openBGPDReader) Table(ctx context.Context) ([]Path, error) { return r.rib(ctx) }

func (r openBGPDReader) Sessions(ctx context.Context) ([]Neighbor, error) {
	text, err := r.bgpctl(ctx, "show", "neighbor")
	if err != nil {
		return nil, err
	}
	list, err := ParseOpenBGPDNeighbors(text)
	return parsed(r.asker, list, err)
}

// exaBGPReader reads what ExaBGP's process wrote down, since ExaBGP keeps no table.
type exaBGPReader struct{ asker }

// What a shell in the node does to read the journal and the configuration. In a node of lab/images, lines of an ExaBGP that
// has ended count no more, and one that does not run is an error; elsewhere the journal is taken as it is.
const (
	exaHeard = `cd /run/exabgp && [ -e heard.json ] || exit 1
[ -e /run/lab/pid ] || exec cat heard.json
pid=$(cat /run/lab/pid)
kill -0 "$pid" || exit 1
grep -F "\"pid\" : $pid," heard.json || :`
	exaConfig = "cat /run/exabgp/exabgp.conf 2>/dev/null || cat /etc/exabgp/exabgp.conf"
)

// read is the configuration's neighbours and what ExaBGP wrote down of them. A configuration by which it writes nothing
// down is an error, since everything would look like being down.
func (r exaBGPReader) read(ctx context.Context) ([]Neighbor, *Journal, error) {
	config, err := r.askAs(ctx, "reading exabgp.conf", "sh", "-c", exaConfig)
	if err != nil {
		return nil, nil, err
	}
	if !strings.Contains(config, "neighbor-changes") || !strings.Contains(config, "receive") {
		return nil, nil, r.failed("reading exabgp.conf", errors.New("no neighbor writes down what it hears: "+
			"it needs api { processes [ scribe ]; neighbor-changes; receive { parsed; update; } }"))
	}
	text, err := r.askAs(ctx, "reading heard.json", "sh", "-c", exaHeard)
	if err != nil {
		return nil, nil, err
	}
	var j Journal
	whole := text[:strings.LastIndexByte(text, '\n')+1] // ExaBGP may be writing the last line
	if err := j.Add([]byte(whole)); err != nil {
		return nil, nil, r.failed("reading heard.json", err)
	}
	return ParseExaBGPConfig(config), &j, nil
}

func (r exaBGPReader) Routes(ctx context.Context, prefix netip.Prefix) ([]Path, error) {
	_, j, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	return j.Paths(prefix), nil
}

func (r exaBGPReader) Table(ctx context.Context) ([]Path, error) {
	_, j, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	return j.Table(), nil
}

func (r exaBGPReader) Sessions(ctx context.Context) ([]Neighbor, error) {
	list, j, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	heard := j.Neighbors(time.Now())
	for i, n := range list {
		if known, err := Find(heard, n.Address); err == nil {
			known.Description = n.Description
			list[i] = known
		}
	}
	return list, nil
}
