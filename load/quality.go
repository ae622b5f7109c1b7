package load

import (
	"cmp"
	"container/heap"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// sampled is how many connections are looked at.
const sampled = 512

// qualityMeter measures Quality.
type qualityMeter struct {
	config QualityConfig
	kernel *kernel
	track  *track
	seed   uint64
	before map[uint64]connection // by cookie

	mu    sync.Mutex
	marks map[uint32]string
}

func newQualityMeter(c QualityConfig, k *kernel, t *track) *qualityMeter {
	return &qualityMeter{config: c, kernel: k, track: t, seed: rand.Uint64()}
}

func (m *qualityMeter) setMarks(marks map[uint32]string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.marks = marks
}

func (m *qualityMeter) run(ctx context.Context, hand func([]Quality)) {
	every(ctx, m.config.Period, false, func() {
		list, err := m.look(time.Now())
		if err != nil {
			m.track.fail(err)
			return
		}
		m.track.ok()
		if len(list) > 0 {
			m.track.seen(list[0].At)
			hand(list)
		}
	})
}

// look takes the sample once more and says how its connections fared.
func (m *qualityMeter) look(now time.Time) ([]Quality, error) {
	s := newSketch(sampled, m.seed)
	if err := m.kernel.connections(m.config.VIPs, true, s.add); err != nil {
		return nil, err
	}
	neighbors := map[uint64]string{}
	moved := s.moved(m.before)
	for _, d := range moved {
		name, err := m.neighbor(d.connection)
		if err != nil {
			return nil, err
		}
		neighbors[d.cookie] = name
	}
	m.before = s.byCookie()
	return qualities(moved, neighbors, now), nil
}

// neighbor is whose clients the connection is one of; "": unknown.
func (m *qualityMeter) neighbor(c connection) (string, error) {
	if m.config.Mask == 0 {
		return "", nil
	}
	m.mu.Lock()
	marks := m.marks
	m.mu.Unlock()
	if len(marks) == 0 {
		return "", nil
	}
	mark, known, err := m.kernel.mark(c)
	if err != nil || !known {
		return "", err
	}
	return marks[mark&m.config.Mask], nil
}

// change is a connection and what it sent since the look before.
type change struct {
	connection
	segments, repeats uint32
}

// qualities sums up changes by neighbour, sorted by name.
func qualities(moved []change, neighbors map[uint64]string, now time.Time) []Quality {
	by := map[string][]change{}
	for _, d := range moved {
		name := neighbors[d.cookie]
		by[name] = append(by[name], d)
	}
	var list []Quality
	for name, all := range by {
		slices.SortFunc(all, func(a, b change) int { return cmp.Compare(a.rtt, b.rtt) })
		var segments, repeats uint64
		for _, d := range all {
			segments += uint64(d.segments)
			repeats += uint64(d.repeats)
		}
		list = append(list, Quality{
			Neighbor: name, RTT: all[len(all)/2].rtt, Connections: len(all), At: now,
			Retransmits: min(1, float64(repeats)/float64(segments)),
		})
	}
	slices.SortFunc(list, func(a, b Quality) int { return cmp.Compare(a.Neighbor, b.Neighbor) })
	return list
}

// sketch keeps the connections with the lowest hashes of their cookies: of any
// number of connections a fair sample, which changes only as connections come and
// go, so that what each did between two looks is known.
type sketch struct {
	size int
	seed uint64
	kept ranking
}

type ranked struct {
	hash uint64
	connection
}

// ranking is a heap with the highest hash on top.
type ranking []ranked

func (r ranking) Len() int           { return len(r) }
func (r ranking) Less(i, j int) bool { return r[i].hash > r[j].hash }
func (r ranking) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }

// Push adds an element, for package heap.
func (r *ranking) Push(x any) { *r = append(*r, x.(ranked)) }

// Pop takes the last element, for package heap.
func (r *ranking) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}

func newSketch(size int, seed uint64) *sketch { return &sketch{size: size, seed: seed} }

// add takes an answer of sock_diag in, if it belongs to the sample.
func (s *sketch) add(answer []byte) {
	hash := scramble(cookieOf(answer) ^ s.seed)
	full := len(s.kept) >= s.size
	if full && hash >= s.kept[0].hash {
		return
	}
	c, ok := parseConnection(answer)
	if !ok {
		return
	}
	if full {
		s.kept[0] = ranked{hash, c}
		heap.Fix(&s.kept, 0)
		return
	}
	heap.Push(&s.kept, ranked{hash, c})
}

// moved are the connections of the sample that sent data since before. For a
// connection that was not there, all that it sent counts.
func (s *sketch) moved(before map[uint64]connection) (list []change) {
	seen := map[uint64]bool{}
	for _, r := range s.kept {
		old := before[r.cookie]
		if r.sent < old.sent || r.again < old.again { // 32 bits, which wrap
			continue
		}
		d := change{r.connection, r.sent - old.sent, r.again - old.again}
		if d.segments > 0 && !seen[r.cookie] {
			list = append(list, d)
		}
		seen[r.cookie] = true
	}
	return list
}

func (s *sketch) byCookie() map[uint64]connection {
	all := make(map[uint64]connection, len(s.kept))
	for _, r := range s.kept {
		all[r.cookie] = r.connection
	}
	return all
}

// scramble spreads x over all 64 bits (the finalizer of SplitMix64).
func scramble(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
