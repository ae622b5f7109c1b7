package topcmd

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

// lines writes one line for each change until ctx ends, which is no error.
func lines(ctx context.Context, s source, w io.Writer, now func() time.Time) error {
	ctx, cancel := context.WithCancel(ctx)
	var side sync.WaitGroup
	defer side.Wait()
	defer cancel()
	coming := make(chan news)
	side.Go(func() { follow(ctx, s, tryAgain, coming) })
	out := &output.Changes{W: w, Now: now}
	var last []output.Subject
	for {
		select {
		case n := <-coming:
			text := "connected"
			switch {
			case n.err == nil:
				last = n.board.subjects
			case last == nil || isBug(n.err):
				return n.err
			default:
				text = "away: " + oneSentence(n.err)
			}
			if err := out.Show(append([]output.Subject{{Name: s.name(), Text: text}}, last...)); err != nil {
				return fmt.Errorf("the changes cannot be written: %w", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// oneSentence is an error for a line.
func oneSentence(err error) string { return output.OneLine(err.Error()) }
