package mrt

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"io"
)

// sourceBuffer is how many octets of a file are read at once.
const sourceBuffer = 64 << 10

// The first octets of what may hold MRT. Three octets of bzip2 would do but for the
// plain files of April 2005, whose first record's time reads BZh.
var (
	magicGzip      = []byte{0x1f, 0x8b, 0x08}
	magicBzip2     = []byte("BZh")
	bzip2Block     = []byte{0x31, 0x41, 0x59, 0x26, 0x53, 0x59}
	bzip2End       = []byte{0x17, 0x72, 0x45, 0x38, 0x50, 0x90}
	magicXz        = []byte{0xfd, '7', 'z', 'X', 'Z', 0}
	magicZstandard = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// decompress returns what is in r, by its first octets.
func decompress(r io.Reader) (io.Reader, error) {
	in := bufio.NewReaderSize(r, sourceBuffer)
	head, _ := in.Peek(10) // a shorter file is plain; an error comes again with the first read
	switch {
	case bytes.HasPrefix(head, magicGzip):
		return gzip.NewReader(in)
	case bytes.HasPrefix(head, magicBzip2) && len(head) == 10 && (bytes.Equal(head[4:], bzip2Block) || bytes.Equal(head[4:], bzip2End)):
		return bzip2.NewReader(in), nil
	case bytes.HasPrefix(head, magicXz):
		return nil, errors.New("compressed with xz, which is not read; unpack it first")
	case bytes.HasPrefix(head, magicZstandard):
		return nil, errors.New("compressed with zstd, which is not read; unpack it first")
	}
	return in, nil
}
