package mrt

import (
	"encoding/binary"
	"fmt"
	"io"
)

// MaxRecord is how many octets a record may have behind its header. Of real ones the
// largest, a prefix of a collector with a thousand peers, has less than one in ten.
const MaxRecord = 16 << 20

// headerSize is that of the common header (RFC 6396, section 2).
const headerSize = 12

// The types of records (RFC 6396, section 4 and appendix B).
const (
	typeBGP         = 5
	typeTableDump   = 12
	typeTableDumpV2 = 13
	typeBGP4MP      = 16
	typeBGP4MPET    = 17
)

// record is one MRT record. Its body is valid until the next is read.
type record struct {
	offset  int64
	seconds uint32 // since 1970
	kind    uint16
	subtype uint16
	body    []byte
}

// frames cuts a stream into records. It holds as much of it as one record needs.
type frames struct {
	src    io.Reader
	buf    []byte
	from   int // buf[from:to] is read and not yet used
	to     int
	offset int64 // of buf[from] in the stream
	err    error // that ended src
}

// fill reads until n octets are there, and reports whether they are.
func (f *frames) fill(n int) bool {
	for f.to-f.from < n && f.err == nil {
		if f.from > 0 && len(f.buf)-f.from < n {
			f.to = copy(f.buf, f.buf[f.from:f.to])
			f.from = 0
		}
		if f.to == len(f.buf) { // as much again as has been read, whatever a length claims
			f.buf = append(f.buf, make([]byte, max(sourceBuffer, len(f.buf)))...)
		}
		f.read()
	}
	return f.to-f.from >= n
}

// read reads once. A source that gives nothing many times over has ended.
func (f *frames) read() {
	for range 100 {
		var n int
		n, f.err = f.src.Read(f.buf[f.to:])
		if f.to += n; n > 0 || f.err != nil {
			return
		}
	}
	f.err = io.ErrNoProgress
}

// take returns the next n octets, which are there.
func (f *frames) take(n int) []byte {
	b := f.buf[f.from : f.from+n : f.from+n]
	f.from += n
	f.offset += int64(n)
	return b
}

// next returns the next record; io.EOF at the end of the stream, and any other error
// where nothing behind can be read: then rec.offset says where.
func (f *frames) next() (rec record, err error) {
	rec.offset = f.offset
	if !f.fill(headerSize) {
		if f.to == f.from && f.err == io.EOF {
			return rec, io.EOF
		}
		return rec, fmt.Errorf("the data ends at octet %d of the %d of a record's header%s", f.to-f.from, headerSize, f.cause())
	}
	h := f.buf[f.from:]
	rec.seconds = binary.BigEndian.Uint32(h)
	rec.kind = binary.BigEndian.Uint16(h[4:])
	rec.subtype = binary.BigEndian.Uint16(h[6:])
	size := binary.BigEndian.Uint32(h[8:])
	if size > MaxRecord {
		return rec, fmt.Errorf("record of type %d, subtype %d and %d octets, more than %d: this is no MRT, or its records are out of step; nothing from here on was read",
			rec.kind, rec.subtype, size, MaxRecord)
	}
	if n := headerSize + int(size); !f.fill(n) {
		return rec, fmt.Errorf("the data ends at octet %d of the %d of a record of type %d, subtype %d%s", f.to-f.from, n, rec.kind, rec.subtype, f.cause())
	}
	f.take(headerSize)
	rec.body = f.take(int(size))
	return rec, nil
}

// longer returns rec, the last one taken, with n more octets of the stream, and whether they
// are there. They are not taken; skip does that.
func (f *frames) longer(rec record, n int) (record, bool) {
	size := len(rec.body)
	f.from -= size // still in buf: nothing has been filled since
	ok := f.fill(size + n)
	f.from += size
	rec.body = f.buf[f.from-size : f.from]
	if ok {
		rec.body = rec.body[:size+n]
	}
	return rec, ok
}

// skip takes n octets that are there.
func (f *frames) skip(n int) { f.take(n) }

// cause returns ": " and why the stream ended, "" if it simply did.
func (f *frames) cause() string {
	if f.err == nil || f.err == io.EOF {
		return ""
	}
	return ": " + f.err.Error()
}
