//go:build data

package mrt

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/community"

	"github.com/catchment-bgp/catchment/community/update"
)

// The golden list testdata/bgpdump.json is made of what Debian's bgpdump 1.6.2 prints, once
// for each file:
//
//	for f in *; do bgpdump -m -l $f | gzip >DIR/$f.txt.gz; done
//	go test -tags data -run Golden ./community/mrt -bgpdump DIR
var bgpdump = flag.String("bgpdump", "", "folder with what bgpdump -m -l printed, to write the golden list of")

// golden is what bgpdump says of one file.
type golden struct {
	Entries int `json:"entries"`
	// SHA256 is of all entries, one a line, in the order of the file.
	SHA256 string `json:"sha256"`
	// Chosen has some prefixes, and the first entries of each.
	Chosen map[string][]string `json:"chosen"`
}

// chosenLines is how many entries of a chosen prefix the list has at most.
const chosenLines = 8

const goldenFile = "testdata/bgpdump.json"

// Of these bgpdump is no oracle. What is right was counted by other programs, or read by eye.
const (
	// bgpdump does not read records of many routes; a script of ten lines that walks the
	// lengths counts 452018.
	many        = "bgpkit-rrc00-2000.01-bview.20000111.0032.gz"
	manyEntries = 452018
	// bgpdump does not read BGP4MP_ENTRY.
	obsolete        = "mrtparse-openbgpd_rib_table-mp"
	obsoleteEntries = 31
	// BIRD wrote path identifiers in a subtype that has none; bgpdump takes them for
	// prefixes, such as ::/0 for each zero.
	misnamed = "mrtparse-bird6_bgp"
	// bgpdump lists multicast routes among the others, 151 in this file.
	multicast = "bgpdump-updates.20070211.0141.gz"
)

// legacy is the type of records in whose withdrawals bgpdump prints the address of the
// peer in place of the prefix, with the right length.
const legacy = "BGP|"

