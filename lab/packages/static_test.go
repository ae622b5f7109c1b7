package packages

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// entry is a file of a package.
type entry struct {
	dir   bool
	perms string // as ls writes it
	head  *tar.Header
	data  []byte
}

// debFiles are those of a program's deb, by path.
func debFiles(t *testing.T, program string) map[string]entry {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "dpkg-deb", "--fsys-tarfile", deb(t, older, program))
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]entry{}
	for r := tar.NewReader(bytes.NewReader(text)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[path.Join("/", h.Name)] = entry{h.Typeflag == tar.TypeDir, h.FileInfo().Mode().String(), h, data}
	}
}

// places are where files of ours may be, and with which mode.
var places = map[string]string{
	`/usr/bin/catchment(-edge|-central)?`:                                 "-rwxr-xr-x",
	`/usr/lib/catchment/[a-z-]+`:                                          "-rwxr-xr-x",
	`/usr/lib/systemd/system/catchment-[a-z]+\.service`:                   "-rw-r--r--",
	`/usr/lib/(sysusers|tmpfiles)\.d/catchment(-central)?\.conf`:          "-rw-r--r--",
	`/usr/share/doc/catchment(-edge|-central)?/(copyright|CHANGELOG\.md)`: "-rw-r--r--",
	`/usr/share/man/man[18]/catchment[a-z-]*\.[18]\.gz`:                   "-rw-r--r--",
	`/usr/share/bash-completion/completions/catchment`:                    "-rw-r--r--",
	`/usr/share/zsh/vendor-completions/_catchment`:                        "-rw-r--r--",
	`/usr/share/fish/vendor_completions.d/catchment\.fish`:                "-rw-r--r--",
	`/etc/catchment(-central)?/(edge|central)\.yaml`:                      "-rw-r-----",
	`/etc/needrestart/conf\.d/catchment-edge\.conf`:                       "-rw-r--r--",
}

func TestDebsHoldWhatPolicyAllows(t *testing.T) {
	made := time.Unix(1772366400, 0)
	for _, program := range programs {
		files := debFiles(t, program)
		var conffiles []string
		if program != "catchment" { // dpkg-deb has none to show
			conffiles = strings.Fields(say(t, "dpkg-deb", "-I", deb(t, older, program), "conffiles"))
		}
		for name, e := range files {
			h := e.head
			if h.Uname != "root" || h.Gname != "root" || h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(made) {
				t.Errorf("%s: %s is of %s:%s, from %v", program, name, h.Uname, h.Gname, h.ModTime)
			}
			switch {
			case e.dir && (name == "/etc/catchment" || name == "/etc/catchment-central"):
				if e.perms != "drwxr-x---" {
					t.Errorf("%s: %s is %s", program, name, e.perms)
				}
			case e.dir:
				if e.perms != "drwxr-xr-x" {
					t.Errorf("%s: %s is %s", program, name, e.perms)
				}
			case h.Typeflag != tar.TypeReg || e.perms != allowed(name):
				t.Errorf("%s: %s is %s (type %c), want %q", program, name, e.perms, h.Typeflag, allowed(name))
			case strings.HasPrefix(name, "/etc/") != slices.Contains(conffiles, name):
				t.Errorf("%s: %s; the conffiles are %q", program, name, conffiles)
			}
		}
		checkProgram(t, program, files["/usr/bin/"+program].data)
		for _, needed := range []string{"/usr/share/doc/" + program + "/copyright", "/usr/share/doc/" + program + "/CHANGELOG.md"} {
			if len(files[needed].data) == 0 {
				t.Errorf("%s: no %s", program, needed)
			}
		}
	}
}

func allowed(name string) string {
	for place, perms := range places {
		if regexp.MustCompile("^" + place + "$").MatchString(name) {
			return perms
		}
	}
	return "nowhere"
}

// checkProgram sees that a program is static, and names no folder of the machine that built it.
func checkProgram(t *testing.T, name string, program []byte) {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if libraries, err := f.ImportedLibraries(); err != nil || len(libraries) > 0 || f.Section(".symtab") != nil {
		t.Errorf("%s needs %q (%v), symbols %v", name, libraries, err, f.Section(".symtab") != nil)
	}
	here, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(program, []byte(here+"/")) {
		t.Errorf("%s names %s", name, here)
	}
}

func TestControlFilesSayWhatDpkgAsksFor(t *testing.T) {
	for _, program := range programs {
		file := deb(t, older, program)
		for field, want := range map[string]string{
			"Package": "^" + program + "$", "Version": "^" + regexp.QuoteMeta(older) + "$", "Section": "^net$", "Priority": "^optional$",
			"Maintainer": `^.+ <\S+@\S+>$`, "Homepage": "^https://", "Description": `^[A-Z][^\n]{10,70}\n [^\n]`, "Installed-Size": "^[0-9]+$",
		} {
			if got := strings.TrimSpace(say(t, "dpkg-deb", "-f", file, field)); !regexp.MustCompile(want).MatchString(got) {
				t.Errorf("%s: %s is %q, want %s", program, field, got, want)
			}
		}
		if got := say(t, "dpkg-deb", "-f", file, "Depends"); strings.Contains(got, "catchment") != (program == "catchment-edge") {
			t.Errorf("%s depends on %q", program, got)
		}
	}
}

func TestScriptsAreShellThatParses(t *testing.T) {
	files, err := filepath.Glob("../../deploy/packages/scripts/*")
	if err != nil || len(files) != 8 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, more := range []string{"build", "pages", "reproducible", "version"} {
		files = append(files, "../../deploy/packages/"+more)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil || info.Mode()&0o111 == 0 || !bytes.HasPrefix(text, []byte("#!/bin/sh\n# ")) || !regexp.MustCompile(`(?m)^set -e?u?$`).Match(text) {
			t.Errorf("%s: mode %v, %v; it begins %.40q", file, info.Mode(), err, text)
		}
		say(t, "sh", "-n", file)
	}
}

func TestSBOMsNameEveryModuleOfTheProgram(t *testing.T) {
	for _, program := range programs {
		file := filepath.Join(release(t, older), strings.ReplaceAll(filepath.Base(deb(t, older, program)), "_"+arch(t)+".deb", "_linux_"+arch(t)+".cdx.json"))
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var bom struct {
			BomFormat, SerialNumber string
			Metadata                struct {
				Timestamp string
				Component struct{ Name, Version string }
			}
			Components []struct{ Name, Version, Purl string }
		}
		if err := json.Unmarshal(text, &bom); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if bom.BomFormat != "CycloneDX" || bom.Metadata.Component.Version != "v"+older || bom.Metadata.Timestamp != "" || bom.SerialNumber != "" {
			t.Errorf("%s: %+v", program, bom.Metadata)
		}
		var got, want []string
		for _, c := range bom.Components {
			got = append(got, c.Name)
		}
		for line := range strings.Lines(say(t, "go", "version", "-m", filepath.Join(release(t, older), "bin", program))) {
			if f := strings.Fields(line); f[0] == "dep" {
				want = append(want, f[1])
			}
		}
		want = append(want, "std")
		slices.Sort(got)
		slices.Sort(want)
		if len(want) < 10 || !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
}
