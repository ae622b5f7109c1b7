package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAPieceIsSentOnceAndCompressedToWhoTakesIt(t *testing.T) {
	long := strings.Repeat("<td>announced</td>", 1000)
	for _, tt := range []struct {
		text, takes, has string
		code             int
		zipped           bool
	}{
		{long, "gzip, deflate, br", "", http.StatusOK, true},
		{long, "br,gzip", "", http.StatusOK, true},
		{long, "", "", http.StatusOK, false},
		{long, "gzip;q=0", "", http.StatusOK, false},
		{long, "br", "", http.StatusOK, false},
		{"short", "gzip", "", http.StatusOK, false},
		{long, "gzip", pieceOf([]byte(long)).tag, http.StatusNotModified, false},
		{long, "gzip", `"other"`, http.StatusOK, true},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/part/fleet", nil)
		r.Header.Set("Accept-Encoding", tt.takes)
		r.Header.Set("If-None-Match", tt.has)
		part(w, r, []byte(tt.text))
		body, want := io.Reader(w.Body), tt.text
		if tt.code != http.StatusOK {
			want = ""
		}
		if tt.zipped {
			z, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			body = z
		}
		text, err := io.ReadAll(body)
		if h := w.Header(); err != nil || w.Code != tt.code || string(text) != want || (h.Get("Content-Encoding") == "gzip") != tt.zipped || h.Get("Vary") != "Accept-Encoding" || h.Get("ETag") == "" {
			t.Errorf("who takes %q and has %q gets %d, %v, %.40q, %v", tt.takes, tt.has, w.Code, h, text, err)
		}
	}
}
