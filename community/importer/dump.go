package importer

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io"
)

// ReadDump reads the dump of a routing registry's database, such as RIPE's ripe.db or
// ripe.db.aut-num.gz, plain or gzip, and calls yield for each aut-num that documents or
// uses communities, in the order of the dump. want, if not nil, says which ones. Both are
// called where ReadDump was, one at a time; the objects are read on all processors. It keeps
// a few objects for each, of at most 8 MiB. name is what entries and problems call the dump.
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
	c := newCrew(name, yield)
	defer c.close()
	err := eachObject(&bound{ctx, text}, func(o *object) bool {
		if o.class != "aut-num" {
			return false
		}
		asn, ok := asNumber(o.key)
		return ok && (want == nil || want(asn))
	}, c.add)
	if c.failed || ctx.Err() != nil {
		return err
	}
	return cmp.Or(c.flush(), err)
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
