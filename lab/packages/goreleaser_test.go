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

// info is whose a file of an archive is, and since when.
type info struct{ Owner, Group, Mtime string }

type glob struct{ Glob string }

// releaser is what is looked at of .goreleaser.yaml.
type releaser struct {
	ProjectName string `yaml:"project_name"`
	Dist        string
	Before      struct{ Hooks []string }
	Archives    []struct {
		BuildsInfo info `yaml:"builds_info"`
		Files      []struct {
			Src  string
			Info info
		}
	}
	Builds []struct {
		ID, Main, Binary  string
		Env, Goos, Goarch []string
		Flags, Ldflags    []string
		ModTimestamp      string `yaml:"mod_timestamp"`
	}
	Checksum struct {
		NameTemplate string `yaml:"name_template"`
		ExtraFiles   []glob `yaml:"extra_files"`
	}
	Release struct {
		ExtraFiles []glob `yaml:"extra_files"`
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

// GoReleaser's nfpm writes other bytes than ours of the same files, and nobody could verify a release.
func TestGoReleaserTakesThePackagesThatMakePackagesMakes(t *testing.T) {
	r := goReleaser(t)
	var hooks []string
	var files []glob
	for _, arch := range r.Builds[0].Goarch {
		hooks = append(hooks, "make packages ARCH="+arch+" DIST=dist/"+arch+" VERSION={{ .Tag }}")
		for _, kind := range []string{"deb", "rpm", "cdx.json"} {
			files = append(files, glob{"dist/" + arch + "/*." + kind})
		}
	}
	same(t, "hooks", r.Before.Hooks, hooks)
	same(t, "files that are released", r.Release.ExtraFiles, files)
	same(t, "files with sums", r.Checksum.ExtraFiles, files)
	same(t, "sums", r.Checksum.NameTemplate, "SHA256SUMS")
	if r.Dist != "dist/goreleaser" { // it empties its folder
		t.Errorf("dist: %s", r.Dist)
	}
}

// Whom to ask about packages stands in one place.
func TestThePackagesHaveTheMaintainerOfTheFile(t *testing.T) {
	text, err := os.ReadFile("../../deploy/packages/maintainer")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimSpace(string(text))
	for _, program := range programs {
		if got := strings.TrimSpace(say(t, "dpkg-deb", "-f", deb(t, older, program), "Maintainer")); got != want {
			t.Errorf("%s: the deb's maintainer is %q, want %q", program, got, want)
		}
		if got := say(t, "rpm", "-qp", "--qf", "%{packager}", rpm(t, older, program)); got != want {
			t.Errorf("%s: the rpm's packager is %q, want %q", program, got, want)
		}
	}
}

// The same commit gives the same archives, whoever checks it out and when.
func TestGoReleasersArchivesHaveTheTimesOfTheCommit(t *testing.T) {
	want := info{"root", "root", "{{ .CommitDate }}"}
	for _, a := range goReleaser(t).Archives {
		same(t, "archive: programs", a.BuildsInfo, want)
		for _, f := range a.Files {
			same(t, "archive: "+f.Src, f.Info, want)
		}
		if len(a.Files) != 2 {
			t.Errorf("archive: %v", a.Files)
		}
	}
}
