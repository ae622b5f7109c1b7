package central

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

const (
	// detailMost bounds what is taken of a node, in bytes.
	detailMost = 512 << 10
	// detailPause is how often details of one node are taken, but for detailBurst of them at
	// once; nodes send one in a second at most.
	detailPause = 500 * time.Millisecond
	detailBurst = 10
	// detailWrite is how often what nodes said goes to the store.
	detailWrite = 5 * time.Second
	// detailItems bounds the messages and texts in it, and detailDecisions the decisions of
	// either kind: a page has far more bytes for each than the node has sent.
	detailItems     = 20000
	detailDecisions = 100
	// detailKeep is how much of a link's load is kept, and detailStep the least step.
	detailKeep = 24 * time.Hour
	detailStep = 5 * time.Minute
	// detailLinks bounds the links of a node whose load is kept. With their steps of a day
	// and detailMost they stay below what open takes.
	detailLinks = 200
)

// detailDoc is what a node said of itself for people: a Detail, deflated.
type detailDoc struct {
	At   time.Time `json:"at"`
	Data []byte    `json:"data"`
}

// pack makes a document of a detail.
func pack(d *centralv1.Detail, at time.Time) (detailDoc, error) {
	text, err := proto.Marshal(d)
	if err != nil {
		return detailDoc{}, err
	}
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		return detailDoc{}, err
	}
	if _, err := w.Write(text); err != nil {
		return detailDoc{}, err
	}
	if err := w.Close(); err != nil {
		return detailDoc{}, err
	}
	return detailDoc{At: at, Data: b.Bytes()}, nil
}

// open is the detail in a document; nil: there is none.
func (d detailDoc) open() (*centralv1.Detail, error) {
	if len(d.Data) == 0 {
		return nil, nil
	}
	r := flate.NewReader(bytes.NewReader(d.Data))
	text, err := io.ReadAll(io.LimitReader(r, 2*detailMost))
	if err != nil {
		return nil, fmt.Errorf("what a node said of itself: %w", err)
	}
	out := &centralv1.Detail{}
	if err := proto.Unmarshal(text, out); err != nil {
		return nil, fmt.Errorf("what a node said of itself: %w", err)
	}
	return out, nil
}

// details has what nodes said of themselves that is not in the store yet.
type details struct {
	f  *Fleet
	mu sync.Mutex
	// waits has the documents to write, by node.
	waits map[string]detailDoc
}

// of is the newest document of a node.
func (d *details) of(node string) detailDoc {
	d.mu.Lock()
	doc, ok := d.waits[node]
	d.mu.Unlock()
	if ok {
		return doc
	}
	d.f.mu.RLock()
	defer d.f.mu.RUnlock()
	return d.f.w.details.get(node)
}

// hear takes in what a node said. The load that it said before, and has forgotten since,
// is kept.
func (d *details) hear(node string, said *centralv1.Detail, now time.Time) {
	if n := proto.Size(said); n > detailMost {
		d.f.log.Warn("what a node says of itself for people is too long, and is passed over", "node", node, "bytes", n, "most", detailMost)
		return
	}
	if n := tidy(said.ProtoReflect()); n > detailItems {
		d.f.log.Warn("what a node says of itself for people has too many parts, and is passed over", "node", node, "parts", n, "most", detailItems)
		return
	}
	said.Decisions = said.Decisions[:min(len(said.Decisions), detailDecisions)]
	said.Steering = said.Steering[:min(len(said.Steering), detailDecisions)]
	before, _ := d.of(node).open() // one that cannot be read is none
	said.Series = mergeSeries(before.GetSeries(), said.GetSeries(), now)
	doc, err := pack(said, now)
	if err != nil {
		d.f.log.Error("what a node says of itself cannot be kept", "node", node, "error", err)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waits[node] = doc
}

// tidy takes out times that are none, which cannot be written as JSON, and counts the
// messages and texts in a message.
func tidy(m protoreflect.Message) (items int) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsList() && f.Message() != nil:
			items += v.List().Len()
			for i := range v.List().Len() {
				items += tidy(v.List().Get(i).Message())
			}
		case f.IsList() && f.Kind() == protoreflect.StringKind:
			items += v.List().Len()
		case f.IsList(), f.IsMap(), f.Message() == nil: // figures; there are no maps
		default:
			items++
			if t, ok := v.Message().Interface().(interface{ CheckValid() error }); ok && t.CheckValid() != nil {
				m.Clear(f)
				break
			}
			items += tidy(v.Message())
		}
		return true
	})
	return items
}

