package communitycmd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/centre"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

// From tags to the RIPE DB and back.
func TestWhatIsExportedIsVerifiedAndAChangedLineIsNamed(t *testing.T) {
	central := "--central " + (&fleet{nodes: someTags()}).serve(t) + " "
	for _, format := range []string{"rpsl", "nlnog", "yang", "json", "markdown"} {
		exported := try(t, "", central+"export --format "+format)
		path := temp(t, "published", exported.stdout)
		if r := try(t, "", central+"verify --published "+path); r.code != exit.OK || r.stdout != "" || !strings.Contains(r.stderr, "what is published is ours: 4 entries") {
			t.Errorf("%s: exit %d, %q, %q\n%s", format, r.code, r.stdout, r.stderr, exported.stdout)
		}
	}
	rpsl := try(t, "", central+"export").stdout
	for change, want := range map[*strings.Replacer]string{
		strings.NewReplacer("101    Moscow", "101    Minsk"): `wrong 57629:101: published "Minsk", ours "Moscow"`,
		strings.NewReplacer("57629:102 ", "57629:103 "):      "stale 57629:103: Sankt-Peterburg",
		strings.NewReplacer("57629:7 ", "57629:8 "):          "missing 57629:7: anycast",
	} {
		path := temp(t, "published", change.Replace(rpsl))
		if r := try(t, "", central+"verify --published "+path); r.code != exit.Failed || !strings.Contains(r.stdout, want) || !strings.Contains(r.stderr, "what is published is not ours") {
			t.Errorf("exit %d, %q, %q; want %q", r.code, r.stdout, r.stderr, want)
		}
	}
}

func TestOneASOfSeveralIsVerifiedAndExported(t *testing.T) {
	two := temp(t, "two.json", try(t, "", "import testdata/clean.txt --owner 64501 -o json").stdout)
	from := " --from testdata/as64500.txt," + two
	if r := try(t, "", "verify --published testdata/as64500.txt --asn 64500"+from); r.code != exit.OK {
		t.Errorf("exit %d, %q, %q", r.code, r.stdout, r.stderr)
	}
	if r := try(t, "", "verify --published testdata/as64500.txt"+from); r.code != exit.Failed || !strings.Contains(r.stdout, "missing 64500:101: learned in Berlin") {
		t.Errorf("exit %d, %q, %q", r.code, r.stdout, r.stderr)
	}
	if r := try(t, "", "export --format yang"+from); r.code != exit.Usage || !strings.Contains(r.stderr, "write --asn AS") || r.stdout != "" {
		t.Errorf("exit %d, %q, %q", r.code, r.stdout, r.stderr)
	}
	r := try(t, "", "export --format nlnog --asn AS64501"+from)
	if r.code != exit.OK || strings.Contains(r.stdout, "Frankfurt") || !strings.Contains(r.stdout, "64500:101,learned in Berlin") {
		t.Errorf("exit %d, %q, %q", r.code, r.stdout, r.stderr)
	}
}

func TestWhatAFormCannotCarryIsNamed(t *testing.T) {
	path := temp(t, "greek.txt", "64500:1,Αθήνα\n64500:2,Rome\n")
	r := try(t, "", "export --from "+path)
	if r.code != exit.OK || !strings.Contains(r.stdout, "Rome") || strings.Contains(r.stdout, "64500:1 ") || !strings.Contains(r.stderr, path+":1: ") {
		t.Errorf("exit %d, %q, %q", r.code, r.stdout, r.stderr)
	}
}

// report is what origin prints as JSON, as a script reads it.
type report struct {
	Prefix string
	Peers  []struct {
		ASN         uint32
		Address     string
		Path        string `json:"as_path"`
		Communities []string
		Node        string
	}
	Totals   map[string]int
	Problems []struct {
		Offset int64
		Reason string
	}
}

func originOf(t *testing.T, stdin, args string) (report, result) {
	t.Helper()
	r := try(t, stdin, "origin --prefix 203.0.113.0/24 -o json "+args)
	var out report
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil {
		t.Fatalf("exit %d: %v\n%s%s", r.code, err, r.stdout, r.stderr)
	}
	return out, r
}

