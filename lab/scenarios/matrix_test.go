package scenarios

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// cell is one row of the matrix: what must hold at each router.
type cell struct {
	row   string
	check func(r *matrixRouter) error
	// lacks tells, by router, why it cannot have the row. Nothing else is left out.
	lacks map[string]string
}

// TestMatrixOfRouters has the edge speak to FRR, BIRD, OpenBGPD and ExaBGP in every way that a session can be had, and
// reads from each router what it learned. The log ends with a table of the cells.
func TestMatrixOfRouters(t *testing.T) {
	t.Parallel()
	began := time.Now()
	m := newMatrix(t)
	m.daemon = startEdge(t, m.edge, m.config(0))
	results := map[string]map[string]string{}
	run := func(c cell) {
		results[c.row] = map[string]string{}
		for _, r := range m.routers {
			if why := c.lacks[r.name]; why != "" {
				results[c.row][r.name] = "-"
				continue
			}
			results[c.row][r.name] = "FAILED"
			t.Run(strings.ReplaceAll(c.row, " ", "_")+"/"+r.name, func(t *testing.T) {
				netlab.Eventually(t, sessionWait, c.row+" at "+r.name, func() error { return c.check(r) })
				results[c.row][r.name] = "ran"
			})
		}
	}
	cells := matrixCells()
	for _, c := range cells {
		run(c)
	}
	before := m.sessions()
	for n := 1; n <= 3; n++ {
		m.daemon.reload(m.config(n))
		c := prependCell(n)
		cells = append(cells, c)
		run(c)
	}
	for _, c := range refusedCells() { // after all else, so that they had the time to come up
		cells = append(cells, c)
		run(c)
	}
	if after := m.sessions(); after != before {
		t.Errorf("sessions were restarted:\n%s\nthen\n%s", before, after)
	}
	t.Logf("the matrix, in %v:\n%s", time.Since(began).Round(time.Millisecond), matrixTable(m, cells, results))
}

// sessions are the instances of every session that may come up.
func (m *matrix) sessions() string {
	m.t.Helper()
	var b strings.Builder
	for _, r := range m.routers {
		for k, s := range matrixSessions() {
			if r.can(s) {
				fmt.Fprintf(&b, "%s %s: %s\n", r.name, s.name, awaitSession(m.t, r, r.near(k, s)).Instance)
			}
		}
	}
	return b.String()
}

func matrixTable(m *matrix, cells []cell, results map[string]map[string]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\t")
	for _, r := range m.routers {
		fmt.Fprintf(w, "%s\t", r.name)
	}
	for _, c := range cells {
		fmt.Fprintf(w, "\n%s\t", c.row)
		for _, r := range m.routers {
			fmt.Fprintf(w, "%s\t", results[c.row][r.name])
		}
	}
	fmt.Fprintln(w)
	w.Flush()
	for _, c := range cells {
		for _, name := range slices.Sorted(maps.Keys(c.lacks)) {
			fmt.Fprintf(&b, "%s has no %q: %s\n", name, c.row, c.lacks[name])
		}
	}
	return b.String()
}

// learned is the router's path to a prefix in the session of this name.
func (r *matrixRouter) learned(session string, prefix netip.Prefix) (netlab.Path, netlab.Wire, error) {
	k := slices.IndexFunc(matrixSessions(), func(s matrixSession) bool { return s.name == session })
	s := matrixSessions()[k]
	state, err := r.Session(r.near(k, s))
	if err != nil || state.State != netlab.Established {
		return netlab.Path{}, netlab.Wire{}, fmt.Errorf("the session %s: %+v, %w", session, state, err)
	}
	paths, err := r.Routes(prefix)
	i := slices.IndexFunc(paths, func(p netlab.Path) bool { return p.From == r.near(k, s) })
	if err != nil || i < 0 {
		return netlab.Path{}, netlab.Wire{}, fmt.Errorf("no path to %s in the session %s: %+v, %w", prefix, session, paths, err)
	}
	return paths[i], r.ends(k, s), nil
}

// carries is a check of the path to a prefix in a session.
func carries(session string, prefix netip.Prefix, check func(netlab.Path, netlab.Wire) error) func(*matrixRouter) error {
	return func(r *matrixRouter) error {
		path, wire, err := r.learned(session, prefix)
		if err != nil {
			return err
		}
		return check(path, wire)
	}
}

// plain wants the path to be as it is sent without prepends and MED, with all communities.
func plain(p netlab.Path, w netlab.Wire) error {
	hop := w.Edge4
	if p.Prefix.Addr().Is6() {
		hop = w.Edge6
	}
	return errors.Join(
		differ("AS_PATH", p.ASPath, []uint32{matrixASN}),
		differ("next hop", withoutLinkLocal(p.NextHop), []netip.Addr{hop}),
		differ("origin", []string{p.Origin}, []string{"igp"}),
		standard(p, w), large(p, w), extended(p, w),
	)
}

