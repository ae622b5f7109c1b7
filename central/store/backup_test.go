package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// backup returns a backup of s.
func backup(t *testing.T, s Store) (string, Revision) {
	t.Helper()
	var b bytes.Buffer
	r, err := Backup(t.Context(), s, &b)
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), r
}

// values is documents without their revisions.
func values(items []Item) []string {
	out := []string{}
	for _, i := range items {
		out = append(out, i.Key+"="+string(i.Value))
	}
	return out
}

func TestABackupHasTheDocumentedForm(t *testing.T) {
	s := NewMemory()
	put(t, s, "b", `{"x": "<\u00e9>"}`, "a/é", `1`)
	got, _ := backup(t, s)
	const items = `{"format":"catchment-store","version":1,"schema":1,"revision":2}
{"key":"a/é","revision":2,"value":"1"}
{"key":"b","revision":2,"value":"{\"x\": \"<\\u00e9>\"}"}
`
	// The checksum is from sha256sum of the three lines.
	want(t, "backup", got, items+`{"items":2,"sha256":"b77bf1463345e16384ab310e845669e96a019b75dd4e88e2cf47fd76e41bba88"}`+"\n")
}

func TestARestoredStoreHasAllAndGoesOn(t *testing.T) {
	s := openDir(t, t.TempDir())
	for i := 0; i < 2*page+10; i += MaxOps {
		var ops []Op
		for j := range MaxOps {
			ops = append(ops, Op{fmt.Sprintf("k%05d", i+j), fmt.Appendf(nil, `{"n": %d, "text": "\u0000é<>"}`, i+j)})
		}
		commit(t, s, nil, ops)
	}
	large := `"` + strings.Repeat(`\"`, MaxBytes/2-10) + `"`
	put(t, s, "large1", large)
	old := put(t, s, "large2", large)
	text, r := backup(t, s)
	lost := put(t, s, "lost", `1`)
	items, _ := list(t, s, "")

	dir := filepath.Join(t.TempDir(), "restored")
	if err := Restore(t.Context(), dir, strings.NewReader(text), Options{}); err != nil {
		t.Fatal(err)
	}
	restored := openDir(t, dir)
	got, now := list(t, restored, "")
	want(t, "documents", values(got), values(items[:len(items)-1]))
	if r != old || now <= lost+restoreAhead/2 {
		t.Errorf("backup at %d, after the restore %d; the lost store was at %d", r, now, lost)
	}
	again, _ := backup(t, restored)
	if strings.Count(again, "\n") != strings.Count(text, "\n") {
		t.Error("a backup of the restored store has other lines")
	}

	_, err := restored.Commit(t.Context(), []Cond{{"large2", old}}, []Op{{"large2", []byte(`1`)}})
	wantError(t, "a condition from before", err, ErrConflict)
	_, err = restored.Commit(t.Context(), []Cond{{"none", restored.base}}, []Op{{"none", []byte(`1`)}})
	wantError(t, "a condition at the base", err, ErrConflict)
	wantEnd(t, restored.Watch(t.Context(), "", old), ErrCompacted)
	_, _, err = restored.Range(t.Context(), Span{At: old})
	wantError(t, "a revision from before", err, ErrCompacted)
	if err := restored.Compact(t.Context(), old); err != nil {
		t.Errorf("Compact of a revision from before: %v", err)
	}
	item, err := restored.Get(t.Context(), "large2")
	if err != nil {
		t.Fatal(err)
	}
	events := restored.Watch(t.Context(), "large", now)
	next1 := commit(t, restored, []Cond{{"large2", item.Revision}}, []Op{{"large2", []byte(`1`)}})
	if e, _ := next(t, events); e.Revision != next1 || next1 != now+1 {
		t.Errorf("event %v for revision %d after %d", e, next1, now)
	}
}