// some takes documents out to be written.
func (d *details) some(most int) map[string]detailDoc {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[string]detailDoc{}
	for node, doc := range d.waits {
		if len(out) == most {
			break
		}
		out[node] = doc
	}
	return out
}

// wrote forgets those that are in the store, unless there is news.
func (d *details) wrote(docs map[string]detailDoc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for node, doc := range docs {
		if d.waits[node].At.Equal(doc.At) {
			delete(d.waits, node)
		}
	}
}

// writesDetails takes what nodes said to the store, for the other centres and for later.
func (f *Fleet) writesDetails(ctx context.Context) {
	for pause(ctx, detailWrite) {
		for docs := f.details.some(detailBatch); len(docs) > 0; docs = f.details.some(detailBatch) {
			if err := f.writeDetails(ctx, docs); err != nil {
				if ctx.Err() == nil {
					f.log.Warn("what nodes said of themselves cannot be written", "nodes", len(docs), "error", err)
				}
				break
			}
			f.details.wrote(docs)
		}
	}
}

// writeDetails writes the documents of those nodes that were not forgotten since.
func (f *Fleet) writeDetails(ctx context.Context, docs map[string]detailDoc) error {
	var c change
	f.mu.RLock()
	for node, doc := range docs {
		if _, known := f.w.nodes[node]; !known {
			continue
		}
		if op, err := put(key(kindDetail, node), doc); err == nil { // plain values can be written
			c.ops = append(c.ops, op)
		}
	}
	f.mu.RUnlock()
	if len(c.ops) == 0 {
		return nil
	}
	return f.commit(ctx, c)
}

// detailBatch bounds how many documents are written at once: they may be long.
const detailBatch = 16

// mergeSeries joins what was known of the links' load with what is said now, which counts
// where both have a figure. Links that are not said of any more go; of two series of one
// link the first counts.
func mergeSeries(before, said []*centralv1.LoadSeries, now time.Time) []*centralv1.LoadSeries {
	var out []*centralv1.LoadSeries
	seen := map[string]bool{}
	for _, s := range said[:min(len(said), detailLinks)] {
		step := s.GetStep().AsDuration()
		if step < detailStep || len(s.GetMean()) != len(s.GetMost()) || seen[s.GetLink()] {
			continue
		}
		seen[s.GetLink()] = true
		at := map[int64][2]float32{}
		for _, b := range before {
			if b.GetLink() == s.GetLink() && b.GetStep().AsDuration() == step {
				steps(b, at)
			}
		}
		steps(s, at)
		out = append(out, seriesOf(s.GetLink(), step, at, now))
	}
	return out
}

// steps puts a series' figures by their step.
func steps(s *centralv1.LoadSeries, at map[int64][2]float32) {
	first := s.GetStart().AsTime().Unix() / int64(s.GetStep().AsDuration()/time.Second)
	for i := range min(len(s.GetMean()), len(s.GetMost())) {
		if mean, most := s.GetMean()[i], s.GetMost()[i]; sane(float64(mean)) && sane(float64(most)) {
			at[first+int64(i)] = [2]float32{mean, most}
		}
	}
}

// seriesOf is a series of the last detailKeep.
func seriesOf(link string, step time.Duration, at map[int64][2]float32, now time.Time) *centralv1.LoadSeries {
	seconds := int64(step / time.Second)
	last := now.Unix() / seconds
	oldest := last - int64(detailKeep/step) + 1
	var have []int64
	for i := range at {
		if i >= oldest && i <= last+1 {
			have = append(have, i)
		}
	}
	out := &centralv1.LoadSeries{Link: link, Step: span(step)}
	if len(have) == 0 {
		return out
	}
	slices.SortFunc(have, cmp.Compare[int64])
	out.Start = timestamppb.New(time.Unix(have[0]*seconds, 0))
	for _, i := range have {
		for int64(len(out.Mean)) < i-have[0] {
			out.Mean, out.Most = append(out.Mean, -1), append(out.Most, -1)
		}
		out.Mean, out.Most = append(out.Mean, at[i][0]), append(out.Most, at[i][1])
	}
	return out
}

// GetNodeDetail is a node with what it said of itself last.
func (a *api) GetNodeDetail(_ context.Context, r *centralv1.GetNodeRequest) (*centralv1.NodeDetail, error) {
	n, err := a.node(r.GetName())
	if err != nil {
		return nil, err
	}
	doc := a.f.details.of(r.GetName())
	d, err := doc.open()
	if err != nil {
		return nil, failed(err)
	}
	return &centralv1.NodeDetail{Node: n, Detail: d, At: stamp(doc.At)}, nil
}
