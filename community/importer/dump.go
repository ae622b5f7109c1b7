package importer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
)

// ReadDump reads the dump of a routing registry's database, such as RIPE's ripe.db or
// ripe.db.aut-num.gz, plain or gzip, and calls yield for each aut-num that documents or
// uses communities, in the order of the dump. want, if not nil, says which ones. It keeps
// one object at a time, of at most 8 MiB. name is what entries and problems call the dump.
// An error is that of r, of yield or of ctx; what
// was yielded before stands.
func ReadDump(ctx context.Context, r io.Reader, name string, want func(asn uint32) bool, yield func(Result) error) error {
	in := bufio.NewReaderSize(r, 256<<10)
	var text io.Reader = in
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		gz, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("gzip: %w", err)
		}
		defer gz.Close()
		text = gz
	}
	words := newLexicon()
	return eachObject(&bound{ctx, text}, func(o *object) bool {
		if o.class != "aut-num" {
			return false
		}
		asn, ok := asNumber(o.key)
		return ok && (want == nil || want(asn))
	}, func(o *object) error {
		out := readObjectWith(words, o, name, Options{})
		if len(out.Entries)+len(out.InUse)+len(out.Problems) == 0 {
			return nil
		}
		return yield(out)
	})
}

// bound is a reader that ends with its context.
type bound struct {
	ctx context.Context
	r   io.Reader
}

func (b *bound) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.r.Read(p)
}
