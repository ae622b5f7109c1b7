package packages

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/catchment-bgp/catchment/internal/pages"
	"github.com/catchment-bgp/catchment/lab/netlab"
)

// The two releases that tests install one over the other.
const older, newer = "1.2.3", "1.2.4"

var programs = []string{"catchment", "catchment-central", "catchment-edge"}

// work holds what is built for the tests of one run.
var work string

func TestMain(m *testing.M) {
	var err error
	if work, err = os.MkdirTemp("", "catchment-packages-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(prefetching{m}, goleak.Cleanup(func(code int) {
		netlab.RemoveBinaries()
		_ = os.RemoveAll(work)
		os.Exit(code)
	}))
}

// prefetching waits, after the tests, for what they have begun.
type prefetching struct{ *testing.M }

var prefetch sync.WaitGroup

func (p prefetching) Run() int {
	defer prefetch.Wait()
	return p.M.Run()
}

// releases are folders with the packages of each, made when first asked for.
var releases = map[string]func() (string, error){
	older: sync.OnceValues(func() (string, error) {
		if os.Geteuid() == 0 {
			prefetch.Go(func() { _, _ = bareRoot() }) // whoever needs it gets the error, too
		}
		return build(older, "")
	}),
	newer: sync.OnceValues(func() (string, error) { return build(newer, "", "PROGRAMS=catchment catchment-edge") }),
}

// release returns the folder with the packages of a version.
func release(t *testing.T, version string) string {
	t.Helper()
	tools(t, "make", "dpkg-deb", "rpm")
	dir, err := releases[version]()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// epoch is when these releases' commit was made.
const epoch = "1772366400" // 2026-03-01T12:00:00Z

// build runs `make packages` in a tree; empty: this one.
func build(version, tree string, env ...string) (string, error) {
	if tree == "" {
		var err error
		if tree, err = pages.Root(); err != nil {
			return "", err
		}
	}
	dir, err := os.MkdirTemp(work, version+"-")
	if err != nil {
		return "", err
	}
	dist := filepath.Join(dir, "dist")
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	out, err := command(ctx, append(env, "MAKEFLAGS=", "GOFLAGS="), "make", "-C", tree, "packages", "VERSION=v"+version,
		"COMMIT=0123456789abcdef0123456789abcdef01234567", "SOURCE_DATE_EPOCH="+epoch, "BIN="+filepath.Join(dir, "bin"), "DIST="+dist)
	if err != nil {
		return "", fmt.Errorf("make packages: %w\n%s", err, out)
	}
	return dist, nil
}

// command runs a command with more in its environment, and returns what it says.
func command(ctx context.Context, env []string, words ...string) (string, error) {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// say runs a command that must succeed within a minute, and returns what it writes to stdout.
func say(t *testing.T, words ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var faults strings.Builder
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stderr = &faults
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, faults.String())
	}
	return string(out)
}

// tools ends the test where one of these programs is missing: with a failure under CI.
func tools(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("%s is missing (a failure and not a skip, because CI is set): make deps", name)
			}
			t.Skipf("%s is missing: make deps", name)
		}
	}
}

func arch(t *testing.T) string { return strings.TrimSpace(say(t, "dpkg", "--print-architecture")) }

func deb(t *testing.T, version, program string) string {
	t.Helper()
	return filepath.Join(release(t, version), fmt.Sprintf("%s_%s_%s.deb", program, version, arch(t)))
}

func rpm(t *testing.T, version, program string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(release(t, version), program+"-"+version+"-1.*.rpm"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s %s: %q, %v", program, version, found, err)
	}
	return found[0]
}

func TestPackagesOfTwoFoldersAreTheSameBytes(t *testing.T) {
	tools(t, "git")
	first := release(t, older)
	root, err := pages.Root()
	if err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(t.TempDir(), "another", "folder")
	if err := copyTree(t, root, tree); err != nil {
		t.Fatal(err)
	}
	// One program stands for all; `make reproducible` has them all, compiled anew.
	second, err := build(older, tree, "PROGRAMS=catchment-edge", "TZ=Asia/Kathmandu", "LC_ALL=C.UTF-8", "HOSTNAME=elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	want, got := sums(t, first), sums(t, second)
	if len(got) != 3 {
		t.Fatalf("the second build has %q, want a deb, a rpm and an SBOM", got)
	}
	for name, digest := range got {
		if digest != want[name] {
			t.Errorf("%s: %s, and %s in another folder", name, want[name], digest)
		}
	}
}

func TestEveryPackageAndSBOMHasItsDigest(t *testing.T) {
	var want []string
	for _, program := range programs {
		want = append(want, filepath.Base(deb(t, older, program)), filepath.Base(rpm(t, older, program)),
			fmt.Sprintf("%s_%s_linux_%s.cdx.json", program, older, runtime.GOARCH))
	}
	slices.Sort(want)
	dir := release(t, older)
	if got := slices.Sorted(maps.Keys(sums(t, dir))); !slices.Equal(got, want) {
		t.Errorf("SHA256SUMS has %q, want %q", got, want)
	}
	say(t, "sh", "-c", "cd '"+dir+"' && sha256sum --check --strict SHA256SUMS")
}

// sums are the digests of SHA256SUMS by file.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		digest, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok || len(digest) != 64 {
			t.Fatalf("SHA256SUMS: odd line %q", line)
		}
		out[name] = digest
	}
	return out
}

// copyTree copies what git knows of, or would add.
func copyTree(t *testing.T, from, to string) error {
	for path := range strings.SplitSeq(say(t, "git", "-C", from, "ls-files", "-coz", "--exclude-standard"), "\x00") {
		info, err := os.Stat(filepath.Join(from, path))
		if path == "" || os.IsNotExist(err) { // removed, and not yet committed
			continue
		}
		if err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(from, path))
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, path)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, path), text, info.Mode()|0o600); err != nil {
			return err
		}
	}
	return nil
}
