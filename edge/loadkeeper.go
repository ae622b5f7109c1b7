package edge

import (
	"maps"
	"time"

	"github.com/catchment-bgp/catchment/announcer/guard"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/load"
	"github.com/catchment-bgp/catchment/policy"
)

// loadKeeper holds what load control is given, and tells what it did.
type loadKeeper struct {
	sampling sampling
	figures  figures
	sessions map[string]policy.Session     // by neighbour
	history  []LoadChange                  // oldest first
	hindered map[string][]policy.Hindrance // those noted since its last change, by neighbour
	links    map[string]linkNews
	moves    map[string]int // changes of the rung by neighbour
	series   allSeries
	saved    time.Time // when what was learned was last handed to the disk
}

func newLoadKeeper() loadKeeper {
	return loadKeeper{sampling: sampling{mail: newMailbox()}, hindered: map[string][]policy.Hindrance{}, links: map[string]linkNews{}, moves: map[string]int{}, series: allSeries{}}
}

// LoadView is what load control was given and did.
type LoadView struct {
	// Samples has the newest figure of each link, Node those of the machine, and
	// Quality how connections fare by neighbour.
	Samples map[string]policy.Sample
	Node    load.Node
	Quality []load.Quality
	// Sources is the state of each source.
	Sources []load.SourceStatus
	// Moves counts changes of the rung by neighbour.
	Moves map[string]int
}

func (k *loadKeeper) view() LoadView {
	v := LoadView{Samples: maps.Clone(k.figures.links), Node: k.figures.node, Quality: k.figures.quality, Moves: maps.Clone(k.moves)}
	if k.sampling.sampler != nil {
		v.Sources = k.sampling.sampler.Status().Sources
	}
	return v
}

// see takes in how the sessions are. The announcer counts how often one came up:
// all of those but the one that is up were lost.
func (k *loadKeeper) see(status map[string]guard.Status) {
	k.sessions = make(map[string]policy.Session, len(status))
	for name, st := range status {
		s := policy.Session{Up: st.State == guard.Established, Losses: st.Sessions}
		if s.Up && s.Losses > 0 {
			s.Losses--
		}
		k.sessions[name] = s
	}
}

// trusted are the figures that rungs may follow. While replies do not leave as
// configured, moving requests moves nothing on the link: its figures count as
// missing, and its neighbours stay where they are.
func (e *Edge) trusted(c *config.Config) map[string]policy.Sample {
	out := e.load.figures.links
	copied := false
	for i := range c.Neighbors {
		n := &c.Neighbors[i]
		if _, known := out[n.Link]; !known || !n.Symmetric || e.returns.faults[n.Name] == "" {
			continue
		}
		if !copied {
			out, copied = maps.Clone(out), true
		}
		delete(out, n.Link)
	}
	return out
}