func standard(p netlab.Path, _ netlab.Wire) error {
	return differ("communities", sorted(p.Communities), []string{"57629:101", "57629:65535"})
}

func large(p netlab.Path, _ netlab.Wire) error {
	return differ("large communities", sorted(p.LargeCommunities), []string{"4200000057:2:102", "57629:1:101"})
}

func extended(p netlab.Path, _ netlab.Wire) error {
	return differ("extended communities", sorted(p.ExtCommunities), []string{"ro:57629:7", "rt:57629:101"})
}

func med(want ...uint32) func(netlab.Path, netlab.Wire) error {
	return func(p netlab.Path, _ netlab.Wire) error { return differ("MED", optional(p.MED), want) }
}

func asPath(prepend int) func(netlab.Path, netlab.Wire) error {
	return func(p netlab.Path, _ netlab.Wire) error {
		return differ("AS_PATH", p.ASPath, slices.Repeat([]uint32{matrixASN}, prepend+1))
	}
}

// all wants every check to pass.
func all(checks ...func(*matrixRouter) error) func(*matrixRouter) error {
	return func(r *matrixRouter) error {
		for _, check := range checks {
			if err := check(r); err != nil {
				return err
			}
		}
		return nil
	}
}

// lacksFamily wants nothing of a family that the session does not carry.
func lacksFamily(session string, prefix netip.Prefix) func(*matrixRouter) error {
	return func(r *matrixRouter) error {
		if path, _, err := r.learned(session, prefix); err == nil {
			return fmt.Errorf("%s in the session %s: %+v", prefix, session, path)
		}
		return nil
	}
}

// noGTSM6 are the routers that have no GTSM over IPv6.
var noGTSM6 = map[string]string{"ExaBGP": "4.2 sets the TTL of a listener by IPv4's socket options only, so its IPv6 packets leave with the default hop limit"}

// can says whether the session is one that comes up at this router.
func (r *matrixRouter) can(s matrixSession) bool {
	return !s.refused && !(s.six && s.gtsm && noGTSM6[r.name] != "")
}

func matrixCells() []cell {
	both := func(check func(netlab.Path, netlab.Wire) error) func(*matrixRouter) error {
		return all(carries("both", video4, check), carries("both", video6, check))
	}
	return []cell{
		{row: "IPv4", check: all(carries("four", video4, plain), lacksFamily("four", video6))},
		{row: "IPv6", check: all(carries("six", video6, plain), lacksFamily("six", video4))},
		{row: "both on one session", check: both(plain)},
		{row: "4-byte ASN", check: both(asPath(0))},
		{row: "MD5", check: carries("md5", video4, plain)},
		{row: "MD5 over IPv6", check: carries("md5-six", video6, plain)},
		{row: "GTSM", check: carries("gtsm", video4, plain)},
		{row: "GTSM over IPv6", check: carries("gtsm-six", video6, plain), lacks: noGTSM6},
		{row: "multihop", check: carries("hops", video4, plain)},
		{row: "multihop, MD5, IPv6", check: carries("hops-md5", video6, plain)},
		{row: "standard communities", check: both(standard)},
		{row: "large communities", check: both(large)},
		{row: "extended communities", check: both(extended)},
		{row: "MED", check: all(both(med(matrixMED)), carries("four", video4, med()), carries("six", video6, med()))},
		prependCell(0),
	}
}

// prependCell wants so many prepends in every session.
func prependCell(n int) cell {
	check := func(r *matrixRouter) error {
		for _, s := range matrixSessions() {
			for prefix, carried := range map[netip.Prefix]bool{video4: s.both || !s.six, video6: s.both || s.six} {
				if !carried || !r.can(s) {
					continue
				}
				if err := carries(s.name, prefix, asPath(n))(r); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return cell{row: fmt.Sprintf("prepend %d", n), check: check}
}

// refusedCells prove that the routers do ask for MD5 and GTSM.
func refusedCells() []cell {
	never := func(name string) func(*matrixRouter) error {
		k := slices.IndexFunc(matrixSessions(), func(s matrixSession) bool { return s.name == name })
		return func(r *matrixRouter) error {
			now, err := r.Session(r.near(k, matrixSessions()[k]))
			if err == nil && now.Instance != "" {
				err = fmt.Errorf("it came up: %+v", now)
			}
			return err
		}
	}
	return []cell{
		{row: "another MD5 refused", check: never("wrong-md5")},
		{row: "no GTSM refused", check: never("no-gtsm"), lacks: map[string]string{
			"ExaBGP": "4.2 sends with TTL 255 but asks Python for IP_MINTTL, which Python does not have, and goes on without",
		}},
	}
}
