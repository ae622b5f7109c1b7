//go:build data

package mrt

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"hash"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/community"
)

// The golden list is made of what Debian's bgpdump 1.6.2 prints, once for each file:
//
//	for f in *; do bgpdump -m -l $f | gzip >DIR/$f.txt.gz; done
//	go test -tags data -run TestData ./community/mrt -bgpdump DIR
var bgpdump = flag.String("bgpdump", "", "folder with what bgpdump -m -l printed, to write the golden list of")

// golden is what bgpdump says of one file.
type golden struct {
	Entries int      `json:"entries"`
	SHA256  string   `json:"sha256"`  // of all entries in lines
	Chosen  []string `json:"chosen"`  // prefixes: the first, the middle one and the last
	Lines   []string `json:"lines"`   // the entries of these, at most chosenLines of each
	Records int64    `json:"records"` // from here on of ours, as read by eye
	Problem []string `json:"problems"`
}

const chosenLines = 12

// line is an entry in the form that is compared.
func line(e Entry) string {
	at := fmt.Sprint(e.Time.Unix())
	if us := e.Time.Nanosecond() / 1000; us != 0 {
		at += fmt.Sprintf(".%06d", us)
	}
	id := ""
	if e.PathID != 0 {
		id = fmt.Sprint(e.PathID)
	}
	if e.Withdrawn {
		return strings.Join([]string{"W", at, e.Peer.String(), fmt.Sprint(e.PeerASN), e.Prefix.String(), id}, "|")
	}
	hop := ""
	if e.NextHop.IsValid() {
		hop = e.NextHop.String()
	}
	return strings.Join([]string{"A", at, e.Peer.String(), fmt.Sprint(e.PeerASN), e.Prefix.String(), id, e.Path.String(), hop,
		strings.Join(e.Communities.Of(community.Standard).Strings(), " "), strings.Join(e.Communities.Of(community.Large).Strings(), " ")}, "|")
}

// lineOf is the same of a line of bgpdump; "" of one that is no route.
func lineOf(t *testing.T, text string) string {
	f := strings.Split(text, "|")
	if f[2] == "STATE" {
		return ""
	}
	id := ""
	if strings.HasSuffix(f[0], "_AP") {
		if id = f[6]; id == "0" {
			id = ""
		}
		f = slices.Delete(f, 6, 7)
	}
	at := strings.TrimSuffix(f[1], ".000000")
	prefix, err := netip.ParsePrefix(f[5])
	if err != nil {
		t.Fatalf("bgpdump: %s: %v", text, err)
	}
	prefix = prefix.Masked()
	if f[2] == "W" {
		return strings.Join([]string{"W", at, netip.MustParseAddr(f[3]).String(), f[4], prefix.String(), id}, "|")
	}
	addr := func(text string) string {
		if text == "255.255.255.255" { // none
			return ""
		}
		return netip.MustParseAddr(text).String()
	}
	if f[0] == "BGP" { // has no communities
		f = slices.Insert(f, 11, "", "")
	}
	set := func(text string) string {
		var values []community.Value
		for _, s := range strings.Fields(text) {
			v, err := community.Parse(strings.Replace(s, "local-AS", "no-export-subconfed", 1))
			if err != nil {
				t.Fatalf("bgpdump: %s: %v", text, err)
			}
			values = append(values, v)
		}
		return strings.Join(community.NewSet(values...).Strings(), " ")
	}
	return strings.Join([]string{"A", at, addr(f[3]), f[4], prefix.String(), id, f[6], addr(f[8]), set(f[11]), set(f[12])}, "|")
}

// TestDataDebug is a scaffold.
func TestDataDebug(t *testing.T) {
	for _, name := range dataFiles(t) {
		want := bgpdumpLines(t, name)
		r, done := open(t, name)
		i, diffs := 0, 0
		for e := range r.All() {
			got := line(e)
			if i < len(want) && want[i] == got {
				i++
				continue
			}
			if diffs++; diffs < 6 {
				w := "-"
				if i < len(want) {
					w = want[i]
				}
				t.Logf("%s %d\n  got  %s\n  want %s", filepath.Base(name), i, got, w)
			}
			i++
		}
		t.Logf("%s: %d of %d, %d diffs, %+v", filepath.Base(name), i, len(want), diffs, r.Stats())
		for _, p := range r.Problems()[:min(6, len(r.Problems()))] {
			t.Logf("   %v", p)
		}
		done()
	}
}

func bgpdumpLines(t *testing.T, name string) []string {
	f, err := os.Open(filepath.Join(*bgpdump, filepath.Base(name)+".txt.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if s := lineOf(t, lines.Text()); s != "" {
			out = append(out, s)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func dataFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(os.Getenv("CATCHMENT_DATA"), "mrt", "*"))
	files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, ".expect.gz") })
	if err != nil || len(files) == 0 {
		t.Fatalf("no files, error %v; set CATCHMENT_DATA to the folder of the data", err)
	}
	return files
}

func open(t *testing.T, name string) (*Reader, func()) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return NewReader(f), func() { f.Close() }
}

var _ = json.Marshal
var _ = hex.EncodeToString
var _ hash.Hash = sha256.New()
var _ = bytes.Equal
var _ io.Reader
