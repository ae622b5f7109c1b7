package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/internal/pages"
)

func TestThePageOfRFCsIsTheCodes(t *testing.T) {
	page, err := pages.Read("docs/reference/rfcs.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, breach := range CheckRFCs(tree(t), page) {
		t.Error(breach)
	}
}

func TestEachWrongRowOfThePageOfRFCsIsReported(t *testing.T) {
	code, err := Parse("a/a.go", []byte("// Package a obeys RFC 4271, 4760 and\n// 8092.\npackage a\n\n// B is of RFC 1997, 65535 and no more.\nconst B = \"RFC 9003\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	page := pages.Parse("docs/rfcs.md", strings.Join([]string{
		"| RFC | Sections | What we do | Where |", "| --- | --- | --- | --- |",
		"| 4271 | | it | [`B`](../a/a.go), [`package`](../a/a.go) |",
		"| 8092 | | it | [`C`](../a/a.go), [`B`](../a/b.go) |",
		"| 1997 | | | [`B`](../a/a.go) |",
		"| 7606 | | it | [`B`](../a/a.go) |",
	}, "\n"))
	want := []string{
		"a/a.go: RFC 4760 has no row in docs/rfcs.md",
		"a/a.go: RFC 9003 has no row in docs/rfcs.md",
		"docs/rfcs.md: RFC 1997: say what we do and where",
		"docs/rfcs.md: RFC 8092: a/a.go has no C",
		"docs/rfcs.md: RFC 8092: a/b.go has no B",
		"docs/rfcs.md: no Go file names RFC 7606",
	}
	if got := CheckRFCs([]File{code}, page); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
