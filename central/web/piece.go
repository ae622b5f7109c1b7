package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
)

// zipFrom is from how many octets on a piece is worth compressing.
const zipFrom = 4 << 10

// piece is a part of a page as it is sent. It holds no secret, so that its compressed
// length tells nobody anything.
type piece struct {
	text, zipped []byte
	tag          string
}

// pieceOf makes the piece of a text.
func pieceOf(text []byte) piece {
	p := piece{text: text, tag: tagOf(text)}
	if len(text) < zipFrom {
		return p
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil { // the level is one
		return p
	}
	_, err = z.Write(text)
	if z.Close() == nil && err == nil {
		p.zipped = bytes.Clone(b.Bytes())
	}
	return p
}

// tagOf is an ETag (RFC 9110, section 8.8.3).
func tagOf(text []byte) string {
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// has names what is sent, and answers if the browser has it already.
func has(w http.ResponseWriter, r *http.Request, tag string) bool {
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") != tag {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// send answers with the piece, if the browser does not have it already.
func (p piece) send(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Accept-Encoding")
	if has(w, r, p.tag) {
		return
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	text := p.text
	if p.zipped != nil && zips(r) {
		h.Set("Content-Encoding", "gzip")
		text = p.zipped
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text)
}

// zips reports whether a browser takes gzip (RFC 9110, section 12.5.3); what is in doubt is
// sent as it is.
func zips(r *http.Request) bool {
	for field := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(field) == "gzip" {
			return true
		}
	}
	return false
}

// part answers with a piece that is drawn for this browser alone.
func part(w http.ResponseWriter, r *http.Request, text []byte) { pieceOf(text).send(w, r) }