// oracle returns what bgpdump printed of a file, in the form of line.
func oracle(t *testing.T, name string) []string {
	t.Helper()
	var out []string
	for _, text := range unpacked(t, filepath.Join(*bgpdump, name+".txt.gz")) {
		if s := lineOf(t, text); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// unpacked returns the lines of a gzip file.
func unpacked(t *testing.T, name string) []string {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	scan := bufio.NewScanner(z)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		out = append(out, scan.Text())
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// lineOf puts a line of bgpdump into the form of line; "" if it is no route.
func lineOf(t *testing.T, text string) string {
	t.Helper()
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
	p, err := netip.ParsePrefix(f[5])
	if err != nil {
		t.Fatalf("bgpdump: %s: %v", text, err)
	}
	head := []string{f[2], strings.TrimSuffix(f[1], ".000000"), address(f[3]), f[4], p.Masked().String(), id}
	if f[2] == "W" {
		if strings.HasPrefix(text, legacy) {
			head[4] = fmt.Sprintf("/%d", p.Bits())
		}
		return strings.Join(head, "|")
	}
	head[0] = "A"
	if strings.HasPrefix(text, legacy) { // without communities
		f = slices.Insert(f, 11, "", "")
	}
	if len(f) == 15 { // of the expect files, which are older than large communities
		f = slices.Insert(f, 12, "")
	}
	return strings.Join(append(head, f[6], address(f[8]), communities(t, f[11]), communities(t, f[12])), "|")
}

// address returns an address as line has it.
func address(text string) string {
	if text == "255.255.255.255" { // none
		return ""
	}
	return netip.MustParseAddr(text).String()
}

// communities returns a set as line has it.
func communities(t *testing.T, text string) string {
	t.Helper()
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

// plainLine is line as far as bgpdump goes: without extended communities, and of records of
// type 5 without the prefix that is withdrawn.
func plainLine(e Entry, old bool) string {
	e.Communities = e.Communities.Without(e.Communities.Of(community.Extended))
	s := line(e)
	if old && e.Withdrawn {
		s = strings.Replace(s, "|"+e.Prefix.String()+"|", fmt.Sprintf("|/%d|", e.Prefix.Bits()), 1)
	}
	return s
}

// opened returns a reader of a file of the data.
func opened(t *testing.T, name string) *Reader {
	t.Helper()
	file, err := os.Open(filepath.Join(os.Getenv("CATCHMENT_DATA"), "mrt", name))
	if err != nil {
		t.Fatalf("%v; set CATCHMENT_DATA to the folder of the data", err)
	}
	t.Cleanup(func() { file.Close() })
	return NewReader(file)
}

// dataFiles are the names of all files with MRT.
func dataFiles(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(os.Getenv("CATCHMENT_DATA"), "mrt"))
	if err != nil || len(entries) == 0 {
		t.Fatalf("no files, error %v; set CATCHMENT_DATA to the folder of the data", err)
	}
	var names []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".expect.gz") {
			names = append(names, e.Name())
		}
	}
	return names
}

// isOld reports whether a file has records of type 5.
func isOld(name string) bool { return strings.HasPrefix(name, "bgpkit-rrc00") && name != many }

// prefixOf is the prefix of a line.
func prefixOf(s string) string { return strings.Split(s, "|")[4] }

// goldenOf makes the golden list of one file of what bgpdump says, and what it lists besides
// unicast routes.
func goldenOf(t *testing.T, name string) golden {
	t.Helper()
	want := oracle(t, name)
	if name == multicast {
		want = withoutMulticast(t, want)
	}
	g := golden{Entries: len(want), Chosen: map[string][]string{}}
	sum := sha256.New()
	for _, s := range want {
		io.WriteString(sum, s+"\n")
	}
	g.SHA256 = hex.EncodeToString(sum.Sum(nil))
	var prefixes []string
	for _, s := range want {
		if p := prefixOf(s); !strings.HasPrefix(p, "/") {
			prefixes = append(prefixes, p)
		}
	}
	for _, i := range []int{0, len(prefixes) / 3, len(prefixes) / 2, len(prefixes) - 1} {
		if len(prefixes) == 0 {
			break
		}
		var lines []string
		for _, s := range want {
			if prefixOf(s) == prefixes[i] && len(lines) < chosenLines {
				lines = append(lines, s)
			}
		}
		g.Chosen[prefixes[i]] = lines
	}
	return g
}

// withoutMulticast drops what we do not yield, in order; there must be 151 of it, as many as a
// script counts prefixes of SAFI 2.
func withoutMulticast(t *testing.T, want []string) []string {
	t.Helper()
	var out []string
	i := 0
	for e := range opened(t, multicast).All() {
		for i < len(want) && want[i] != plainLine(e, false) {
			i++
		}
		if i < len(want) {
			out = append(out, want[i])
			i++
		}
	}
	if len(want)-len(out) != 151 {
		t.Fatalf("%d lines of %d are not among ours", len(want)-len(out), len(want))
	}
	return out
}

func TestDataIsReadAsBgpdumpGoldenListSays(t *testing.T) {
	lists := map[string]golden{}
	if *bgpdump != "" {
		for _, name := range dataFiles(t) {
			if name != many && name != obsolete && name != misnamed {
				lists[name] = goldenOf(t, name)
			}
		}
		text, err := json.MarshalIndent(lists, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(goldenFile, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &lists); err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, name := range dataFiles(t) {
		g, listed := lists[name]
		switch name {
		case many:
			g = golden{Entries: manyEntries}
		case obsolete:
			g = golden{Entries: obsoleteEntries}
		case misnamed:
		default:
			if !listed {
				t.Errorf("%s is not in %s", name, goldenFile)
			}
		}
		n, sum, got := 0, sha256.New(), map[string][]string{}
		r := opened(t, name)
		for e := range r.All() {
			s := plainLine(e, isOld(name))
			n++
			io.WriteString(sum, s+"\n")
			if p := prefixOf(s); g.Chosen[p] != nil && len(got[p]) < chosenLines {
				got[p] = append(got[p], s)
			}
		}
		total += n
		same(t, name, texts(r.Problems()), problemsOf()[name])
		if n != g.Entries {
			t.Errorf("%s: %d entries, want %d", name, n, g.Entries)
		}
		for p, want := range g.Chosen {
			same(t, name+" "+p, got[p], want)
		}
		if h := hex.EncodeToString(sum.Sum(nil)); g.SHA256 != "" && h != g.SHA256 {
			t.Errorf("%s: not the entries of bgpdump", name)
		}
	}
	t.Logf("%d entries in %d files", total, len(dataFiles(t)))
}

// Read for one prefix, a table gives the entries that all of it has, and updates what is last
// of each peer and path identifier; where a session went down that is a withdrawal.
func TestDataOfOnePrefixIsWhatAllOfItHas(t *testing.T) {
	prefixes, routes := 0, 0
	for name, chosen := range map[string]int{"pyasn-rib6.20151101.0600_firstMB.bz2": 1, "pyasn-rib.20080501.0644_firstMB.bz2": 1, many: 1,
		"bgpdump-updates.20070211.0141.gz": 3, "bgpkit-rrc15-2010.02-updates.20100227.1600.gz": 3, "morrowc-updates.20260222.1530.bz2": 1,
		"mrtparse-bird-mrtdump_rib": 2, "mrtparse-bird-mrtdump_bgp": 2, "mrtparse-openbgpd_bgp": 3, "mrtparse-quagga_bgp": 3} {
		var all []Entry
		for e := range opened(t, name).All() {
			all = append(all, e)
		}
		for i := range chosen {
			p := all[(i+1)*len(all)/(chosen+1)].Prefix
			var want []Entry
			for _, e := range all {
				if e.Prefix != p {
					continue
				}
				if !strings.Contains(name, "rib") && name != many {
					want = slices.DeleteFunc(want, func(f Entry) bool { return f.Peer == e.Peer && f.PeerASN == e.PeerASN && f.PathID == e.PathID })
				}
				want = append(want, e)
			}
			got := slices.Collect(opened(t, name).Routes(p))
			prefixes, routes = prefixes+1, routes+len(got)
			if len(got) != len(want) {
				t.Errorf("%s %v: %d routes, want %d", name, p, len(got), len(want))
			}
			for _, e := range got {
				if !slices.ContainsFunc(want, func(f Entry) bool {
					return line(e) == line(f) || e.Withdrawn && !e.Time.Before(f.Time) && f.Peer == e.Peer && f.PathID == e.PathID
				}) {
					t.Errorf("%s %v: %s is not among the last of the file", name, p, line(e))
				}
			}
		}
	}
	t.Logf("%d routes of %d prefixes", routes, prefixes)
}

// The expect files are what bgpdump's own tests compare with.
func TestDataIsReadAsTheExpectFilesSay(t *testing.T) {
	files := 0
	for _, name := range dataFiles(t) {
		expect := filepath.Join(os.Getenv("CATCHMENT_DATA"), "mrt", name+".expect.gz")
		if _, err := os.Stat(expect); err != nil {
			continue
		}
		files++
		var want, got []string
		for _, text := range unpacked(t, expect) {
			if s := lineOf(t, text); s != "" {
				want = append(want, s)
			}
		}
		for e := range opened(t, name).All() {
			got = append(got, plainLine(e, false))
		}
		same(t, name, got, want)
	}
	if files != 3 {
		t.Errorf("%d files, want 3", files)
	}
}

// problemsOf are the problems of all files.
func problemsOf() map[string][]string {
	known := map[string][]string{
		"pyasn-bview.20140112.1600_3samples.bz2": {"offset 0: type 13, subtype 2: " + errNoIndex.Error(), "offset 55: type 13, subtype 2: " + errNoIndex.Error(), "offset 118: type 13, subtype 2: " + errNoIndex.Error()},
		"pyasn-rib.20080501.0644_firstMB.bz2":    {"offset 9876131: the data ends at octet 57 of the 67 of a record of type 12, subtype 1: unexpected EOF"},
		"pyasn-rib6.20151101.0600_firstMB.bz2":   {"offset 12131168: the data ends at octet 1829 of the 1947 of a record of type 13, subtype 4: unexpected EOF"},
	}
	for _, offset := range []int{506, 741, 1062, 2198, 2433, 2754} {
		known[misnamed] = append(known[misnamed], fmt.Sprintf("offset %d: type 16, subtype 4: %v", offset, update.ErrPrefixBits))
	}
	return known
}
