package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestANearlyFullDiskRefusesWritesAndServesReads(t *testing.T) {
	dir := t.TempDir()
	s := openDir(t, dir)
	put(t, s, "a", `1`)
	s.member.minFree = 1 << 60 // no other call is running
	_, err := s.Commit(t.Context(), nil, []Op{{"a", []byte(`2`)}})
	wantError(t, "Commit", err, ErrFull)
	if !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "MiB free") {
		t.Errorf("error %q", err)
	}
	if item, err := s.Get(t.Context(), "a"); err != nil || string(item.Value) != "1" {
		t.Errorf("read %v, %v", item, err)
	}
	s.member.minFree = 0
	put(t, s, "a", `3`)
}

// TestADiskThatFillsUpLosesNothing fills a small file system by other files
// while a writer writes, to the last byte.
func TestADiskThatFillsUpLosesNothing(t *testing.T) {
	dir := smallDisk(t, "300m")
	opts := Options{MinFree: 32 << 20}
	s, err := OpenEmbedded(t.Context(), filepath.Join(dir, "store"), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.Close() }()
	value := []byte(`"` + strings.Repeat("x", 100<<10) + `"`)
	n := 0
	for ; ; n++ {
		fill(t, filepath.Join(dir, fmt.Sprint("other", n)), 1<<20)
		if _, err = s.Commit(t.Context(), nil, []Op{{fmt.Sprintf("k%04d", n), value}}); err != nil {
			break
		}
	}
	wantError(t, "Commit on a full disk", err, ErrFull)
	if n < 10 {
		t.Errorf("only %d commits", n)
	}
	for i := 0; fill(t, filepath.Join(dir, fmt.Sprint("last", i)), 1<<20); i++ {
	}
	if items, _ := list(t, s, "k"); len(items) != n {
		t.Errorf("%d documents of %d", len(items), n)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close on a full disk: %v", err)
	}
	_, err = OpenEmbedded(t.Context(), filepath.Join(dir, "store"), opts)
	wantError(t, "a start on a full disk", err, ErrFull)

	others, err := filepath.Glob(filepath.Join(dir, "[ol]*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range others {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	if s, err = OpenEmbedded(t.Context(), filepath.Join(dir, "store"), opts); err != nil {
		t.Fatal(err)
	}
	put(t, s, "after", `1`)
	if items, _ := list(t, s, "k"); len(items) != n {
		t.Errorf("%d documents of %d after a restart", len(items), n)
	}
}

// TestAfterADiskThatWasFullAllTheSameNothingIsLost is for what others write in
// the moment between our look at the disk and etcd's write.
func TestAfterADiskThatWasFullAllTheSameNothingIsLost(t *testing.T) {
	dir := smallDisk(t, "260m")
	ballast := filepath.Join(dir, "other")
	fill(t, ballast, 90<<20)
	p := spawn(t, "filler", filepath.Join(dir, "store"))
	ended := time.AfterFunc(time.Minute, p.kill)
	defer ended.Stop()
	n := 0
	for p.out.Scan() {
		n++
	}
	p.cmd.Wait()
	if got := p.errors.String(); !strings.HasPrefix(got, "the store in "+dir) || !strings.Contains(got, "no space left on device") {
		t.Errorf("it said %s", got)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=600m"); err != nil {
		t.Fatal(err)
	}
	s := openDir(t, filepath.Join(dir, "store"))
	if items, _ := list(t, s, "k"); len(items) != n && len(items) != n+1 {
		t.Errorf("%d documents of %d that were acknowledged", len(items), n)
	}
	put(t, s, "after", `1`)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// smallDisk mounts a file system in memory, as root.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("this test mounts a small file system: run it as root")
		}
		t.Skip("this test mounts a small file system and needs root")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill writes n bytes to a file and reports whether there was space for them.
func fill(t *testing.T, path string, n int) bool {
	t.Helper()
	err := os.WriteFile(path, make([]byte, n), 0o600)
	if err != nil && !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	return err == nil
}

func TestAUsedUpQuotaIsFullUntilItIsRaised(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenEmbedded(t.Context(), dir, Options{Quota: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	value := []byte(`"` + strings.Repeat("x", 1<<19) + `"`)
	n := 0
	for ; n < 100 && err == nil; n++ {
		_, err = s.Commit(t.Context(), nil, []Op{{fmt.Sprint("k", n), value}})
	}
	wantError(t, "Commit", err, ErrFull)
	items, _ := list(t, s, "k")
	want(t, "documents", len(items), n-1)
	if _, err := s.Get(t.Context(), "k0"); err != nil {
		t.Error(err)
	}
	if u, ok := s.Usage(); !ok || u.Quota != 8<<20 || u.Size <= u.Quota || u.Size > 4*u.Quota || u.Free <= 0 || u.Reserve != defaultMinFree {
		t.Errorf("usage %+v, %v", u, ok)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if u, ok := s.Usage(); ok {
		t.Errorf("a closed store has usage %+v", u)
	}
	s = openDir(t, dir)
	put(t, s, "after", `1`)
	items, _ = list(t, s, "k")
	want(t, "documents after a restart", len(items), n-1)
}

func TestAFullStoreIsWrittenAgainWhenThePastIsDropped(t *testing.T) {
	s, err := OpenEmbedded(t.Context(), t.TempDir(), Options{Quota: 8 << 20, Keep: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	value := []byte(`"` + strings.Repeat("x", 1<<19) + `"`)
	for i := 0; i < 100 && err == nil; i++ {
		_, err = s.Commit(t.Context(), nil, []Op{{"k", value}})
	}
	wantError(t, "Commit", err, ErrFull)
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for err != nil && time.Now().Before(deadline) {
		<-tick.C
		_, err = s.Commit(t.Context(), nil, []Op{{"k", []byte(`1`)}})
	}
	if err != nil {
		t.Errorf("after a minute: %v", err)
	}
}
