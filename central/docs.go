package central

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/maintenance"
	"github.com/catchment-bgp/catchment/maintenance/maintnote"
)

// The kinds of documents, which are the first parts of their keys.
const (
	kindNode     = "node"     // NAME: nodeDoc
	kindSession  = "session"  // NAME: sessionDoc
	kindLive     = "live"     // NAME: liveDoc
	kindReplica  = "replica"  // ID: replicaDoc
	kindWindow   = "window"   // ID: windowDoc
	kindOverride = "override" // ID: overrideDoc
	kindGrant    = "grant"    // NODE/ID: grantDoc
	kindFence    = "fence"    // SERVICE: fenceDoc
	kindKeep     = "keep"     // SERVICE: keepDoc
	kindTurn     = "turn"     // SERVICE: turnDoc
	kindFleet    = "fleet"    // freeze: freezeDoc
	kindPeaks    = "peaks"    // NAME: fleet.Peaks
	kindOutside  = "outside"  // REPLICA/VIEW: outsideDoc
	kindDetail   = "detail"   // NAME: detailDoc, for people; no decision is made of it
	kindHistory  = "history"  // SECONDS: a FleetStatus, not mirrored
)

// key names a document.
func key(kind, name string) string { return kind + "/" + name }

// message keeps a protobuf message in a document.
type message[M proto.Message] struct{ m M }

// MarshalJSON writes the names of the API.
func (d message[M]) MarshalJSON() ([]byte, error) { return protojson.Marshal(d.m) }

// UnmarshalJSON passes over fields that a newer centre has written.
func (d *message[M]) UnmarshalJSON(data []byte) error {
	var zero M
	d.m = zero.ProtoReflect().New().Interface().(M)
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, d.m)
}

// nodeDoc is what the centre keeps of a node.
type nodeDoc struct {
	First    time.Time                 `json:"first"`
	Hello    message[*centralv1.Hello] `json:"hello"`
	Tags     []tagDoc                  `json:"tags,omitempty"`
	Disabled bool                      `json:"disabled,omitempty"`
	// Why is the reason of Disabled.
	Why       string    `json:"why,omitempty"`
	Standby   bool      `json:"standby,omitempty"`
	Activated time.Time `json:"activated,omitzero"`
}

func (n nodeDoc) hello() *centralv1.Hello { return n.Hello.m }

// tagDoc is a tag. It is told to the node from After on and, once it is taken
// away, until Until: what routers that damp tolerate says when.
type tagDoc struct {
	Value   string    `json:"value"`
	Meaning string    `json:"meaning"`
	Shared  bool      `json:"shared,omitempty"`
	Since   time.Time `json:"since"`
	By      string    `json:"by"`
	After   time.Time `json:"after,omitzero"`
	Until   time.Time `json:"until,omitzero"`
}

// sessionDoc fences an edge's streams: the newest has the highest epoch, and
// nothing that came over an older one counts.
type sessionDoc struct {
	Epoch   uint64 `json:"epoch"`
	Replica string `json:"replica"`
}

// liveDoc is what was heard of a node last.
type liveDoc struct {
	Epoch   uint64    `json:"epoch"`
	Replica string    `json:"replica"`
	Number  uint64    `json:"number"` // of the report, over all epochs
	At      time.Time `json:"at"`     // by the centre's clock
	// Up is true while the stream is open and reports come.
	Up     bool                       `json:"up"`
	Report message[*centralv1.Report] `json:"report"`
	// Moved is when the node last moved for load, by the centre's clock.
	Moved time.Time `json:"moved,omitzero"`
	// Keeps has the services that the node is known to leave announced in a hard
	// failure, and which telling of it that was (keeper.Since).
	Keeps map[string]uint64 `json:"keeps,omitempty"`
	Skew  time.Duration     `json:"skew,omitempty"`
	// Wanted is the generation that was sent last.
	Wanted uint64 `json:"wanted,omitempty"`
}

func (l liveDoc) report() *centralv1.Report { return l.Report.m }

// replicaDoc is a centre that is alive as long as it changes. It says which nodes'
// streams it has by their liveDocs.
type replicaDoc struct {
	Beat    uint64    `json:"beat"`
	At      time.Time `json:"at"`
	Version string    `json:"version,omitempty"`
}

// windowDoc is a window or a proposal of one.
type windowDoc struct {
	maintenance.Window
	LocalStart     string `json:"local_start,omitempty"`
	StartedNow     bool   `json:"started_now,omitempty"`
	OverrideSafety bool   `json:"override_safety,omitempty"`
	// Mail is what the provider said, of an imported one.
	Mail *maintnote.Proposal `json:"mail,omitempty"`
	// Replaces are windows that are over once this one is confirmed.
	Replaces []string `json:"replaces,omitempty"`
	// Asked is the hash of the request that made it, of one that can be sent twice.
	Asked string `json:"asked,omitempty"`
}

// overrideDoc is what an operator said of a part of the fleet.
type overrideDoc struct {
	ID             string               `json:"id"`
	Select         maintenance.Selector `json:"select"`
	Verb           string               `json:"verb"`
	Reason         string               `json:"reason"`
	Ticket         string               `json:"ticket,omitempty"`
	By             string               `json:"by"`
	Since          time.Time            `json:"since"`
	Until          time.Time            `json:"until,omitzero"`
	EvenIfDead     bool                 `json:"even_if_dead,omitempty"`
	OverrideSafety bool                 `json:"override_safety,omitempty"`
}

// fenceDoc changes with every grant of a service and everything else that
// admission looks at.
type fenceDoc struct {
	Changes uint64 `json:"changes"`
}

// keepDoc has the nodes that a hard failure leaves announced, in order.
type keepDoc struct {
	Count uint64   `json:"count"`
	Nodes []keeper `json:"nodes"`
}

// keeper is a node and the telling by which it became one.
type keeper struct {
	Node  string `json:"node"`
	Since uint64 `json:"since"`
}

func (k keepDoc) names() []string {
	out := make([]string, len(k.Nodes))
	for i, n := range k.Nodes {
		out[i] = n.Node
	}
	return out
}

// since returns the telling by which node is a keeper; 0: it is none.
func (k keepDoc) since(node string) uint64 {
	for _, n := range k.Nodes {
		if n.Node == node {
			return n.Since
		}
	}
	return 0
}

// turnDoc says when the nodes that wait may announce a service again.
type turnDoc struct {
	Turns map[string]time.Time `json:"turns"`
	Last  time.Time            `json:"last"`
}

// freezeDoc says why nothing changes by itself.
type freezeDoc struct {
	Reason string    `json:"reason,omitempty"`
	Ticket string    `json:"ticket,omitempty"`
	By     string    `json:"by,omitempty"`
	Since  time.Time `json:"since,omitzero"`
}

// put is the change that writes a document.
func put(k string, doc any) (store.Op, error) {
	data, err := json.Marshal(doc)
	if err != nil {
		return store.Op{}, fmt.Errorf("writing %s: %w", k, err)
	}
	return store.Op{Key: k, Value: data}, nil
}

// split takes a key apart.
func split(k string) (kind, name string) {
	kind, name, _ = strings.Cut(k, "/")
	return kind, name
}

// decode reads a document that is not mirrored.
func decode[T any](item store.Item) (T, error) {
	var doc T
	if err := json.Unmarshal(item.Value, &doc); err != nil {
		return doc, fmt.Errorf("reading %s: %w", item.Key, err)
	}
	return doc, nil
}
