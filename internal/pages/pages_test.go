package pages

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// tree is all pages of this module.
func tree(t *testing.T) (string, []Page) {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	all, err := Tree(root)
	if err != nil {
		t.Fatal(err)
	}
	return root, all
}

func TestLinksLeadSomewhere(t *testing.T) {
	root, all := tree(t)
	for _, fault := range CheckLinks(root, all) {
		t.Error(fault)
	}
}

func TestBlocksParse(t *testing.T) {
	_, all := tree(t)
	for _, fault := range CheckBlocks(all) {
		t.Error(fault)
	}
}

const sample = "# One\n" +
	"| a | b |\n| --- | :-: |\n| `x\\|y` | [l](two.md#three-four) |\n" +
	"text [here](#one) and `[code](no.md)` and [`code`](two.md)\n" +
	"```yaml\na: >\n  | no | table |\n# no heading\n```\n" +
	"## Two `x.y`\n~~~json\n{\"a\": [\n```\n~~~\n| no table |\n"

func TestPartsOfAPage(t *testing.T) {
	p := Parse("docs/a.md", sample)
	if got, want := p.Sections(), []string{"One", "Two `x.y`"}; !reflect.DeepEqual(got, want) {
		t.Errorf("sections %q", got)
	}
	wantTables := []Table{{Section: "One", Line: 2, Header: []string{"a", "b"}, Rows: [][]string{{"`x|y`", "[l](two.md#three-four)"}}}}
	if got := p.Tables(); !reflect.DeepEqual(got, wantTables) {
		t.Errorf("tables %+v", got)
	}
	wantBlocks := []Block{{Section: "One", Line: 6, Lang: "yaml", Text: "a: >\n  | no | table |\n# no heading\n"}, {Section: "Two `x.y`", Line: 12, Lang: "json", Text: "{\"a\": [\n```\n"}}
	if got := p.Blocks(); !reflect.DeepEqual(got, wantBlocks) {
		t.Errorf("blocks %+v", got)
	}
	wantLinks := []Link{{4, "two.md#three-four"}, {5, "#one"}, {5, "two.md"}}
	if got := p.Links(); !reflect.DeepEqual(got, wantLinks) {
		t.Errorf("links %+v", got)
	}
	if got, want := p.Anchors(), []string{"one", "two-xy"}; !reflect.DeepEqual(got, want) {
		t.Errorf("anchors %q", got)
	}
	if _, err := p.Table("One"); err != nil {
		t.Error(err)
	}
	if _, err := p.Table("Two `x.y`"); err == nil {
		t.Error("a section without table has one")
	}
	if got := p.Text("Two `x.y`"); got != "~~~json\n{\"a\": [\n```\n~~~\n| no table |\n" {
		t.Errorf("text %q", got)
	}
}

func TestEachFaultIsReported(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "docs"), 0o700); err != nil {
		t.Fatal(err)
	}
	all := []Page{
		Parse("docs/a.md", sample),
		Parse("docs/two.md", "# Three, four\n[up](../README.md) [out](../../x) [abs](/x) [web](https://example.net/#x) [gone](b.md) [bad](a.md#nine)\n"),
		Parse("README.md", "[d](docs) [a](docs/a.md#one)\n```yaml\n```\n```yaml\na: [\n```\n"),
	}
	for _, p := range all {
		if err := os.WriteFile(filepath.Join(root, p.Path), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"docs/two.md:2: ../../x: it leads out of the tree",
		"docs/two.md:2: /x: write it relative to the page",
		"docs/two.md:2: b.md: there is no such file",
		"docs/two.md:2: a.md#nine: the page has no such heading",
	}
	if got := CheckLinks(root, all); !reflect.DeepEqual(got, want) {
		t.Errorf("links: %q", got)
	}
	want = []string{
		"docs/a.md:12: the json block does not parse: invalid character '`' looking for beginning of value",
		"README.md:2: the yaml block does not parse: it is empty",
		"README.md:4: the yaml block does not parse: yaml: line 1: did not find expected node content",
	}
	if got := CheckBlocks(all); !reflect.DeepEqual(got, want) {
		t.Errorf("blocks: %q", got)
	}
}

func TestTreeReadsPagesOnly(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a.md", "b.txt", "docs/c.md", "testdata/d.md", ".git/e.md", "bin/f.md"} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte("# x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := Tree(root)
	if err != nil || len(all) != 2 || all[0].Path != "a.md" || all[1].Path != "docs/c.md" {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := Tree(filepath.Join(root, "testdata", "none")); err == nil {
		t.Error("no folder, no error")
	}
}
