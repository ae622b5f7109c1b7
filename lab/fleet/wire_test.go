package fleet

import (
	"context"
	"net"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/catchment-bgp/catchment/central/store"
)

// valve stops what flows through it, as a cut does: nothing is lost, and nothing
// arrives until it is mended.
type valve struct {
	mu   sync.Mutex
	open chan struct{} // closed while things flow
}

func newValve() *valve {
	v := &valve{open: make(chan struct{})}
	close(v.open)
	return v
}

func (v *valve) cut(is bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	select {
	case <-v.open:
		if is {
			v.open = make(chan struct{})
		}
	default:
		if !is {
			close(v.open)
		}
	}
}

func (v *valve) flows() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.open
}

func (v *valve) isCut() bool {
	select {
	case <-v.flows():
		return false
	default:
		return true
	}
}

// wire is a connection through a valve.
type wire struct {
	net.Conn
	valve *valve
	once  sync.Once
	shut  chan struct{}
}

func (w *wire) wait() error {
	select {
	case <-w.valve.flows():
		return nil
	case <-w.shut:
		return net.ErrClosed
	}
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if cut := w.wait(); cut != nil {
		return 0, cut
	}
	return n, err
}

func (w *wire) Write(p []byte) (int, error) {
	if err := w.wait(); err != nil {
		return 0, err
	}
	return w.Conn.Write(p)
}

func (w *wire) Close() error {
	w.once.Do(func() { close(w.shut) })
	return w.Conn.Close()
}

// away is a store that a centre reaches through a valve.
type away struct {
	store.Store
	valve *valve
}

func (a *away) Get(ctx context.Context, key string) (store.Item, error) {
	if a.valve.isCut() {
		return store.Item{}, store.ErrUnavailable
	}
	return a.Store.Get(ctx, key)
}

func (a *away) Range(ctx context.Context, span store.Span) ([]store.Item, store.Revision, error) {
	if a.valve.isCut() {
		return nil, 0, store.ErrUnavailable
	}
	return a.Store.Range(ctx, span)
}

func (a *away) List(ctx context.Context, prefix string) ([]store.Item, store.Revision, error) {
	return a.Range(ctx, store.Prefix(prefix))
}

func (a *away) Commit(ctx context.Context, conds []store.Cond, ops []store.Op) (store.Revision, error) {
	if a.valve.isCut() {
		return 0, store.ErrUnavailable
	}
	return a.Store.Commit(ctx, conds, ops)
}

func (a *away) Watch(ctx context.Context, prefix string, from store.Revision) <-chan store.Event {
	events, out := a.Store.Watch(ctx, prefix, from), make(chan store.Event)
	go func() {
		defer close(out)
		for e := range events {
			select {
			case <-a.valve.flows():
			case <-ctx.Done():
				return
			}
			select {
			case out <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// Close leaves the store to the other centres.
func (a *away) Close() error { return nil }

// shift puts every time of a message off, as a clock that is wrong has it.
func shift(m proto.Message, by time.Duration) {
	shiftIn(m.ProtoReflect(), by)
}

func shiftIn(m protoreflect.Message, by time.Duration) {
	if t, is := m.Interface().(*timestamppb.Timestamp); is {
		t.Seconds += int64(by / time.Second)
		return
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap() && f.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool { shiftIn(v.Message(), by); return true })
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				shiftIn(v.List().Get(i).Message(), by)
			}
		case !f.IsMap() && !f.IsList() && f.Message() != nil:
			shiftIn(v.Message(), by)
		}
		return true
	})
}
