package central

import (
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/central/web"
)

// site is the page of the NOC. It asks the API as whoever looks at it.
func (s *Server) site(client centralv1.FleetClient) (*web.Site, identity.Sessions, error) {
	cfg := web.Config{Fleet: client, Source: source{s.f}, Caller: s.gate.Caller, Registry: s.f.settings.Registry,
		Version: s.f.settings.Version, Log: s.f.log}
	var sessions identity.Sessions
	if s.files != nil {
		logins := newWebLogins(s.f, s.gate)
		cfg.Logins, sessions = logins, logins
		if s.provider != nil {
			cfg.Elsewhere = oidcLogins{logins, s.provider}
		}
	}
	site, err := web.New(cfg)
	return site, sessions, err
}

// source shows the fleet to the page.
type source struct{ f *Fleet }

// Status is the fleet now.
func (s source) Status() *centralv1.FleetStatus {
	s.f.mu.RLock()
	defer s.f.mu.RUnlock()
	now := time.Now()
	return s.f.w.status(s.f.w.fleetAt(now), now)
}

// News is closed when the fleet has changed.
func (s source) News() <-chan struct{} {
	s.f.mu.RLock()
	defer s.f.mu.RUnlock()
	return s.f.news
}
