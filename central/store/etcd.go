package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// root is before all our keys, so that others may use the same cluster.
	root = "catchment/"
	data = root + "data/"

	// page is how many documents one request to etcd reads.
	page = 1000
	// retryMin and retryMax are how long a watch waits before it asks the cluster again.
	retryMin = 50 * time.Millisecond
	retryMax = time.Second
)

// Options are for OpenEmbedded and Dial. The zero value has the defaults.
type Options struct {
	Log     *slog.Logger  // default: nothing is logged
	Timeout time.Duration // of each request; 0: 3 s, one election after the death of a leader
	// Keep is how long past revisions can be read and watched; 0: 10 min when
	// embedded, and with Dial for the cluster's own rule to say.
	Keep    time.Duration
	Quota   int64 // embedded only, bytes of the database; 0: 4 GiB
	MinFree int64 // embedded only, bytes of the disk below which commits are refused; 0: 256 MiB
}

// withDefaults fills in what Dial and OpenEmbedded have in common.
func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Timeout = cmp.Or(o.Timeout, 3*time.Second)
	return o
}

// Etcd is a Store in etcd: one member in this process, or a cluster elsewhere.
type Etcd struct {
	client *clientv3.Client
	member *member // nil with Dial
	opts   Options
	base   Revision // what a restored backup adds to etcd's revisions
	ctx    context.Context
	cancel context.CancelFunc
	close  func() error // once

	mu     sync.Mutex     // guards closed, and work against additions after it
	closed bool           // no watch is added to work
	work   sync.WaitGroup // watches and the compactor
}

// newEtcd returns the store behind client and starts its compactor. The schema
// is read, or made.
func newEtcd(ctx context.Context, client *clientv3.Client, m *member, opts Options) (*Etcd, error) {
	e := &Etcd{client: client, member: m, opts: opts}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.close = sync.OnceValue(e.shut)
	if err := e.openSchema(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	if opts.Keep > 0 {
		e.work.Go(e.compactAll)
	}
	return e, nil
}

// call returns the context of one request.
func (e *Etcd) call(ctx context.Context) (context.Context, context.CancelFunc) {
	bounded, cancel := context.WithTimeout(ctx, e.opts.Timeout)
	stop := context.AfterFunc(e.ctx, cancel)
	return bounded, func() { stop(); cancel() }
}

// usable returns why nothing can be asked.
func (e *Etcd) usable() error {
	if e.ctx.Err() != nil {
		return ErrClosed
	}
	return e.member.failure()
}

// problem says what an error of etcd means to the caller whose context ctx is.
func (e *Etcd) problem(ctx context.Context, err error) error {
	var kind error
	switch {
	case e.ctx.Err() != nil:
		return ErrClosed
	case e.member.failure() != nil:
		return e.member.failure()
	case errors.Is(err, rpctypes.ErrCompacted):
		kind = ErrCompacted
	case errors.Is(err, rpctypes.ErrFutureRev):
		kind = ErrInvalid
	case errors.Is(err, rpctypes.ErrNoSpace):
		return fmt.Errorf("the cluster's quota is used up; raise it, and disarm the alarm: %w", ErrFull)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		kind = ErrUnavailable
	}
	return fmt.Errorf("%w: %w", kind, err)
}

// Get implements Store.
func (e *Etcd) Get(ctx context.Context, key string) (Item, error) {
	if err := checkKey(key); err != nil {
		return Item{}, err
	}
	if err := e.usable(); err != nil {
		return Item{}, err
	}
	call, done := e.call(ctx)
	defer done()
	resp, err := e.client.Get(call, data+key)
	if err != nil {
		return Item{}, e.problem(ctx, err)
	}
	if len(resp.Kvs) == 0 {
		return Item{}, fmt.Errorf("%s: %w", key, ErrNotFound)
	}
	return e.item(resp.Kvs[0]), nil
}

// List implements Store.
func (e *Etcd) List(ctx context.Context, prefix string) ([]Item, Revision, error) {
	return e.Range(ctx, Prefix(prefix))
}

// Range implements Store.
func (e *Etcd) Range(ctx context.Context, span Span) ([]Item, Revision, error) {
	if err := checkSpan(span); err != nil {
		return nil, 0, err
	}
	if span.At != 0 && span.At <= e.base {
		return nil, 0, fmt.Errorf("revision %d is from before a restore: %w", span.At, ErrCompacted)
	}
	items := []Item{}
	for {
		want := page
		if span.Limit > 0 {
			want = min(page, span.Limit-len(items))
		}
		resp, err := e.page(ctx, span, want)
		if err != nil {
			return nil, 0, err
		}
		for _, kv := range resp.Kvs {
			items = append(items, e.item(kv))
		}
		if span.At == 0 {
			span.At = e.base + Revision(resp.Header.Revision)
		}
		if !resp.More || span.Limit > 0 && len(items) >= span.Limit {
			return items, span.At, nil
		}
		span.From = items[len(items)-1].Key + "\x00"
	}
}

// page reads at most n documents of the span.
func (e *Etcd) page(ctx context.Context, span Span, n int) (*clientv3.GetResponse, error) {
	if err := e.usable(); err != nil {
		return nil, err
	}
	end := prefixEnd(data)
	if span.To != "" {
		end = data + span.To
	}
	opts := []clientv3.OpOption{clientv3.WithRange(end), clientv3.WithLimit(int64(n))}
	if span.At != 0 {
		opts = append(opts, clientv3.WithRev(int64(span.At-e.base)))
	}
	call, done := e.call(ctx)
	defer done()
	resp, err := e.client.Get(call, data+span.From, opts...)
	if err != nil {
		return nil, e.problem(ctx, err)
	}
	return resp, nil
}

// Commit implements Store.
func (e *Etcd) Commit(ctx context.Context, conds []Cond, ops []Op) (Revision, error) {
	if err := checkCommit(conds, ops); err != nil {
		return 0, err
	}
	if err := e.usable(); err != nil {
		return 0, err
	}
	if err := e.member.space(); err != nil {
		return 0, err
	}
	var wanted []clientv3.Cmp
	var changes, looks []clientv3.Op
	for _, c := range conds {
		wanted = append(wanted, clientv3.Compare(clientv3.ModRevision(data+c.Key), "=", e.modRevision(c)))
		looks = append(looks, clientv3.OpGet(data+c.Key, clientv3.WithKeysOnly()))
	}
	for _, op := range ops {
		if op.Value == nil {
			changes = append(changes, clientv3.OpDelete(data+op.Key))
		} else {
			changes = append(changes, clientv3.OpPut(data+op.Key, string(op.Value)))
		}
	}
	call, done := e.call(ctx)
	defer done()
	resp, err := e.client.Txn(call).If(wanted...).Then(changes...).Else(looks...).Commit()
	switch {
	case err != nil:
		return 0, e.problem(ctx, err)
	case !resp.Succeeded:
		return 0, e.conflict(conds, resp)
	}
	return e.base + Revision(resp.Header.Revision), nil
}

// modRevision returns etcd's revision for the condition: 0 when the key must
// not exist, one that no key has when it was last changed before a restore.
func (e *Etcd) modRevision(c Cond) int64 {
	switch {
	case c.Revision == 0:
		return 0
	case c.Revision <= e.base:
		return -1
	}
	return int64(c.Revision - e.base)
}

// conflict returns which conditions do not hold, from the keys as they are.
func (e *Etcd) conflict(conds []Cond, resp *clientv3.TxnResponse) error {
	var conflict ConflictError
	for i, c := range conds {
		var found int64
		if kvs := resp.Responses[i].GetResponseRange().GetKvs(); len(kvs) > 0 {
			found = kvs[0].ModRevision
		}
		if found != e.modRevision(c) {
			conflict.Keys = append(conflict.Keys, c.Key)
		}
	}
	slices.Sort(conflict.Keys)
	return &conflict
}

// item returns the document in kv.
func (e *Etcd) item(kv *mvccpb.KeyValue) Item {
	return Item{
		Key:      strings.TrimPrefix(string(kv.Key), data),
		Value:    kv.Value,
		Revision: e.base + Revision(kv.ModRevision),
	}
}

// Compact forgets what was before revision: it can no longer be read, and
// changes up to it no longer be watched. One still to come is ErrInvalid, one
// that is gone already nothing to do.
func (e *Etcd) Compact(ctx context.Context, revision Revision) error {
	if err := e.usable(); err != nil {
		return err
	}
	if revision <= e.base {
		return nil
	}
	call, done := e.call(ctx)
	defer done()
	_, err := e.client.Compact(call, int64(revision-e.base))
	if err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return e.problem(ctx, err)
	}
	return nil
}

