package edge

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// content is the configuration file.
func (w *world) content() string {
	w.t.Helper()
	text, err := os.ReadFile(w.file())
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

func (w *world) write(text string) {
	w.t.Helper()
	if err := os.WriteFile(w.file(), []byte(text), 0o640); err != nil {
		w.t.Fatal(err)
	}
}

// apply applies the base configuration with edits.
func (w *world) apply(within time.Duration, edits ...string) (time.Time, error) {
	w.t.Helper()
	_, revertsAt, err := w.node.Apply(context.Background(), w.config(edits...), nil, []byte(w.text(edits...)), ApplyOptions{ConfirmWithin: within})
	w.rest()
	return revertsAt, err
}

// clean fails if anything but the configuration lies in its folder.
func (w *world) clean() {
	w.t.Helper()
	files, err := filepath.Glob(w.dir + "/.*")
	if err != nil || len(files) > 0 {
		w.t.Errorf("left behind: %q, %v", files, err)
	}
}

// The edit that these tests apply, and the route that shows it.
var (
	tagged   = []string{`["57629:101"]`, `["57629:102"]`}
	taggedIX = []string{strings.Replace(ix4, "101", "102", 1), strings.Replace(ix6, "101", "102", 1)}
)

func TestAnAppliedConfigurationReplacesTheFile(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		if err := os.Chmod(w.file(), 0o600); err != nil {
			t.Fatal(err)
		}
		revertsAt, err := w.apply(0, tagged...)
		if err != nil || !revertsAt.IsZero() {
			t.Errorf("reverts at %v, %v", revertsAt, err)
		}
		w.expect("ix", taggedIX...)
		if w.content() != w.text(tagged...) {
			t.Errorf("the file is\n%s", w.content())
		}
		if st, err := os.Stat(w.file()); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", st.Mode(), err)
		}
		w.clean()
		w.pass(time.Hour)
		w.expect("ix", taggedIX...)
	})
}

func TestAConfigurationThatNobodyConfirmsGoesBack(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		revertsAt, err := w.apply(2*time.Minute, tagged...)
		if err != nil || time.Until(revertsAt) != 2*time.Minute {
			t.Errorf("reverts at %v, %v", revertsAt, err)
		}
		w.expect("ix", taggedIX...)
		if w.content() != w.text() || !w.snapshot().RevertsAt.Equal(revertsAt) {
			t.Error("the file was changed, or the status does not tell")
		}
		w.pass(2*time.Minute - 1)
		w.expect("ix", taggedIX...)
		w.pass(1)
		w.expect("ix", ix4, ix6)
		if w.content() != w.text() || !w.snapshot().RevertsAt.IsZero() {
			t.Error("the file was changed, or the status still tells")
		}
		w.clean()
	})
}

func TestGoingBackIsTriedAgain(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		if _, err := w.apply(time.Minute, tagged...); err != nil {
			t.Fatal(err)
		}
		w.locked(func() { w.rejects = errors.New("no such device") })
		w.pass(time.Minute)
		w.expect("ix", taggedIX...)
		w.locked(func() { w.rejects = nil })
		w.pass(time.Second)
		w.expect("ix", ix4, ix6)
	})
}

func TestAConfirmedConfigurationStaysAndIsWritten(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		if _, err := w.apply(2*time.Minute, tagged...); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		if err := w.node.Confirm(context.Background()); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Hour)
		w.expect("ix", taggedIX...)
		if w.content() != w.text(tagged...) {
			t.Errorf("the file is\n%s", w.content())
		}
		w.clean()
		if err := w.node.Confirm(context.Background()); !errors.As(err, new(UsageError)) {
			t.Errorf("a second time: %v", err)
		}
	})
}

