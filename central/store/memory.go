package store

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// memoryKeeps is how many revisions a Memory keeps for watches and for reads of the past.
const memoryKeeps = 10_000

// Memory is a Store in memory. Nothing in it waits for anything but its callers,
// so it may be used in a synctest bubble.
type Memory struct {
	mu        sync.Mutex
	items     map[string][]version // at most one version at or below compacted
	log       []change             // of the revisions after compacted, in order
	revision  Revision
	compacted Revision
	keeps     int
	closed    bool
	moved     chan struct{} // closed and made anew at each change of the above
}

// version is a document at and after a revision. A deleted one has no value.
type version struct {
	revision Revision
	value    []byte
}

// change is what a transaction changed.
type change struct {
	revision Revision
	ops      []Op // sorted by key
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{items: make(map[string][]version), revision: 1, keeps: memoryKeeps, moved: make(chan struct{})}
}

// Get implements Store.
func (m *Memory) Get(ctx context.Context, key string) (Item, error) {
	if err := checkKey(key); err != nil {
		return Item{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return Item{}, err
	}
	if v := at(m.items[key], m.revision); v.value != nil {
		return Item{Key: key, Value: v.value, Revision: v.revision}, nil
	}
	return Item{}, fmt.Errorf("%s: %w", key, ErrNotFound)
}

// List implements Store.
func (m *Memory) List(ctx context.Context, prefix string) ([]Item, Revision, error) {
	return m.Range(ctx, Prefix(prefix))
}

// Range implements Store.
func (m *Memory) Range(ctx context.Context, span Span) ([]Item, Revision, error) {
	if err := checkSpan(span); err != nil {
		return nil, 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, 0, err
	}
	revision := span.At
	switch {
	case revision == 0:
		revision = m.revision
	case revision > m.revision:
		return nil, 0, fmt.Errorf("revision %d is still to come: %w", revision, ErrInvalid)
	case revision < m.compacted:
		return nil, 0, fmt.Errorf("revision %d: %w", revision, ErrCompacted)
	}
	items := []Item{}
	for _, key := range slices.Sorted(maps.Keys(m.items)) {
		if key < span.From || span.To != "" && key >= span.To {
			continue
		}
		if v := at(m.items[key], revision); v.value != nil {
			items = append(items, Item{Key: key, Value: v.value, Revision: v.revision})
		}
		if span.Limit > 0 && len(items) == span.Limit {
			break
		}
	}
	return items, revision, nil
}

// Commit implements Store.
func (m *Memory) Commit(ctx context.Context, conds []Cond, ops []Op) (Revision, error) {
	if err := checkCommit(conds, ops); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return 0, err
	}
	var conflict ConflictError
	for _, c := range conds {
		if v := at(m.items[c.Key], m.revision); v.value == nil && c.Revision != 0 || v.value != nil && c.Revision != v.revision {
			conflict.Keys = append(conflict.Keys, c.Key)
		}
	}
	if conflict.Keys != nil {
		slices.Sort(conflict.Keys)
		return 0, &conflict
	}
	done := make([]Op, 0, len(ops))
	for _, op := range ops {
		if op.Value != nil || at(m.items[op.Key], m.revision).value != nil {
			done = append(done, Op{Key: op.Key, Value: bytes.Clone(op.Value)})
		}
	}
	if len(done) > 0 {
		m.apply(done)
	}
	return m.revision, nil
}

// apply makes the next revision of ops.
func (m *Memory) apply(ops []Op) {
	m.revision++
	slices.SortFunc(ops, func(a, b Op) int { return strings.Compare(a.Key, b.Key) })
	for _, op := range ops {
		m.items[op.Key] = append(m.items[op.Key], version{m.revision, op.Value})
	}
	m.log = append(m.log, change{m.revision, ops})
	if len(m.log) > 2*m.keeps {
		m.compact(m.revision - Revision(m.keeps))
	}
	m.wake()
}

// Compact forgets what was before revision: it can no longer be read, and
// changes up to it no longer be watched. One still to come is ErrInvalid.
func (m *Memory) Compact(ctx context.Context, revision Revision) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	if revision > m.revision {
		return fmt.Errorf("revision %d is still to come: %w", revision, ErrInvalid)
	}
	m.compact(revision)
	m.wake()
	return nil
}

// compact is Compact, under the lock.
func (m *Memory) compact(revision Revision) {
	if revision <= m.compacted {
		return
	}
	m.compacted = revision
	n := 0
	for n < len(m.log) && m.log[n].revision <= revision {
		for _, op := range m.log[n].ops {
			m.trim(op.Key)
		}
		n++
	}
	m.log = slices.Clone(m.log[n:])
}

// trim drops the versions of key that no revision still kept can see.
func (m *Memory) trim(key string) {
	versions := m.items[key]
	n := 0
	for n+1 < len(versions) && versions[n+1].revision <= m.compacted {
		n++
	}
	if n < len(versions) && versions[n].revision <= m.compacted && versions[n].value == nil {
		n++
	}
	if n == len(versions) {
		delete(m.items, key)
		return
	}
	m.items[key] = slices.Clone(versions[n:])
}

// Watch implements Store.
func (m *Memory) Watch(ctx context.Context, prefix string, from Revision) <-chan Event {
	events := make(chan Event)
	go func() {
		defer close(events)
		for {
			pending, moved, err := m.since(prefix, from)
			if err != nil {
				pending = []Event{{Err: err}}
			}
			for _, e := range pending {
				select {
				case events <- e:
					from = e.Revision
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
			select {
			case <-moved:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events
}

// since returns the changes after a revision under prefix, and a channel that
// is closed when there may be more.
func (m *Memory) since(prefix string, from Revision) ([]Event, <-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, nil, ErrClosed
	}
	if from < m.compacted {
		return nil, nil, fmt.Errorf("changes after revision %d: %w", from, ErrCompacted)
	}
	var events []Event
	first, _ := slices.BinarySearchFunc(m.log, from+1, func(c change, r Revision) int { return int(c.revision - r) })
	for _, c := range m.log[first:] {
		if e := c.event(prefix); e.Items != nil || e.Deleted != nil {
			events = append(events, e)
		}
	}
	return events, m.moved, nil
}

// event returns what the change is for a watch of prefix.
func (c change) event(prefix string) Event {
	e := Event{Revision: c.revision}
	for _, op := range c.ops {
		switch {
		case !strings.HasPrefix(op.Key, prefix):
		case op.Value == nil:
			e.Deleted = append(e.Deleted, op.Key)
		default:
			e.Items = append(e.Items, Item{Key: op.Key, Value: op.Value, Revision: c.revision})
		}
	}
	return e
}

// Close implements Store.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.closed = true
		m.wake()
	}
	return nil
}

// wake lets the watches look again.
func (m *Memory) wake() {
	close(m.moved)
	m.moved = make(chan struct{})
}

// usable returns why nothing can be done.
func (m *Memory) usable(ctx context.Context) error {
	if m.closed {
		return ErrClosed
	}
	return ctx.Err()
}

// at returns the version that stood at a revision.
func at(versions []version, revision Revision) version {
	for _, v := range slices.Backward(versions) {
		if v.revision <= revision {
			return v
		}
	}
	return version{}
}