// compactAll forgets revisions when they are older than Keep, until Close. It
// writes nothing while the disk is nearly full.
func (e *Etcd) compactAll() {
	tick := time.NewTicker(e.opts.Keep)
	defer tick.Stop()
	var before Revision
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-tick.C:
		}
		if e.member.disk() != nil {
			continue
		}
		if err := e.Compact(e.ctx, before); err != nil {
			e.opts.Log.Warn("past revisions are not dropped", "error", err)
			continue
		}
		if before > 0 {
			if err := e.release(); err != nil {
				e.opts.Log.Warn("a full store does not shrink", "error", err)
			}
		}
		_, now, err := e.Range(e.ctx, Span{Limit: 1})
		if err == nil {
			before = now
		}
	}
}

// releases bounds how often a full store is written to so that it shrinks, a second apart.
const releases = 30

// release has a full database give back what past revisions took: it counts pages as
// used until another write comes, and a full store writes nothing.
func (e *Etcd) release() error {
	if e.member == nil {
		return nil
	}
	for range releases {
		if e.member.space() == nil {
			return nil
		}
		call, done := e.call(e.ctx)
		_, err := e.client.Put(call, releaseKey, "")
		done()
		if err != nil {
			return err
		}
		select {
		case <-e.ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
	return nil
}

// Failed is closed when the embedded member cannot go on, because of its disk or
// its files: all calls then return the same error, and the process should end. It is never
// closed with Dial.
func (e *Etcd) Failed() <-chan struct{} {
	if e.member == nil {
		return nil
	}
	return e.member.failed
}

// Close implements Store. It takes at most 15 s.
func (e *Etcd) Close() error { return e.close() }

// shut is Close.
func (e *Etcd) shut() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cancel()
	e.work.Wait()
	err := e.client.Close()
	if errors.Is(err, context.Canceled) {
		err = nil // how the client says that it is closed
	}
	return errors.Join(err, e.member.stop())
}
