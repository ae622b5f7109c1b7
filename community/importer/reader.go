package importer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// lineReader reads lines of any length in bounded memory: what is beyond the bound is
// left out, and said.
type lineReader struct {
	in   *bufio.Reader
	no   int
	long []byte
	// most is how many octets of a line are kept.
	most int
}

func newLineReader(r io.Reader, most int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(r, 256<<10), most: most}
}

// next returns the next line without its end, valid until the next call, and whether it
// was cut; io.EOF after the last one.
func (l *lineReader) next() (text []byte, cut bool, err error) {
	text, err = l.in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		text, cut, err = l.nextLong(text)
	}
	if err != nil && (err != io.EOF || len(text) == 0) {
		return nil, false, err
	}
	l.no++
	text = trimEnd(text)
	if len(text) > l.most {
		text, cut = text[:l.most], true
	}
	return text, cut, nil
}

func (l *lineReader) nextLong(part []byte) (text []byte, cut bool, err error) {
	l.long = append(l.long[:0], part...)
	seen := len(part)
	for err = bufio.ErrBufferFull; errors.Is(err, bufio.ErrBufferFull); {
		part, err = l.in.ReadSlice('\n')
		if seen += len(part); seen > longestDocument {
			return nil, false, fmt.Errorf("line %d has no end after %d MiB: this is no text", l.no+1, longestDocument>>20)
		}
		if room := l.most - len(l.long); room >= len(part) {
			l.long = append(l.long, part...)
		} else {
			l.long, cut = append(l.long, part[:max(0, room)]...), true
		}
	}
	return l.long, cut, err
}

func trimEnd(text []byte) []byte {
	if n := len(text); n > 0 && text[n-1] == '\n' {
		text = text[:n-1]
	}
	if n := len(text); n > 0 && text[n-1] == '\r' {
		text = text[:n-1]
	}
	return text
}