func TestRollbackReturnsAtOnce(t *testing.T) {
	up(t, func(t *testing.T, w *world) { // F3
		if _, err := w.apply(2*time.Minute, dnsPart, ""); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		w.expect("transit", transit4, transit6)
		if _, err := w.node.Rollback(context.Background()); err != nil {
			t.Fatal(err)
		}
		w.rest()
		w.report("resolver", "")
		w.rest()
		w.expect("transit", transit4, transit6, dns4)
		if got := w.vips.standing(); len(got) != 2 {
			t.Errorf("VIPs %q", got)
		}
		w.clean()
		w.pass(time.Hour)
		w.expect("transit", transit4, transit6, dns4)
	})
}

func TestRollbackAfterAnApplyRestoresTheFile(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		if _, err := w.node.Rollback(context.Background()); !errors.As(err, new(UsageError)) {
			t.Errorf("with nothing applied: %v", err)
		}
		if _, err := w.apply(0, tagged...); err != nil {
			t.Fatal(err)
		}
		if _, err := w.node.Rollback(context.Background()); err != nil {
			t.Fatal(err)
		}
		w.rest()
		w.expect("ix", ix4, ix6)
		if w.content() != w.text() {
			t.Errorf("the file is\n%s", w.content())
		}
		if _, err := w.node.Rollback(context.Background()); err != nil { // and forth again
			t.Fatal(err)
		}
		w.rest()
		w.expect("ix", taggedIX...)
		w.clean()
	})
}

func TestAFileThatCannotBeWrittenChangesNothing(t *testing.T) {
	for name, within := range map[string]time.Duration{"for good": 0, "to be confirmed": time.Minute} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				o := w.options()
				o.File = w.dir + "/nowhere/edge.yaml"
				node, err := New(w.config(), nil, o)
				if err != nil {
					t.Fatal(err)
				}
				w.adopt(node)
				w.well()
				n := w.journal.len()
				if _, err := w.apply(within, tagged...); err == nil || !strings.Contains(err.Error(), o.File) {
					t.Errorf("%v", err)
				}
				w.pass(time.Hour)
				if got := w.journal.since(n); got != nil {
					t.Errorf("something was done: %q", got)
				}
			})
		})
	}
}

func TestWhatFailsAfterTheSessionsGoesBack(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		if err := os.Remove(w.file()); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(w.file(), 0o700); err != nil { // no file can take its place
			t.Fatal(err)
		}
		if _, err := w.apply(0, tagged...); err == nil {
			t.Error("no error")
		}
		w.pass(time.Minute)
		w.expect("ix", ix4, ix6)
		w.clean()
	})
}

func TestOneConfigurationWaitsAtATime(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		if _, err := w.apply(time.Minute, tagged...); err != nil {
			t.Fatal(err)
		}
		for _, within := range []time.Duration{0, time.Hour} {
			if _, err := w.apply(within, dnsPart, ""); !errors.As(err, new(RefusedError)) || !strings.Contains(err.Error(), "confirm it or roll it back first") {
				t.Errorf("within %v: %v", within, err)
			}
		}
		w.expect("ix", taggedIX...)
		w.pass(time.Minute)
		w.expect("ix", ix4, ix6)
		if _, err := w.apply(-1, tagged...); !errors.As(err, new(UsageError)) {
			t.Errorf("within -1ns: %v", err)
		}
	})
}

func TestAReloadEndsTheWait(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		if _, err := w.apply(time.Minute, tagged...); err != nil {
			t.Fatal(err)
		}
		w.reload(dnsPart, "")
		w.clean()
		w.pass(time.Hour)
		w.expect("transit", transit4, transit6)
		if err := w.node.Confirm(context.Background()); err == nil {
			t.Error("something still waits")
		}
	})
}

func TestWithoutAFileAConfigurationLastsUntilTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		o := w.options()
		o.File = ""
		node, err := New(w.config(), nil, o)
		if err != nil {
			t.Fatal(err)
		}
		w.adopt(node)
		w.well()
		if _, err := w.apply(0, tagged...); err != nil {
			t.Fatal(err)
		}
		w.expect("ix", taggedIX...)
		if _, err := w.node.Rollback(context.Background()); !errors.As(err, new(UsageError)) {
			t.Errorf("Rollback: %v", err)
		}
	})
}
