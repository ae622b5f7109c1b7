package config

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
)

// BMP is how routers tell what they have of the fleet (RFC 7854).
type BMP struct {
	// Listen is where they connect.
	Listen string
	// Grace is how long no view may have what a node announces before the node is unseen.
	Grace time.Duration
	// Views are the routers that may connect.
	Views []View
}

// View is one router that may connect.
type View struct {
	Name string
	// Address is where its connections come from; no other view has it.
	Address netip.Addr
	// Sees are the nodes whose routes it must have. A node that no view sees is not judged.
	Sees []string
	// Policy is which of its tables is read: pre, post or loc-rib.
	Policy string
}

const (
	// DefaultBMP is where views connect unless the file says.
	DefaultBMP = ":11019"
	// DefaultGrace is Grace unless the file says.
	DefaultGrace = 60 * time.Second
	// MinGrace is the shortest: a router has to tell all it has within half of it.
	MinGrace = 5 * time.Second
	// MaxGrace is the longest.
	MaxGrace = time.Hour
	// MaxViews is how many views there may be.
	MaxViews = 1000
	// DefaultPolicy is the table that is read unless the file says.
	DefaultPolicy = "post"
)

// viewName is what a view may be called.
var viewName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)

var policies = []string{"pre", "post", "loc-rib"}

func (c *checker) bmp(cfg *Config, raw *rawBMP) {
	if raw == nil {
		return
	}
	b := &BMP{Listen: or(raw.Listen, DefaultBMP), Grace: DefaultGrace}
	if _, port, err := net.SplitHostPort(b.Listen); err != nil || port == "" {
		c.fail("bmp.listen", "%q is no address; write HOST:PORT or :PORT", b.Listen)
	}
	if raw.Grace != nil {
		var err error
		if b.Grace, err = time.ParseDuration(*raw.Grace); err != nil || b.Grace < MinGrace || b.Grace > MaxGrace {
			c.fail("bmp.grace", "%q is no time from %v to %v; write for example 60s", *raw.Grace, MinGrace, MaxGrace)
		}
	}
	if len(raw.Views) == 0 || len(raw.Views) > MaxViews {
		c.fail("bmp", "%d views; write 1 to %d under views:", len(raw.Views), MaxViews)
	}
	for i, v := range raw.Views {
		b.Views = append(b.Views, c.view(fmt.Sprintf("bmp.views[%d]", i), v, b.Views))
	}
	cfg.BMP = b
}

func (c *checker) view(path string, raw rawView, before []View) View {
	v := View{Name: or(raw.Name, ""), Sees: raw.Sees, Policy: or(raw.Policy, DefaultPolicy)}
	var err error
	if v.Address, err = netip.ParseAddr(or(raw.Address, "")); err != nil || v.Address.Zone() != "" {
		c.fail(path, "a view needs the address that it connects from, without a zone; write address: 192.0.2.1")
	}
	v.Address = v.Address.Unmap()
	switch {
	case !viewName.MatchString(v.Name):
		c.fail(path, "a view needs a name of letters, digits, '.', '_', ':' and '-'; write name: transit-a-rr")
	case slices.ContainsFunc(before, func(o View) bool { return o.Name == v.Name }):
		c.fail(path, "view %s stands in the list twice; write it once", v.Name)
	case err == nil && slices.ContainsFunc(before, func(o View) bool { return o.Address == v.Address }):
		c.fail(path, "another view has the address %s, too; a router is one view", v.Address)
	}
	if !slices.Contains(policies, v.Policy) {
		c.fail(path+".policy", "%q is no table of a router; write %s", v.Policy, strings.Join(policies, ", "))
	}
	for i, node := range v.Sees {
		if strings.TrimSpace(node) == "" || slices.Contains(v.Sees[:i], node) {
			c.fail(fmt.Sprintf("%s.sees[%d]", path, i), "%q is no node, or stands here twice; write each node's name once", node)
		}
	}
	return v
}
