package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/central/store"
)

// piece is how many records are read at once.
const piece = 500

// recordsEnd is the first key after all records.
var recordsEnd = store.Prefix(recordKey).To

// Filter says which records are listed.
type Filter struct {
	Who, Target string // exactly; empty: any
	Before      uint64 // only lower numbers; 0: all
	Limit       int    // 0: 100
}

// List returns the records that the filter takes, newest first. To see more,
// ask again with Before the last one's number. Errors are the store's, and one
// that names a record which cannot be read.
func (l *Log) List(ctx context.Context, f Filter) ([]Record, error) {
	last, _, err := l.head(ctx)
	if err != nil {
		return nil, err
	}
	if f.Limit <= 0 {
		f.Limit = 100
	}
	end := last.Number + 1 // the first number not to be read
	if f.Before > 0 {
		end = min(end, f.Before)
	}
	found := []Record{}
	from, _, err := l.origin(ctx)
	if err != nil {
		return nil, err
	}
	for end > from.Number+1 {
		start := max(end, from.Number+1+piece) - piece
		items, _, err := l.store.Range(ctx, store.Span{From: key(start), To: key(end)})
		if err != nil {
			return nil, err
		}
		for _, item := range slices.Backward(items) {
			r, err := parse(item)
			if err != nil {
				return nil, err
			}
			if f.takes(r) {
				found = append(found, r)
			}
			if len(found) == f.Limit {
				return found, nil
			}
		}
		end = start
	}
	return found, nil
}

