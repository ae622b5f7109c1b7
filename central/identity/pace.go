package identity

import (
	"net/http"
	"time"
)

const (
	// paceStep is how many bytes of an answer its reader has answerTime for.
	paceStep = 64 << 10
	// sendBuffer is how many bytes the system may hold of it, and as many again for its own
	// use (socket(7), SO_SNDBUF).
	sendBuffer = 2 * paceStep
)

// paced is the writer of an answer to a caller who is known: a stream may last as long as
// it likes, but each step of it has to be taken in time, or the handler's next write fails.
type paced struct {
	http.ResponseWriter
	control *http.ResponseController
	each    time.Duration
}

func (g *Gate) paced(w http.ResponseWriter) *paced {
	p := &paced{ResponseWriter: w, control: http.NewResponseController(w), each: g.answerTime}
	p.rest()
	return p
}

// Write writes step by step.
func (p *paced) Write(b []byte) (n int, err error) {
	defer p.rest()
	for {
		p.hurry()
		step := b[n:min(len(b), n+paceStep)]
		m, err := p.ResponseWriter.Write(step)
		if n += m; err != nil || n == len(b) {
			return n, err
		}
	}
}

// FlushError sends what was written.
func (p *paced) FlushError() error {
	defer p.rest()
	p.hurry()
	return p.control.Flush()
}

// Flush is FlushError for those who do not ask.
func (p *paced) Flush() { _ = p.FlushError() }

// Unwrap is for http.ResponseController.
func (p *paced) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// hurry begins a step, and rest ends it: nothing is late while there is nothing to send.
// They fail for writers that are no connection's: those of tests.
func (p *paced) hurry() { _ = p.control.SetWriteDeadline(time.Now().Add(p.each)) }
func (p *paced) rest()  { _ = p.control.SetWriteDeadline(time.Time{}) }