func TestABackupIsOfOneRevisionWhileOthersWrite(t *testing.T) {
	s := openDir(t, t.TempDir())
	for i := 0; i < 2*page; i += MaxOps {
		var ops []Op
		for j := range MaxOps {
			ops = append(ops, Op{fmt.Sprintf("k%05d", i+j), []byte(`0`)})
		}
		commit(t, s, nil, ops)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		for n := 1; ; n++ { // first and last key alike, in one transaction
			v := fmt.Append(nil, n)
			if _, err := s.Commit(ctx, nil, []Op{{"k00000", v}, {"k01999", v}}); err != nil {
				done <- err
				return
			}
		}
	}()
	for range 5 {
		var first, last string
		text, _ := backup(t, s)
		if _, err := readBackup(strings.NewReader(text), func(i backupItem) error {
			switch i.Key {
			case "k00000":
				first = i.Value
			case "k01999":
				last = i.Value
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if first != last || first == "" {
			t.Errorf("the first key has %q and the last one %q", first, last)
		}
	}
	cancel()
	wantError(t, "the writer", <-done, context.Canceled)
}

func TestADamagedBackupIsRefusedAndLeavesNothing(t *testing.T) {
	s := NewMemory()
	put(t, s, "a", `1`, "b", `2`)
	good, _ := backup(t, s)
	lines := strings.SplitAfter(good, "\n")
	for name, test := range map[string]struct{ text, want string }{
		"empty":           {"", "ends after line 0 without its checksum"},
		"another file":    {"hello\n", "line 1: this is not a backup"},
		"cut at a line":   {strings.Join(lines[:2], ""), "ends after line 2 without its checksum"},
		"cut in a line":   {good[:len(good)-10], "line 4 of the backup"},
		"a line missing":  {lines[0] + lines[2] + lines[3], "line 3 of the backup: the checksum"},
		"another value":   {strings.Replace(good, `"value":"2"`, `"value":"3"`, 1), "line 4 of the backup: the checksum"},
		"lines after":     {good + lines[1], "goes on after its end in line 4"},
		"no document":     {lines[0] + "{}\n" + lines[3], "line 2 of the backup: a key is empty"},
		"not JSON inside": {strings.Replace(good, `"value":"2"`, `"value":"{"`, 1), `line 3 of the backup: key "b": the value is not JSON`},
		"newer format":    {strings.Replace(good, `"version":1`, `"version":2`, 1), "line 1: the backup has format 2 and schema 1"},
		"newer schema":    {strings.Replace(good, `"schema":1`, `"schema":9`, 1), "line 1: the backup has format 1 and schema 9"},
		"no revision":     {strings.Replace(good, `"revision":2`, `"revision":0`, 1), "line 1: this is not a backup"},
	} {
		parent := t.TempDir()
		err := Restore(t.Context(), filepath.Join(parent, "dir"), strings.NewReader(test.text), Options{})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
		if files, _ := os.ReadDir(parent); len(files) > 0 {
			t.Errorf("%s: it leaves %v", name, files)
		}
	}
}

func TestRestoreTouchesNothingThatIsThere(t *testing.T) {
	dir := t.TempDir()
	s := openDir(t, dir)
	put(t, s, "a", `1`)
	text, _ := backup(t, s)
	if err := Restore(t.Context(), dir, strings.NewReader(text), Options{}); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("into a directory in use: error %v", err)
	}
	if err := RestoreInto(t.Context(), s, strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "the store has documents (a is one)") {
		t.Errorf("into a store in use: error %v", err)
	}
	empty := t.TempDir()
	if err := Restore(t.Context(), empty, strings.NewReader(text), Options{}); err != nil {
		t.Fatal(err)
	}
	got, _ := list(t, openDir(t, empty), "")
	want(t, "an empty directory then has", values(got), []string{"a=1"})
}

func TestADirectoryMovesToACluster(t *testing.T) {
	s := openDir(t, t.TempDir())
	last := put(t, s, "a", `1`, "b/c", `2`)
	text, _ := backup(t, s)
	c := startCluster(t)
	if err := RestoreInto(t.Context(), c.open(t), strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	got, now := list(t, c.open(t), "")
	want(t, "the cluster has", values(got), []string{"a=1", "b/c=2"})
	if now <= last {
		t.Errorf("revision %d after %d", now, last)
	}
}

// writeFails is a disk that is full after some bytes.
type writeFails struct{ left int }

func (w *writeFails) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(p), nil
}

func TestABackupThatCannotBeWrittenIsAnError(t *testing.T) {
	s := NewMemory()
	put(t, s, "a", `"`+strings.Repeat("x", 100_000)+`"`)
	for left := 0; left < 100_000; left += 30_000 {
		if _, err := Backup(t.Context(), s, &writeFails{left}); err == nil {
			t.Errorf("no error with space for %d bytes", left)
		}
	}
}

func TestEveryBackupIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := NewMemory()
		wanted := []string{}
		keys := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zé]{1,4}(/[0-9"\\<]{1,3})?`), 0, 5, rapid.ID[string]).Draw(rt, "keys")
		for _, k := range keys {
			v := fmt.Sprintf("%q", rapid.StringMatching(`[ -~é]*`).Draw(rt, "text"))
			if _, err := s.Commit(context.Background(), nil, []Op{{k, []byte(v)}}); err != nil {
				rt.Skip(err)
			}
		}
		items, _, err := s.List(context.Background(), "")
		if err != nil {
			rt.Fatal(err)
		}
		wanted = append(wanted, values(items)...)
		var b bytes.Buffer
		if _, err := Backup(context.Background(), s, &b); err != nil {
			rt.Fatal(err)
		}
		got := []string{}
		if _, err := readBackup(&b, func(i backupItem) error { got = append(got, i.Key+"="+i.Value); return nil }); err != nil {
			rt.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(wanted) {
			rt.Fatalf("read %v, wrote %v", got, wanted)
		}
	})
}

func FuzzReadBackup(f *testing.F) {
	s := NewMemory()
	if _, err := s.Commit(context.Background(), nil, []Op{{"a", []byte(`1`)}}); err != nil {
		f.Fatal(err)
	}
	var good bytes.Buffer
	if _, err := Backup(context.Background(), s, &good); err != nil {
		f.Fatal(err)
	}
	f.Add(good.String())
	f.Add(strings.Replace(good.String(), "1", "2", 1))
	f.Fuzz(func(t *testing.T, text string) {
		head, err := readBackup(strings.NewReader(text), func(i backupItem) error { return checkOp(Op{i.Key, []byte(i.Value)}) })
		if err == nil && (head.Revision < 1 || !strings.Contains(text, "sha256")) {
			t.Errorf("taken: %q", text)
		}
	})
}
