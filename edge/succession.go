package edge

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy"
)

// heirs maps each service that is new in a configuration, and takes prefixes
// over, to the one that announced them before: what holds for a prefix goes on
// when its service is renamed or split.
func heirs(was, will *config.Config) map[string]string {
	out := map[string]string{}
	for _, svc := range will.Services {
		if service(was, svc.Name) != nil {
			continue
		}
		for _, old := range was.Services {
			if sharePrefix(old, svc) {
				out[svc.Name] = old.Name
				break
			}
		}
	}
	return out
}

// sharePrefix says whether two services announce a prefix in common.
func sharePrefix(a, b config.Service) bool {
	return slices.ContainsFunc(a.Prefixes, func(p netip.Prefix) bool { return slices.Contains(b.Prefixes, p) })
}

// inheritOverrides gives heirs the operators' words on the service before them:
// a rename does not lift a drain.
func inheritOverrides(overrides []policy.Override, heirs map[string]string) []policy.Override {
	var fresh []policy.Override
	for _, heir := range slices.Sorted(maps.Keys(heirs)) {
		for _, o := range overrides {
			if o.Service == heirs[heir] {
				o.Service = heir
				fresh = append(fresh, o)
			}
		}
	}
	return overridesWith(overrides, fresh)
}

// inheritState gives heirs the holds of the service before them: a rename does
// not shorten the wait for a return.
func inheritState(s policy.State, heirs map[string]string) policy.State {
	if len(heirs) == 0 {
		return s
	}
	services := maps.Clone(s.Services)
	for heir, old := range heirs {
		if state, ok := s.Services[old]; ok {
			services[heir] = state
		}
	}
	s.Services = services
	return s
}
