package load

import (
	"sync"
	"time"
)

// speedPeriod is how often the live speed of an interface is asked for: some
// drivers ask the hardware.
const speedPeriod = 5 * time.Second

// gauge knows the capacity of a link.
type gauge struct {
	devices    *devices
	name       string // of the interface; "": none
	configured float64

	mu    sync.Mutex
	asked time.Time
	inUse float64
}

// capacity is in bit/s; 0: unknown. Where the speed cannot be had, the configured
// one counts.
func (g *gauge) capacity(now time.Time) float64 {
	if g.name == "" {
		return g.configured
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.asked.IsZero() || now.Sub(g.asked) >= speedPeriod {
		g.asked = now
		d, err := g.devices.get(g.name)
		if err != nil {
			d = device{}
		}
		g.inUse = bounded(g.configured, g.devices.speed(g.name), d.kind)
	}
	return g.inUse
}

// bounded is the capacity of a link on an interface of a kind (IFLA_INFO_KIND;
// hardware has none), which claims a speed.
func bounded(configured, speed float64, kind string) float64 {
	switch {
	case configured == 0:
		return speed
	case speed == 0 || !realSpeed[kind]:
		return configured
	}
	return min(configured, speed)
}

// realSpeed has the kinds of interfaces whose speed is that of hardware. Others
// invent one, such as tun with 10 Mbit/s.
var realSpeed = map[string]bool{"": true, "bond": true, "team": true, "vlan": true, "macvlan": true, "ipvlan": true}
