package rules

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// tree reads the tree that this package is part of.
func tree(t *testing.T) []File {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	files, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	here := func(f File) bool { return f.Path == "internal/rules/tree_test.go" }
	if !slices.ContainsFunc(files, here) {
		t.Fatalf("read %d files, but not this one", len(files))
	}
	return files
}

// noBreach reports each breach as an error.
func noBreach(t *testing.T, breaches []string) {
	t.Helper()
	for _, breach := range breaches {
		t.Error(breach)
	}
}

// source parses one file of an imagined tree.
func source(t *testing.T, path, text string) File {
	t.Helper()
	f, err := Parse(path, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// wantBreaches fails unless got is want.
func wantBreaches(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("breaches\n %q, want\n %q", got, want)
	}
}

func TestEveryImportIsAllowed(t *testing.T) { noBreach(t, CheckImports(tree(t))) }

func TestNothingEndsTheProcessAndPolicyHasNoClock(t *testing.T) { noBreach(t, CheckCalls(tree(t))) }

func TestEveryExportedNameIsDocumented(t *testing.T) { noBreach(t, CheckDocs(tree(t))) }

func TestReadSkipsWhatTheGoCommandIgnores(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a/a.go", "a/a_test.go", "a/testdata/no.go", "vendor/no.go", ".git/no.go", "_old/no.go", "a/_no.go", "a/.no.go", "a/no.txt"} {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("package a\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	wantBreaches(t, paths, "a/a.go", "a/a_test.go")
}

func TestReadReportsAFileThatIsNoGo(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.go"), []byte("pakage a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(root); err == nil {
		t.Error("no error")
	}
}
