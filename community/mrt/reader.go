package mrt

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"net/netip"
	"slices"

	"github.com/catchment-bgp/catchment/community/update"
)

// MaxRoutes is how many octets of path attributes the routes to one prefix may have
// together, each counted as 256 or more. Those of a collector with a thousand peers have
// one in a hundred.
const MaxRoutes = 32 << 20

const (
	routeCost   = 256 // that each costs at least
	maxProblems = 100 // that are kept; the others are counted
	maxKinds    = 64  // types of records not read that are told apart
)

var (
	errStop    = errors.New("no more entries wanted")
	errNotRead = errors.New("a record of a type that is not read")
)

// Reader reads MRT from one source, once. It is for one goroutine.
type Reader struct {
	src      io.Reader
	frames   frames
	want     update.Target
	yield    func(Entry) bool
	attrs    update.Attributes
	peers    []peer // of the last PEER_INDEX_TABLE
	indexed  bool   // it could be read
	state    state
	cost     int // of what has been yielded of tables
	used     bool
	stats    Stats
	problems []Problem
	dropped  int // problems that are not kept
	unread   []unread
}

// Stats counts what was read.
type Stats struct {
	Records int64 // of all types
	Octets  int64 // of these, unpacked, with their headers
}

// unread counts records of one type that are not read.
type unread struct {
	kind, subtype uint16
	first         int64
	count         int
}

// NewReader returns a Reader of what is in src: MRT, plain or compressed with gzip or
// bzip2. It reads nothing yet, and never closes src.
func NewReader(src io.Reader) *Reader { return &Reader{src: src} }

// Routes reads the source to its end and yields the routes to prefix, exactly: those of
// tables as they stand there, one Entry each; then, of the updates, what was last of
// each peer and path identifier, sorted by ASN, address and identifier. That is a
// withdrawal where the peer has withdrawn its route or its session went down.
//
// For a stream with a table and updates both are yielded. Host bits of prefix are ignored;
// of no valid prefix there is no route.
func (r *Reader) Routes(prefix netip.Prefix) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		r.want, r.yield = update.NewTarget(prefix), yield
		if prefix.IsValid() && r.read() {
			r.state.each(yield)
		}
	}
}

// All reads the source to its end and yields every route, announced or withdrawn, in the order
// of the file. The end of a session yields nothing.
func (r *Reader) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		r.want, r.yield = update.Every(), yield
		r.read()
	}
}

// Stats returns what has been read until now.
func (r *Reader) Stats() Stats { return r.stats }

// Problems returns what could not be read until now, the first hundred one by one.
func (r *Reader) Problems() []Problem {
	out := slices.Clone(r.problems)
	if r.dropped > 0 {
		out = append(out, Problem{out[len(out)-1].Offset, fmt.Sprintf("and behind it %d more, not listed", r.dropped)})
	}
	for _, u := range r.unread {
		out = append(out, Problem{u.first, fmt.Sprintf("type %d, subtype %d: not read; %d such records were passed over", u.kind, u.subtype, u.count)})
	}
	return out
}

// problem notes what is wrong at an offset.
func (r *Reader) problem(offset int64, reason string) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{offset, reason})
	} else {
		r.dropped++
	}
}

// read reads the source to its end, and reports whether more entries are wanted.
func (r *Reader) read() bool {
	if r.used {
		return false
	}
	r.used = true
	src, err := decompress(r.src)
	if err != nil {
		r.problem(0, err.Error())
		return true
	}
	r.frames.src = src
	for {
		rec, err := r.frames.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			r.problem(rec.offset, err.Error())
			break
		}
		r.stats.Records++
		err = r.record(rec)
		r.stats.Octets = r.frames.offset
		if err == errStop {
			return false
		} else if err == errFull {
			r.problem(rec.offset, err.Error())
			break
		} else if err == errNotRead {
			r.passedOver(rec)
		} else if err != nil {
			r.problem(rec.offset, fmt.Sprintf("type %d, subtype %d: %v", rec.kind, rec.subtype, err))
		}
	}
	if r.stats.Records == 0 && len(r.problems) == 0 {
		r.problem(0, "no MRT in it: it is empty")
	}
	return true
}

// record reads one record.
func (r *Reader) record(rec record) error {
	switch rec.kind {
	case typeTableDumpV2:
		return r.tableDumpV2(rec)
	case typeBGP4MP:
		return r.bgp4mp(rec, rec.time())
	case typeBGP4MPET:
		return r.bgp4mpET(rec)
	case typeTableDump:
		return r.tableDump(rec)
	case typeBGP:
		return r.bgp(rec)
	}
	return errNotRead
}

// passedOver counts a record of a type that is not read.
func (r *Reader) passedOver(rec record) {
	for i := range r.unread {
		if u := &r.unread[i]; u.kind == rec.kind && u.subtype == rec.subtype {
			u.count++
			return
		}
	}
	if len(r.unread) < maxKinds {
		r.unread = append(r.unread, unread{rec.kind, rec.subtype, rec.offset, 1})
		return
	}
	r.problem(rec.offset, fmt.Sprintf("type %d, subtype %d: not read", rec.kind, rec.subtype))
}

// errFull is that of more routes to one prefix than there can be.
var errFull = fmt.Errorf("the routes to the prefix have more than %d octets of attributes; nothing from here on was read", MaxRoutes)

// final reports whether nothing is to be read behind what failed with err.
func final(err error) bool { return err == errStop || err == errFull }

// emit yields a route of a table, whose attributes have size octets.
func (r *Reader) emit(e Entry, size int) error {
	if !r.want.All {
		if r.cost += max(size, routeCost); r.cost > MaxRoutes {
			return errFull
		}
	}
	if !r.yield(e) {
		return errStop
	}
	return nil
}

// learn takes in what an update says, whose attributes have size octets.
func (r *Reader) learn(e Entry, size int) error {
	if r.want.All {
		return r.emit(e, size)
	}
	return r.state.set(e, size)
}