func TestANodeIsKnownByItsTagOrByADocument(t *testing.T) {
	dump := temp(t, "dump", oneRoute(t))
	ours := temp(t, "ours.txt", "57629:101,Moscow\n57629:1xx,elsewhere\n65535:6,stale\n")
	got, r := originOf(t, "", "--mrt "+dump+" --from "+ours)
	if r.code != exit.OK || got.Prefix != "203.0.113.0/24" || len(got.Peers) != 2 || got.Peers[0].Node != "Moscow" || got.Peers[0].ASN != 64496 ||
		got.Peers[0].Address != "192.0.2.2" || got.Peers[0].Path != "64496 64500" || got.Peers[0].Communities[0] != "57629:101" || got.Peers[1].Node != "" || got.Totals["Moscow"] != 1 {
		t.Errorf("exit %d, %+v", r.code, got)
	}
	if len(got.Problems) != 1 || got.Problems[0].Offset != 122 {
		t.Errorf("problems %+v", got.Problems)
	}
	got, r = originOf(t, oneRoute(t), "--mrt - --central "+(&fleet{nodes: someTags()}).serve(t))
	if r.code != exit.OK || got.Totals["msk1"] != 1 {
		t.Errorf("exit %d, %+v", r.code, got)
	}
}

// A centre that somebody has named must answer: see TestACentreThatIsAwayIsToldOf.
func TestOriginNeedsNoCentreThatNobodyHasNamed(t *testing.T) {
	client := centre.New()
	client.Address = nowhere(t)
	r := tryClient(t, client, oneRoute(t), "origin --mrt - --prefix 203.0.113.0/24")
	if r.code != exit.OK || !strings.Contains(r.stdout, "of no node  2") || !strings.Contains(r.stderr, "warning: no tag is known") {
		t.Errorf("exit %d, %q, %q", r.code, r.stdout, r.stderr)
	}
}

func TestATornOrForeignFileIsToldApart(t *testing.T) {
	whole := oneRoute(t)
	for _, n := range []int{3, 20, 61, 70, len(whole)} {
		got, r := originOf(t, whole[:n], "--mrt - --from testdata/clean.txt")
		if r.code != exit.OK || len(got.Peers) != n/61 || (len(got.Problems) == 0) != (n == 61) {
			t.Errorf("%d octets: exit %d, %+v, %s", n, r.code, got, r.stderr)
		}
	}
	for _, foreign := range []string{"package communitycmd // import \"nothing of MRT\"", "\xfd7zXZ\x00 and so on"} {
		if got, r := originOf(t, foreign, "--mrt - --from testdata/clean.txt"); r.code != exit.Usage || len(got.Peers) != 0 || len(got.Problems) == 0 {
			t.Errorf("%q: exit %d, %+v, %s", foreign, r.code, got, r.stderr)
		}
	}
}

func TestAPasteIsExplainedOnceForEachValue(t *testing.T) {
	r := try(t, "Community: 64500:110 64500:110\n      Community: 64500:110 64500:99999\n", "explain --from testdata/as64500.txt -o json")
	var out []struct {
		Value   string
		Matches []struct {
			Pattern, Meaning string
			Explained        struct{ Meaning string }
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	if r.code != exit.OK || len(out) != 1 || out[0].Value != "64500:110" || len(out[0].Matches) != 2 || out[0].Matches[0].Pattern != "64500:110" ||
		out[0].Matches[1].Explained.Meaning != "learned at a site; xx = 10" || !strings.Contains(r.stderr, "stdin:2: ") {
		t.Errorf("exit %d, %+v, %q", r.code, out, r.stderr)
	}
	if r := try(t, "nothing here, at 12:30:00\n", "explain --from testdata/as64500.txt"); r.code != exit.OK || r.stdout != "" || !strings.Contains(r.stderr, "there is no community in the input") {
		t.Errorf("exit %d, %q, %q", r.code, r.stdout, r.stderr)
	}
}
