package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/catchment-bgp/catchment/central/store"
)

const (
	// Prefix is of all keys of the log. Nothing else may write there.
	Prefix    = "audit/"
	headKey   = Prefix + "head"
	recordKey = Prefix + "record/"

	// retryWait is the longest first wait after another centre was faster; it
	// doubles up to retryMax.
	retryWait = 5 * time.Millisecond
	retryMax  = 200 * time.Millisecond
)

// head is the document at headKey.
type head struct {
	Number uint64 `json:"number"`
	Hash   string `json:"hash"`
}

// Log appends to and reads the audit log of a store. Its methods may be called
// at the same time, and several centres may have a Log of one store.
type Log struct {
	store store.Store
	now   func() time.Time
	log   *slog.Logger
	turn  chan struct{} // one writer of this process at a time; others would only conflict
}

// New returns the log in s. Each new record is written to log as well, with its
// hash; nil: to none.
func New(s store.Store, now func() time.Time, log *slog.Logger) *Log {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Log{store: s, now: now, log: log, turn: make(chan struct{}, 1)}
}

// Addition is what appends records to the log: conditions and changes to commit
// together with the change that the records tell of.
type Addition struct {
	Records []Record
	Conds   []store.Cond
	Ops     []store.Op
}

// Moved reports whether err is a conflict because another record came first:
// make a new Addition and try again.
func Moved(err error) bool {
	var conflict *store.ConflictError
	return errors.As(err, &conflict) && conflict.On(headKey)
}

// Next returns what appends the entries at the present end of the log. Commit
// does all of it for a caller whose conditions do not depend on it. Errors are
// ErrInvalid and the store's.
func (l *Log) Next(ctx context.Context, entries ...Entry) (Addition, error) {
	last, revision, err := l.head(ctx)
	if err != nil {
		return Addition{}, err
	}
	before, err := last.sum()
	if err != nil {
		return Addition{}, err
	}
	a := Addition{Conds: []store.Cond{{Key: headKey, Revision: revision}}}
	if len(entries) == 0 {
		return Addition{}, fmt.Errorf("no audit entry: %w", ErrInvalid)
	}
	for _, entry := range entries {
		if entry, err = entry.clean(); err != nil {
			return Addition{}, err
		}
		r := Record{Number: last.Number + 1, At: l.now().UTC().Round(0), Entry: entry}
		before = r.sum(before)
		r.Hash = hex.EncodeToString(before[:])
		last = head{r.Number, r.Hash}
		op, err := document(key(r.Number), r)
		if err != nil {
			return Addition{}, err
		}
		a.Records = append(a.Records, r)
		a.Conds = append(a.Conds, store.Cond{Key: op.Key})
		a.Ops = append(a.Ops, op)
	}
	op, err := document(headKey, last)
	a.Ops = append(a.Ops, op)
	return a, err
}

// Commit makes the changes and appends the entries in one transaction, if the
// conditions hold, and returns the records. While only other records came
// first it tries again. Errors are ErrInvalid and the store's: with
// store.ErrConflict a condition of the caller's does not hold and nothing is
// changed; after store.ErrUnavailable both or neither may have been made.
func (l *Log) Commit(ctx context.Context, conds []store.Cond, ops []store.Op, entries ...Entry) ([]Record, store.Revision, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, 0, context.Cause(ctx)
	}
	for wait := retryWait; ; wait = min(2*wait, retryMax) {
		a, err := l.Next(ctx, entries...)
		if err != nil {
			return nil, 0, err
		}
		revision, err := l.store.Commit(ctx, append(a.Conds, conds...), append(a.Ops, ops...))
		if err == nil {
			l.tell(a.Records)
			return a.Records, revision, nil
		}
		if !Moved(err) {
			return nil, 0, overwrites(err, a)
		}
		select {
		case <-time.After(rand.N(wait)):
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		}
	}
}

// overwrites returns err, or what it means if the new records exist already.
func overwrites(err error, a Addition) error {
	var conflict *store.ConflictError
	if !errors.As(err, &conflict) {
		return err
	}
	for _, r := range a.Records {
		if conflict.On(key(r.Number)) {
			return fmt.Errorf("%s exists and %s says that it does not: the log is damaged; verify it, and restore a backup", key(r.Number), headKey)
		}
	}
	return err
}

// tell logs the records.
func (l *Log) tell(records []Record) {
	for _, r := range records {
		l.log.Info("audit", "number", r.Number, "who", r.Who, "method", r.Method, "target", r.Target,
			"outcome", r.Outcome, "reason", r.Reason, "ticket", r.Ticket, "hash", r.Hash)
	}
}

// head returns the end of the log and the revision of its document; both are 0 for an empty log.
func (l *Log) head(ctx context.Context) (head, store.Revision, error) {
	item, err := l.store.Get(ctx, headKey)
	if errors.Is(err, store.ErrNotFound) {
		return head{}, 0, nil
	}
	if err != nil {
		return head{}, 0, err
	}
	last, err := parseHead(item.Value)
	return last, item.Revision, err
}

// parseHead reads the document at headKey.
func parseHead(text []byte) (head, error) {
	var h head
	if err := json.Unmarshal(text, &h); err != nil {
		return h, fmt.Errorf("%s: %w", headKey, err)
	}
	if same, err := json.Marshal(h); err != nil || h.Number == 0 || !bytes.Equal(same, text) {
		return h, fmt.Errorf("%s is not as it is written: the log is damaged; verify it, and restore a backup", headKey)
	}
	_, err := h.sum()
	return h, err
}

// sum returns the hash in the head, zeros for an empty log.
func (h head) sum() ([sha256.Size]byte, error) {
	if h == (head{}) {
		return [sha256.Size]byte{}, nil
	}
	sum, err := parseHash(h.Hash)
	if err != nil || h.Number == 0 {
		return sum, fmt.Errorf("%s has number %d and hash %.80q: the log is damaged; verify it, and restore a backup", headKey, h.Number, h.Hash)
	}
	return sum, nil
}

// key returns the key of a record.
func key(number uint64) string { return fmt.Sprintf("%s%020d", recordKey, number) }

// document returns the change that writes value as JSON.
func document(key string, value any) (store.Op, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return store.Op{}, fmt.Errorf("%s: %w", key, err)
	}
	return store.Op{Key: key, Value: text}, nil
}
