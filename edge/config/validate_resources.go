package config

import (
	"path/filepath"
	"time"

	"github.com/catchment-bgp/catchment/load"
)

// resources reads what of the machine itself is watched.
func (c *checker) resources(path string, p *rawResources) load.Resources {
	// viper drops empty mappings; the file's own tree tells.
	if !c.usable(path) {
		return load.Resources{}
	}
	r := value(p, rawResources{})
	pressure := value(r.Pressure, rawPressure{})
	limit := func(key string, p *float64) float64 {
		return c.fraction(join(join(path, "pressure"), key), p, 0, 0.001, 1)
	}
	out := load.Resources{
		CPU:        value(r.CPU, false),
		Interfaces: c.devices(join(path, "interfaces"), r.Interfaces),
		Disks:      c.disks(join(path, "disks"), r.Disks),
		Sessions:   c.count(join(path, "sessions"), r.Sessions, 0, 0, maxCount),

		PressureCPU:    limit("cpu", pressure.CPU),
		PressureIO:     limit("io", pressure.IO),
		PressureMemory: limit("memory", pressure.Memory),

		Period:         c.duration(join(path, "period"), r.Period, defaultResourcesPeriod, 100*time.Millisecond, time.Minute),
		SessionsPeriod: c.duration(join(path, "sessions_period"), r.SessionsPeriod, defaultSessionsPeriod, time.Second, time.Hour),
	}
	if !Watched(out) && !c.dirty[path] {
		c.reject(path, "nothing is watched; write at least one of cpu: true, interfaces, disks, pressure and sessions, or remove the key")
	}
	return out
}

// Watched tells whether anything of the machine itself is watched.
func Watched(r load.Resources) bool {
	return r.CPU || len(r.Interfaces) > 0 || len(r.Disks) > 0 || r.Sessions > 0 || r.PressureCPU > 0 || r.PressureIO > 0 || r.PressureMemory > 0
}

func (c *checker) devices(path string, raw []rawDevice) []load.Interface {
	c.notEmpty(path, len(raw), "write at least one {name: eth0}, or remove the key")
	var out []load.Interface
	seen := map[string]string{}
	for i, r := range raw {
		at := item(path, i)
		if c.bad[at] {
			continue
		}
		c.need(at, "name", "the interface's, such as eth0")
		d := load.Interface{Name: c.device(join(at, "name"), r.Name, ""), Speed: float64(value(r.Speed, 0))}
		c.unique(seen, d.Name, join(at, "name"))
		out = append(out, d)
	}
	return out
}

func (c *checker) disks(path string, raw []string) []string {
	c.notEmpty(path, len(raw), `write names as in /proc/diskstats, or ["*"] for every whole disk`)
	for i, name := range raw {
		if at := item(path, i); !c.bad[at] && (name == "" || filepath.Base(name) != name || len(name) > maxName) {
			c.reject(at, "%s is not a disk; write its name without /dev/, such as sda", show(name))
		}
	}
	return raw
}

// quality reads how often connections are looked at; 0: not at all.
func (c *checker) quality(path string, p *rawQuality) time.Duration {
	if !c.usable(path) {
		return 0
	}
	return c.duration(join(path, "period"), value(p, rawQuality{}).Period, defaultQualityPeriod, 5*time.Second, time.Hour)
}
