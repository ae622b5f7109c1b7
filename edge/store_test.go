package edge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catchment-bgp/catchment/policy"
)

// word is a state with one override that has a reason.
func word(reason string) stored {
	return stored{Overrides: []policy.Override{{Service: "video", Verb: policy.Drain, Reason: reason, Since: time.Unix(1, 0).UTC()}}}
}

// open opens a store in a folder; failures go to the channel.
func open(t *testing.T, dir string) (*store, stored, chan error) {
	t.Helper()
	failures := make(chan error, 100)
	st, s, err := openStore(dir, func(err error) { failures <- err })
	if err != nil {
		t.Fatal(err)
	}
	return st, s, failures
}

func TestWhatIsSavedIsReadAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "state")
	st, s, _ := open(t, dir)
	if len(s.Overrides) != 0 {
		t.Errorf("a new store has %v", s)
	}
	s = word("x")
	s.Policy.Services = map[string]policy.ServiceState{"video": {Hard: policy.Hold{Held: true, After: 2, Failures: []time.Time{time.Unix(5, 0).UTC()}}}}
	st.save(s)
	if err := st.close(context.Background()); err != nil {
		t.Fatal(err)
	}
	st, got, _ := open(t, dir)
	if fmt.Sprint(got) != fmt.Sprint(s) {
		t.Errorf("%v, want %v", got, s)
	}
	if err := st.close(context.Background()); err != nil {
		t.Error(err)
	}
	for path, mode := range map[string]os.FileMode{dir: 0o750, st.path: 0o640} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
	}
}

func TestTheLatestStateWinsAndEveryWaiterHears(t *testing.T) {
	st, _, failures := open(t, t.TempDir())
	var waiters []<-chan error
	for i := range 200 {
		waiters = append(waiters, st.saved(word(fmt.Sprint(i))))
	}
	for i, w := range waiters {
		select {
		case err := <-w:
			if err != nil {
				t.Errorf("waiter %d: %v", i, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("waiter %d hears nothing", i)
		}
	}
	if err := st.close(context.Background()); err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(st.path)
	if err != nil || !strings.Contains(string(data), `"reason": "199"`) {
		t.Errorf("%s, %v", data, err)
	}
	if len(failures) != 0 {
		t.Error(<-failures)
	}
}

func TestCloseWritesWhatWasHandedOverLast(t *testing.T) {
	for range 20 {
		st, _, _ := open(t, t.TempDir())
		for i := range 10 {
			st.save(word(fmt.Sprint(i)))
		}
		if err := st.close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(st.path); err != nil || !strings.Contains(string(data), `"reason": "9"`) {
			t.Fatalf("%s, %v", data, err)
		}
	}
}

func TestTheSameStateIsWrittenOnce(t *testing.T) {
	st, _, _ := open(t, t.TempDir())
	if err := <-st.saved(word("x")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(st.path); err != nil {
		t.Fatal(err)
	}
	st.save(word("x"))
	if err := st.close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(st.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was written again: %v", err)
	}
}

func TestAWriteThatFailsIsToldOnceAndTriedUntilItIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "state")
		st, _, failures := open(t, dir)
		move := func(from, to string) {
			if err := os.Rename(from, to); err != nil {
				t.Fatal(err)
			}
		}
		move(dir, dir+".away")
		err := <-st.saved(word("x"))
		if err == nil || !strings.Contains(err.Error(), st.path) {
			t.Errorf("the waiter hears %v", err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(failures) != 1 {
			t.Errorf("told %d times", len(failures))
		}
		move(dir+".away", dir)
		time.Sleep(time.Second)
		synctest.Wait()
		if data, err := os.ReadFile(st.path); err != nil || !strings.Contains(string(data), `"x"`) {
			t.Errorf("a second later: %s, %v", data, err)
		}
		move(dir, dir+".away")
		st.save(word("y"))
		synctest.Wait()
		if len(failures) != 2 {
			t.Errorf("a new failure: told %d times", len(failures))
		}
		if err := st.close(context.Background()); err == nil {
			t.Error("close says nothing of what could not be written")
		}
	})
}

func TestCloseTriesOnceMoreWhatCouldNotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	st, _, _ := open(t, dir)
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	if err := <-st.saved(word("x")); err == nil {
		t.Error("no error")
	}
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	if err := st.close(context.Background()); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(st.path); err != nil || !strings.Contains(string(data), `"x"`) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestAFailedWriteLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := writeFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".f.new"), 0o700); err != nil { // in the way of the new file
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".f.new", "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(path, []byte("new"), 0o640); err == nil {
		t.Error("no error")
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "old" {
		t.Errorf("%q, %v", data, err)
	}
	target := filepath.Join(dir, "folder", "x")
	if err := os.MkdirAll(filepath.Join(target, "y"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(target, []byte("new"), 0o640); err == nil || !strings.Contains(err.Error(), "replace "+target) {
		t.Errorf("over a folder: %v", err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "folder", ".*")); len(files) != 0 {
		t.Errorf("left behind: %q", files)
	}
}

func TestALeftoverOfACrashIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), ".f.new"), []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(path, []byte("whole"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "whole" {
		t.Errorf("%q, %v", data, err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

func TestCloseDoesNotWaitForEver(t *testing.T) {
	st := &store{jobs: make(chan job, 1), done: make(chan struct{})} // nobody writes
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := st.close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestStateDirectoryIsOneProcessAlone(t *testing.T) {
	dir := t.TempDir()
	st, _, _ := open(t, dir)
	_, _, err := openStore(dir, func(err error) { t.Error(err) })
	want := "edge: state_dir " + dir + ": another catchment-edge runs with it; stop that one, or give this one a state_dir of its own"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := st.close(context.Background()); err != nil {
		t.Fatal(err)
	}
	st, _, _ = open(t, dir)
	if err := st.close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestDamagedStateIsRefusedAndTheDirectoryLetGo(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, stateFile)
	for text, reason := range map[string]string{
		"":                          "unexpected end of JSON input",
		" null\n":                   "it says null",
		"[]":                        "cannot unmarshal array",
		`{"overrides": [{}]}`:       "override 0 has no service or no verb",
		`{"overrides": []} {}`:      "after top-level value",
		`{"overrides": [null]}`:     "override 0 has no service or no verb",
		"{\"overrides\": [], \"p\"": "unexpected end of JSON input",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := openStore(dir, func(err error) { t.Error(err) })
		if err == nil || !strings.Contains(err.Error(), path+" is damaged (") || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v, want that it is damaged: %s", text, err, reason)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	st, _, _ := open(t, dir)
	if err := st.close(context.Background()); err != nil {
		t.Error(err)
	}
}
