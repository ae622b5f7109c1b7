package store

import (
	"context"
	"errors"
	"strings"
)

// Revision numbers the states of a store: each transaction that changes
// something makes the next one. It never falls, not even when a backup is
// restored, so it serves as a fence. No revision is 0 or less.
type Revision int64

// Item is a document.
type Item struct {
	Key      string
	Value    []byte   // JSON; the receiver may keep it and must not change it
	Revision Revision // of the last change
}

// Cond is a condition: the last change of Key was at Revision. 0 says that
// Key does not exist.
type Cond struct {
	Key      string
	Revision Revision
}

// Op is a change: Key gets Value, or is deleted where Value is nil.
type Op struct {
	Key   string
	Value []byte
}

// Span is a range of keys to read.
type Span struct {
	From  string   // the first key
	To    string   // the first key after it; empty: no end
	Limit int      // at most so many items, the lowest keys; 0: all
	At    Revision // as of this revision; 0: now
}

// Event is what one transaction changed under a watched prefix, or the end of a watch.
type Event struct {
	Items    []Item   // written, sorted by key
	Deleted  []string // sorted
	Revision Revision // of the transaction; 0 with Err
	Err      error    // ErrCompacted or ErrClosed: the last event
}

// Store holds documents. All methods may be called at the same time; each ends
// when its context does. Reads see all that was committed before they began.
//
// Errors are told apart with errors.Is: ErrInvalid, ErrClosed, ErrUnavailable,
// and those named at each method.
type Store interface {
	// Get returns the document of key, or ErrNotFound.
	Get(ctx context.Context, key string) (Item, error)
	// List returns all documents whose keys begin with prefix ("" for all),
	// sorted by key, as of one revision, from which a Watch goes on.
	List(ctx context.Context, prefix string) ([]Item, Revision, error)
	// Range is List for a part: long lists are read in pieces at one revision.
	// A revision that is gone is ErrCompacted; one still to come ErrInvalid.
	Range(ctx context.Context, span Span) ([]Item, Revision, error)
	// Commit makes all changes if all conditions hold, or none and returns a
	// *ConflictError (ErrConflict). It returns when the change is on disk, with
	// the revision that it made; deleting what is not there changes nothing,
	// and a Commit that changes nothing returns the present revision. ErrFull:
	// there is no space, and nothing changed. After ErrUnavailable, the end of
	// ctx, and ErrFull of a cluster elsewhere (whose etcd makes the change that
	// reaches its quota and then refuses it) the change may have been made: read
	// again. The same Commit with conditions is safe.
	Commit(ctx context.Context, conds []Cond, ops []Op) (Revision, error)
	// Watch sends every change after revision from under prefix ("" for all),
	// one event for each transaction, in order, none left out. Where the changes
	// are no longer kept, or the reader is too slow for them to be kept, the
	// last event has ErrCompacted: List again. It outlasts failures of
	// the cluster. The channel is closed after an Err, and when ctx ends.
	Watch(ctx context.Context, prefix string, from Revision) <-chan Event
	// Close ends all watches and returns when everything is on disk.
	Close() error
}

// Errors of every store.
var (
	ErrNotFound    = errors.New("not found")
	ErrConflict    = errors.New("changed meanwhile")
	ErrCompacted   = errors.New("this revision is no longer kept")
	ErrInvalid     = errors.New("invalid")
	ErrFull        = errors.New("the store is full")
	ErrClosed      = errors.New("the store is closed")
	ErrUnavailable = errors.New("the store cannot be reached")
)

// ConflictError says which conditions did not hold.
type ConflictError struct {
	Keys []string // sorted
}

// Error lists the keys.
func (e *ConflictError) Error() string {
	return strings.Join(e.Keys, ", ") + ": " + ErrConflict.Error()
}

// Unwrap returns ErrConflict.
func (e *ConflictError) Unwrap() error { return ErrConflict }

// On reports whether the condition on key did not hold.
func (e *ConflictError) On(key string) bool {
	for _, k := range e.Keys {
		if k == key {
			return true
		}
	}
	return false
}

// Prefix returns the span of all keys that begin with prefix.
func Prefix(prefix string) Span {
	return Span{From: prefix, To: prefixEnd(prefix)}
}

// prefixEnd returns the first key after all that begin with prefix, or "" for none.
func prefixEnd(prefix string) string {
	end := []byte(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return string(end[:i+1])
		}
	}
	return ""
}