// From returns records with this number and those after it, oldest first; of records that were
// pruned none. limit 0: 100. Errors are those of List.
func (l *Log) From(ctx context.Context, number uint64, limit int) ([]Record, error) {
	if limit <= 0 {
		limit = 100
	}
	items, _, err := l.store.Range(ctx, store.Span{From: key(number), To: recordsEnd, Limit: limit})
	if err != nil {
		return nil, err
	}
	found := make([]Record, 0, len(items))
	for _, item := range items {
		r, err := parse(item)
		if err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, nil
}

// takes reports whether the record is wanted.
func (f Filter) takes(r Record) bool {
	return (f.Who == "" || f.Who == r.Who) && (f.Target == "" || f.Target == r.Target)
}

// Anchor is a record's hash as noted outside of the store.
type Anchor struct {
	Number uint64
	Hash   string
}

// Verification is what Verify found.
type Verification struct {
	OK       bool
	Records  uint64    // that are as they were written, from the first that is kept on
	BrokenAt uint64    // number of the first record that is not; 0 if OK
	Detail   string    // why
	Head     Anchor    // the last record, to be noted; zero if not OK or empty
	Pruned   Anchor    // the last record that was pruned; zero if none was
	PrunedAt time.Time // when that was
	// Unchecked is how many of the given anchors are of records that were pruned.
	Unchecked int
}

// Verify reads the whole log as of one revision and checks the chain, and that
// the anchors are in it. An error means that the log could not be read, not
// that it is wrong.
func (l *Log) Verify(ctx context.Context, anchors ...Anchor) (Verification, error) {
	end, at, err := l.store.Range(ctx, store.Span{From: headKey, To: headKey + "\x00"})
	if err != nil {
		return Verification{}, err
	}
	begins, _, err := l.store.Range(ctx, store.Span{From: originKey, To: originKey + "\x00", At: at})
	if err != nil {
		return Verification{}, err
	}
	c := chain{}
	if len(begins) > 0 {
		from, err := parseOrigin(begins[0].Value)
		if err == nil {
			c, err = begin(from)
		}
		if err != nil {
			return c.broken(err), nil
		}
	}
	if c.anchors = anchors; !c.noted() {
		return c.broken(fmt.Errorf("record %d has another hash than was noted: the chain was made anew", c.number)), nil
	}
	span := store.Prefix(recordKey)
	span.At, span.Limit = at, piece
	for {
		items, _, err := l.store.Range(ctx, span)
		if err != nil {
			return Verification{}, err
		}
		for _, item := range items {
			if err := c.add(item); err != nil {
				return c.broken(err), nil
			}
		}
		if len(items) < piece {
			break
		}
		span.From = items[len(items)-1].Key + "\x00"
	}
	if err := c.end(end); err != nil {
		return c.broken(err), nil
	}
	if err := c.attested(); err != nil {
		c.number = c.origin.Number // the first is what is wrong
		return c.broken(err), nil
	}
	return c.whole(), nil
}

// whole is the result for a chain without a fault.
func (c *chain) whole() Verification {
	v := Verification{OK: true, Records: c.number - c.origin.Number, Head: Anchor(c.mark()), Pruned: Anchor(c.origin.mark), PrunedAt: c.origin.At}
	for _, a := range c.anchors {
		if a.Number < c.origin.Number {
			v.Unchecked++
		}
	}
	return v
}

// noted reports whether the record at which the chain begins is as it was noted.
func (c *chain) noted() bool {
	for _, a := range c.anchors {
		if c.number > 0 && a.Number == c.number && a.Hash != c.mark().Hash {
			return false
		}
	}
	return true
}

// chain is the part of the log that was checked.
type chain struct {
	anchors []Anchor
	origin  origin // what it begins after
	number  uint64 // of the last record
	sum     [sha256.Size]byte
	pruned  mark // what the last record of pruning says
}

// add checks the next record.
func (c *chain) add(item store.Item) error {
	if item.Key != key(c.number+1) {
		return fmt.Errorf("there is no %s; %s comes instead", key(c.number+1), item.Key)
	}
	r, err := parse(item)
	if err != nil {
		return err
	}
	if r.Number != c.number+1 {
		return fmt.Errorf("%s has the number %d", item.Key, r.Number)
	}
	return c.follow(r)
}

// follow checks a record that has the next number.
func (c *chain) follow(r Record) error {
	sum := r.sum(c.sum)
	if r.Hash != hex.EncodeToString(sum[:]) {
		return fmt.Errorf("the hash of %s is not that of its content after the record before", key(r.Number))
	}
	for _, a := range c.anchors {
		if a.Number == r.Number && a.Hash != r.Hash {
			return fmt.Errorf("%s has another hash than was noted: the chain was made anew", key(r.Number))
		}
	}
	c.number, c.sum = r.Number, sum
	c.told(r)
	return nil
}

// end checks that no record is missing after the last one.
func (c *chain) end(items []store.Item) error {
	var last head
	if len(items) > 0 {
		var err error
		if last, err = parseHead(items[0].Value); err != nil {
			return err
		}
	}
	sum, err := last.sum()
	if err != nil {
		return err
	}
	if last.Number != c.number || sum != c.sum {
		return fmt.Errorf("%s tells of %d records and there are %d", headKey, last.Number, c.number)
	}
	for _, a := range c.anchors {
		if a.Number > c.number {
			return fmt.Errorf("record %d was noted and the log ends with %d", a.Number, c.number)
		}
	}
	return nil
}

// broken is the result for a chain that cannot go on.
func (c *chain) broken(err error) Verification {
	return Verification{Records: c.number - c.origin.Number, BrokenAt: c.number + 1, Detail: err.Error(), Pruned: Anchor(c.origin.mark), PrunedAt: c.origin.At}
}

// parse reads a record. A member that no record has would not be in the hash,
// so it is an error, as is any other writing of the same record.
func parse(item store.Item) (Record, error) {
	var r Record
	decoder := json.NewDecoder(bytes.NewReader(item.Value))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return r, fmt.Errorf("%s is not a record: %w", item.Key, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return r, fmt.Errorf("%s goes on after its record", item.Key)
	}
	same, err := json.Marshal(r)
	if err != nil || !bytes.Equal(same, item.Value) {
		return r, fmt.Errorf("%s is not written as records are", item.Key)
	}
	return r, nil
}
