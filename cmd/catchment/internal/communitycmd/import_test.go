package communitycmd

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

// document is what import prints as JSON, as a script reads it.
type document struct {
	Entries []struct {
		Pattern, Type, Kind, Meaning, File string
		Owner                              uint32
		Line                               int
		Confidence                         float64
	}
	Problems []struct {
		File, Text, Reason string
		Line               int
	}
}

func documentOf(t *testing.T, r result) document {
	t.Helper()
	var d document
	if err := json.Unmarshal([]byte(r.stdout), &d); err != nil {
		t.Fatalf("exit %d: %v\n%s%s", r.code, err, r.stdout, r.stderr)
	}
	return d
}

// whoisServer answers one question after the other, and remembers them.
func whoisServer(t *testing.T, answer func(query string) string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			query, err := bufio.NewReader(c).ReadString('\n')
			if err == nil {
				_, _ = io.WriteString(c, answer(strings.TrimSpace(query))) // who asked sees what is missing
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

func object(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/as64500.txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAnObjectIsReadFromAWhoisServer(t *testing.T) {
	rpsl := object(t)
	host := whoisServer(t, func(query string) string {
		if query == "AS64500" {
			return "% a server\n\n" + rpsl
		}
		return "%ERROR:101: no entries found\n"
	})
	for _, as := range []string{"64500", "AS64500", "as64500"} {
		r := try(t, "", "import --host "+host+" "+as+" -o json")
		d := documentOf(t, r)
		if r.code != exit.OK || len(d.Entries) != 6 || d.Entries[0].Owner != 64500 || d.Entries[0].File != "whois://"+host+"/AS64500" || len(d.Problems) != 1 {
			t.Errorf("%s: exit %d, %+v, %s", as, r.code, d, r.stderr)
		}
	}
	if r := try(t, "", "import --host "+host+" 64501"); r.code != exit.Failed || !strings.Contains(r.stderr, "no entries found") || r.stdout != "" {
		t.Errorf("exit %d, %q, %q", r.code, r.stdout, r.stderr)
	}
	if r := try(t, "", "verify --host "+host+" --asn 64500 --from testdata/as64500.txt"); r.code != exit.OK || r.stdout != "" || !strings.Contains(r.stderr, "what is published is ours: 6 entries") {
		t.Errorf("exit %d, %q, %q", r.code, r.stdout, r.stderr)
	}
}

func TestAnObjectIsReadFromARESTServer(t *testing.T) {
	const answer = `{"objects":{"object":[{"type":"aut-num","attributes":{"attribute":[{"name":"aut-num","value":"AS64500"},
{"name":"remarks","value":"64500:100  learned from a peer"},{"name":"remarks","value":"64500:70000 too large"}]}}]}}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ripe/aut-num/AS64500.json" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, answer)
	}))
	defer s.Close()
	url := s.URL + "/ripe/aut-num/AS64500.json"
	r := try(t, "", "import --url "+url+" -o json")
	if d := documentOf(t, r); r.code != exit.OK || len(d.Entries) != 1 || d.Entries[0].Pattern != "64500:100" || d.Entries[0].File != url || len(d.Problems) != 1 {
		t.Errorf("exit %d, %+v, %s", r.code, d, r.stderr)
	}
	if r := try(t, "", "import --url "+s.URL+"/none"); r.code != exit.Failed || !strings.Contains(r.stderr, "404 Not Found") {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
	if r := try(t, "", "verify --url "+url+" --from testdata/clean.txt --asn 64500"); r.code != exit.Failed || !strings.Contains(r.stdout, "missing 64500:101: learned in Berlin") {
		t.Errorf("exit %d, %q, %q", r.code, r.stdout, r.stderr)
	}
}

func TestADumpIsReadAndThoseAskedForAreGiven(t *testing.T) {
	plain := object(t) + "\n" + strings.ReplaceAll(object(t), "64500", "64510") + "\nperson: Nobody\nremarks: 64500:1 no aut-num\n"
	var packed bytes.Buffer
	gz := gzip.NewWriter(&packed)
	if _, err := io.WriteString(gz, plain); err != nil {
		t.Fatal(err)
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{plain, packed.String()} {
		path := temp(t, "ripe.db", text)
		for args, want := range map[string]int{"": 12, " --asn 64510": 6, " --asn 64500,AS64510": 12, " --asn 1": 0} {
			for _, format := range []string{"json", "yaml"} {
				r := try(t, "", "import --dump "+path+args+" -o "+format)
				if n := strings.Count(r.stdout, "confidence"); r.code != exit.OK || n != want {
					t.Errorf("%s %s: exit %d, %d entries, want %d: %s", args, format, r.code, n, want, r.stderr)
				}
			}
			r := try(t, "", "import --dump "+path+args+" -o json")
			if d := documentOf(t, r); len(d.Entries) != want || want > 0 && (len(d.Problems) != want/6 || d.Entries[0].File != path) {
				t.Errorf("%s: %+v", args, d)
			}
		}
	}
}

func TestADumpThatIsTornGivesWhatStandsBefore(t *testing.T) {
	var packed bytes.Buffer
	gz := gzip.NewWriter(&packed)
	for range 3 {
		if _, err := io.WriteString(gz, object(t)+"\n"); err != nil {
			t.Fatal(err)
		}
		if err := gz.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	path := temp(t, "torn.gz", packed.String())
	r := try(t, "", "import --dump "+path+" -o json")
	if d := documentOf(t, r); r.code != exit.Usage || len(d.Entries) < 6 || !strings.Contains(r.stderr, "what stands before that was read") {
		t.Errorf("exit %d, %d entries, %q", r.code, len(d.Entries), r.stderr)
	}
	if r := try(t, "", "import --dump "+path); r.code != exit.Usage || !strings.Contains(r.stdout, "64500:3002") {
		t.Errorf("exit %d, %q, %q", r.code, r.stdout, r.stderr)
	}
}

func TestTheOwnerIsSaidWhereATextNamesNone(t *testing.T) {
	const text = "64500:100,learned from a peer\n64500:1:2,here\n"
	r := try(t, text, "import - --owner AS64499 --format nlnog -o json")
	d := documentOf(t, r)
	if r.code != exit.OK || len(d.Entries) != 2 || d.Entries[0].Owner != 64499 || d.Entries[1].File != "stdin" || d.Entries[1].Line != 2 || d.Entries[1].Type != "large" {
		t.Errorf("exit %d, %+v, %s", r.code, d, r.stderr)
	}
}

func TestWhatImportPrintsIsADocument(t *testing.T) {
	first := try(t, "", "import testdata/as64500.txt -o json")
	path := temp(t, "ours.json", first.stdout)
	again := try(t, "", "list --from "+path+" -o json")
	if again.stdout != first.stdout {
		t.Errorf("read again:\n%s\nwant\n%s", again.stdout, first.stdout)
	}
}
