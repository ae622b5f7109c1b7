package config

import "github.com/catchment-bgp/catchment/load"

func rawLinkOf(l Link) rawLink {
	r := rawLink{
		Name:      &l.Name,
		Capacity:  (*bitRate)(given(l.Capacity)),
		Interface: given(l.Interface),
		Feed:      rawFeedOf(l.Feed),
		Fast:      rawSourceOf(l.Fast),
		Exact:     rawSourceOf(l.Exact),
		Smooth:    new(duration(l.Smooth)),
		Landing:   &l.Landing,
	}
	if l.Interface != "" || l.Feed != nil {
		r.Direction = directionOf(l.Direction)
	}
	if r.Exact != nil {
		r.Exact.Average = new(duration(l.Exact.Average))
	}
	return r
}

func rawFeedOf(f *Feed) *rawFeed {
	if f == nil {
		return nil
	}
	return &rawFeed{URL: new(redact(f.URL)), Period: new(duration(f.Period))}
}

func rawSourceOf(s *Source) *rawSource {
	if s == nil {
		return nil
	}
	r := &rawSource{Interface: given(s.Interface), Feed: rawFeedOf(s.Feed), Delay: new(duration(s.Delay))}
	if p := s.Prometheus; p != nil {
		r.Prometheus = &rawPrometheus{URL: new(redact(p.URL)), Query: new(multiline(p.Query))}
		r.Period = new(duration(p.Period))
	} else {
		r.Direction = directionOf(s.Direction)
	}
	return r
}

func rawLoadOf(l *LoadControl) *rawLoad {
	r := &rawLoad{
		Mode:          &l.Mode,
		Target:        &l.Target,
		Interval:      new(duration(l.Interval)),
		AllowWithdraw: &l.AllowWithdraw,
		DwellUp:       new(duration(l.DwellUp)),
		DwellDown:     new(duration(l.DwellDown)),
		DownAfter:     new(duration(l.DownAfter)),
		DeadTime:      new(duration(l.DeadTime)),
		Slowdown:      each(l.Slowdown, rawPointOf),
		Drop:          each(l.Drop, rawPointOf),
		Flap:          &rawFlap{Profiles: l.Flap.Profiles, Exploration: &l.Flap.Exploration, Margin: &l.Flap.Margin},
	}
	if Watched(l.Node) {
		r.Node = rawResourcesOf(&l.Node)
	}
	if l.Quality > 0 {
		r.Quality = &rawQuality{Period: new(duration(l.Quality))}
	}
	return r
}

func rawPointOf(p Point) rawPoint { return rawPoint{Load: &p.Load, Share: &p.Share} }

func rawResourcesOf(n *load.Resources) *rawResources {
	r := &rawResources{
		CPU:            &n.CPU,
		Interfaces:     each(n.Interfaces, rawDeviceOf),
		Disks:          n.Disks,
		Sessions:       new(count(n.Sessions)),
		SessionsPeriod: new(duration(n.SessionsPeriod)),
		Period:         new(duration(n.Period)),
	}
	if n.PressureCPU > 0 || n.PressureIO > 0 || n.PressureMemory > 0 {
		r.Pressure = &rawPressure{CPU: given(n.PressureCPU), IO: given(n.PressureIO), Memory: given(n.PressureMemory)}
	}
	return r
}

func rawDeviceOf(d load.Interface) rawDevice {
	return rawDevice{Name: &d.Name, Speed: (*bitRate)(given(uint64(d.Speed)))}
}
