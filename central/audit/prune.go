package audit

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/catchment-bgp/catchment/central/store"
)

const (
	// originKey has the last record that was pruned.
	originKey = Prefix + "origin"
	// pruner and pruneMethod are of the record that tells of pruning. Nothing else
	// writes one.
	pruner      = "central"
	pruneMethod = "PruneAudit"
	// pruneSlack is how much longer than asked a record is kept, so that there is one
	// record of pruning in that time at most.
	pruneSlack = 24 * time.Hour
	// pruneStep is how many records one transaction removes.
	pruneStep = store.MaxOps - 10
)

// mark is what a record of pruning says in After: all up to Number is removed.
type mark struct {
	Number uint64 `json:"number"`
	Hash   string `json:"hash"` // of the last record that is removed
}

// origin is the document at originKey: the log begins after this record.
type origin struct {
	mark
	At time.Time `json:"at"` // when it was removed
}

// Prune removes the records from before a moment, oldest first, and returns how many.
// First it writes a record of that, with the number and the hash of the last that goes,
// so Verify can tell pruning from a loss. It does nothing until the oldest record is a
// day older than that, never removes the last record, and refuses a log whose old part
// is not as it was written. After an error a part may be removed; the log is whole, and
// the next Prune goes on.
func (l *Log) Prune(ctx context.Context, before time.Time, why string) (uint64, error) {
	last, _, err := l.head(ctx)
	if err != nil || last.Number == 0 {
		return 0, err
	}
	from, _, err := l.origin(ctx)
	if err != nil {
		return 0, err
	}
	to, err := l.old(ctx, from, last.Number, before)
	if err != nil || to.Number == from.Number {
		return 0, err
	}
	after, err := json.Marshal(to)
	if err != nil {
		return 0, err
	}
	_, _, err = l.Commit(ctx, nil, nil, Entry{Who: pruner, Method: pruneMethod, Target: "audit", Reason: why, Outcome: Done, After: string(after),
		Detail: fmt.Sprintf("records %d to %d, from before %s, are removed", from.Number+1, to.Number, before.UTC().Format(time.RFC3339))})
	if err != nil {
		return 0, err
	}
	return l.remove(ctx, to)
}

// old finds the last record to be pruned, and checks all up to it.
func (l *Log) old(ctx context.Context, from origin, last uint64, before time.Time) (mark, error) {
	c, err := begin(from)
	if err != nil {
		return mark{}, err
	}
	for first := true; ; {
		end := min(c.number+piece, last-1)
		items, _, err := l.store.Range(ctx, store.Span{From: key(c.number + 1), To: key(end + 1)})
		if err != nil || c.number >= end {
			return c.mark(), err
		}
		if len(items) == 0 {
			return mark{}, fmt.Errorf("there is no %s: the log is damaged and is not pruned; verify it", key(c.number+1))
		}
		for _, item := range items {
			r, err := parse(item)
			if err != nil {
				return mark{}, err
			}
			if !r.At.Before(before) || first && !r.At.Before(before.Add(-pruneSlack)) {
				return c.mark(), nil
			}
			if err := c.add(item); err != nil {
				return mark{}, fmt.Errorf("%w: the log is damaged and is not pruned; verify it", err)
			}
			first = false
		}
	}
}

// remove deletes all up to a record in small transactions. Each moves the origin, so that
// the log is whole after each.
func (l *Log) remove(ctx context.Context, to mark) (uint64, error) {
	removed := uint64(0)
	for {
		from, revision, err := l.origin(ctx)
		if err != nil || from.Number >= to.Number { // another centre may have been at it
			return removed, err
		}
		end := min(from.Number+pruneStep, to.Number)
		item, err := l.store.Get(ctx, key(end))
		if err != nil {
			return removed, err
		}
		r, err := parse(item)
		if err != nil {
			return removed, err
		}
		op, err := document(originKey, origin{mark{end, r.Hash}, l.now().UTC().Round(0)})
		if err != nil {
			return removed, err
		}
		ops := []store.Op{op}
		for n := from.Number + 1; n <= end; n++ {
			ops = append(ops, store.Op{Key: key(n)})
		}
		_, err = l.store.Commit(ctx, []store.Cond{{Key: originKey, Revision: revision}}, ops)
		if err != nil && !errors.Is(err, store.ErrConflict) {
			return removed, err
		}
		if err == nil {
			removed += end - from.Number
		}
	}
}

// origin returns where the log begins, and the revision of that; both are 0 for one that
// was never pruned.
func (l *Log) origin(ctx context.Context) (origin, store.Revision, error) {
	item, err := l.store.Get(ctx, originKey)
	if errors.Is(err, store.ErrNotFound) {
		return origin{}, 0, nil
	}
	if err != nil {
		return origin{}, 0, err
	}
	c, err := parseOrigin(item.Value)
	return c, item.Revision, err
}

func parseOrigin(text []byte) (origin, error) {
	var c origin
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("%s: %w", originKey, err)
	}
	same, err := json.Marshal(c)
	if err != nil || c.Number == 0 || !bytes.Equal(same, text) {
		return c, fmt.Errorf("%s is not as it is written: the log is damaged; verify it, and restore a backup", originKey)
	}
	_, err = parseHash(c.Hash)
	return c, err
}

// begin returns the chain after an origin.
func begin(from origin) (chain, error) {
	if from.Number == 0 {
		return chain{}, nil
	}
	sum, err := parseHash(from.Hash)
	return chain{origin: from, number: from.Number, sum: sum}, err
}

// mark is the chain's last record.
func (c *chain) mark() mark {
	if c.number == 0 {
		return mark{}
	}
	return mark{c.number, hex.EncodeToString(c.sum[:])}
}

// told takes in what a record says of pruning.
func (c *chain) told(r Record) {
	var m mark
	if r.Who == pruner && r.Method == pruneMethod && json.Unmarshal([]byte(r.After), &m) == nil && m.Number < r.Number {
		c.pruned = m
	}
}

// attested checks that a record of the chain tells of the pruning before it.
func (c *chain) attested() error {
	switch {
	case c.origin.Number == 0 || c.pruned.Number > c.origin.Number || c.pruned == c.origin.mark:
		return nil
	case c.pruned.Number == c.origin.Number:
		return fmt.Errorf("%s has another hash for record %d than the record that tells of its removal", originKey, c.origin.Number)
	}
	return fmt.Errorf("the log begins with record %d, and no record tells that those before it were pruned", c.origin.Number+1)
}
