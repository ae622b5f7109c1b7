package central

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"google.golang.org/protobuf/proto"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

// longestRequestID is in bytes.
const longestRequestID = 64

// onceOf is the id of the window that a request with an id of its own makes, the same at
// each centre and each time, and the hash of all that it asks for. The window's key is
// the memory of the request: it is written under the condition that it is new.
func onceOf(r *centralv1.AddWindowRequest, by Caller) (id, asked string, err error) {
	if len(r.GetRequestId()) > longestRequestID {
		return "", "", badf("the request id has %d bytes, and may have %d at most", len(r.GetRequestId()), longestRequestID)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "window\x00%s\x00%s", by.Name, r.GetRequestId()))
	all, err := proto.MarshalOptions{Deterministic: true}.Marshal(r)
	if err != nil {
		return "", "", badInput{err}
	}
	whole := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s", by.Name, all))
	return idOf("w", sum[:idBytes]), hex.EncodeToString(whole[:]), nil
}

// madeOf is the window that a request has made before, if it has; an error where it, or
// another of its id, asked for something else. asked "" is a request that is new each time.
func (w *world) madeOf(id, asked string) (windowDoc, bool, error) {
	d, ok := w.windows[id]
	switch {
	case asked == "" || !ok:
		return windowDoc{}, false, nil
	case d.doc.Asked != asked:
		return windowDoc{}, false, badf("this request made window %s already, and asked for something else then; ask anew, with another request id", id)
	}
	return d.doc, true, nil
}
