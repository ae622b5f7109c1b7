package packages

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// content is a file of a package, as both nfpm and GoReleaser write it.
type content struct {
	Src, Dst, Type, Packager string
	FileInfo                 struct{ Mode uint32 } `yaml:"file_info"`
	Expand                   bool
}

// about are the keys that both have, by the same names.
type about struct {
	Section, Priority, Maintainer, Vendor, Homepage, License, Description string
	Recommends                                                            []string
	Contents                                                              []content
	Scripts                                                               map[string]string
	Deb, RPM                                                              map[string]string
}

type nfpmFile struct {
	about     `yaml:",inline"`
	Name      string
	Depends   []string
	Overrides map[string]struct{ Depends []string }
}

type releaser struct {
	ProjectName string `yaml:"project_name"`
	Dist        string
	Before      struct{ Hooks []string }
	Builds      []struct {
		ID, Main, Binary  string
		Env, Goos, Goarch []string
		Flags, Ldflags    []string
		ModTimestamp      string `yaml:"mod_timestamp"`
	}
	Nfpms []struct {
		about        `yaml:",inline"`
		ID           string
		IDs          []string `yaml:"ids"`
		PackageName  string   `yaml:"package_name"`
		Formats      []string
		Bindir       string
		Mtime        string
		Dependencies []string
		Overrides    map[string]struct{ Dependencies []string }
	}
	Sboms []struct {
		Cmd       string
		Args      []string
		Documents []string
	}
	Checksum struct {
		NameTemplate string `yaml:"name_template"`
	}
}

func read[T any](t *testing.T, file string) (out T) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return out
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: GoReleaser has\n%v\nwant\n%v", what, got, want)
	}
}

func goReleaser(t *testing.T) releaser { return read[releaser](t, "../../.goreleaser.yaml") }

func TestGoReleaserBuildsAsTheMakefileDoes(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	value := func(pattern string) string {
		t.Helper()
		m := regexp.MustCompile(pattern).FindSubmatch(makefile)
		if m == nil {
			t.Fatalf("the Makefile has no %s", pattern)
		}
		return string(m[1])
	}
	ldflags := strings.NewReplacer("$(BUILDINFO)", value(`(?m)^BUILDINFO := (.*)$`), "$(VERSION)", "{{ .Tag }}", "$(COMMIT)", "{{ .FullCommit }}",
		"$(DATE)", "{{ .CommitDate }}").Replace(value(`(?m)^LDFLAGS = (.*)$`))
	built := value(`(?m)^\tCGO_ENABLED=0 go build -trimpath -ldflags '\$\(LDFLAGS\)' -o \$\(BIN\)/ (.*)$`)
	var mains []string
	for i, b := range goReleaser(t).Builds {
		mains = append(mains, b.Main)
		same(t, b.ID+": flags", b.Flags, []string{"-trimpath", "-buildvcs=false"})
		same(t, b.ID+": ldflags", strings.Join(b.Ldflags, " "), ldflags)
		same(t, b.ID+": environment", b.Env, []string{"CGO_ENABLED=0"})
		same(t, b.ID+": machines", fmt.Sprintf("%v %v %s", b.Goos, b.Goarch, b.ModTimestamp), "[linux] [amd64 arm64] {{ .CommitTimestamp }}")
		if b.ID != b.Binary || b.Main != "./cmd/"+b.ID {
			t.Errorf("build %d: %+v", i, b)
		}
	}
	same(t, "programs", strings.Join(mains, " "), built)
}

func TestGoReleaserPackagesWhatMakePackagesDoes(t *testing.T) {
	r := goReleaser(t)
	if len(r.Nfpms) != len(programs) {
		t.Fatalf("%d packages", len(r.Nfpms))
	}
	for _, p := range r.Nfpms {
		n := read[nfpmFile](t, "../../deploy/packages/"+p.ID+".yaml")
		var want []content
		for _, c := range n.Contents {
			if c.Dst == p.Bindir+"/"+p.ID && c.FileInfo.Mode == 0o755 { // GoReleaser adds what it builds
				continue
			}
			if c.Expand != strings.HasPrefix(c.Src, "$DIST/") {
				t.Errorf("%s: %s: expand %v", p.ID, c.Src, c.Expand)
			}
			c.Src, c.Expand = strings.Replace(c.Src, "$DIST/", "dist/", 1), false
			want = append(want, c)
		}
		if len(want) != len(n.Contents)-1 {
			t.Errorf("%s: %d files are the program", p.ID, len(n.Contents)-len(want))
		}
		n.Contents = want
		same(t, p.ID, p.about, n.about)
		same(t, p.ID+": depends", p.Dependencies, n.Depends)
		same(t, p.ID+": rpm depends", p.Overrides["rpm"].Dependencies, n.Overrides["rpm"].Depends)
		same(t, p.ID+": the rest", fmt.Sprintf("%v %s %v %s", p.IDs, p.PackageName, p.Formats, p.Mtime), fmt.Sprintf("[%s] %s [deb rpm] {{ .CommitDate }}", n.Name, n.Name))
	}
}

func TestGoReleaserKeepsItsOwnFolderAndSumsAndSBOMs(t *testing.T) {
	r := goReleaser(t)
	if r.Dist != "dist/goreleaser" { // it empties its folder after the hooks, which fill dist
		t.Errorf("dist: %s", r.Dist)
	}
	same(t, "sums", r.Checksum.NameTemplate, "SHA256SUMS")
	script, err := os.ReadFile("../../deploy/packages/build")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Sboms) != 1 || r.Sboms[0].Cmd != "go" {
		t.Fatalf("%+v", r.Sboms)
	}
	for _, arg := range r.Sboms[0].Args {
		arg = strings.NewReplacer("../../", "", "{{ .Tag }}", "$VERSION", "$document", "-output", "$artifact", "$DIST/bin/").Replace(arg)
		if !strings.Contains(string(script), arg) {
			t.Errorf("make packages makes no SBOM with %s", arg)
		}
	}
}
