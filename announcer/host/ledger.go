package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ledger remembers, across a kill, the addresses that are ours on kernels that
// cannot mark them (before 5.18). Addresses do not outlive a boot, so the
// record of another boot counts for nothing.
type ledger struct {
	path    string
	boot    string
	entries []ledgerEntry
}

type ledgerEntry struct {
	Interface string     `json:"interface"`
	Index     int        `json:"index"`
	Address   netip.Addr `json:"address"`
}

type ledgerFile struct {
	Boot      string        `json:"boot"`
	Addresses []ledgerEntry `json:"addresses"`
}

// openLedger reads what a run before us left in dir. A file that cannot be read
// gives an empty ledger and the error.
func openLedger(dir string) (*ledger, error) {
	l := &ledger{path: filepath.Join(dir, "vips.json")}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return l, fmt.Errorf("boot id: %w", err)
	}
	l.boot = strings.TrimSpace(string(boot))
	text, err := os.ReadFile(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	var f ledgerFile
	if err := json.Unmarshal(text, &f); err != nil {
		return l, fmt.Errorf("%s: %w", l.path, err)
	}
	if f.Boot == l.boot {
		l.entries = f.Addresses
	}
	return l, nil
}

func (l *ledger) has(index int, a netip.Addr) bool {
	return slices.ContainsFunc(l.entries, func(e ledgerEntry) bool {
		return e.Index == index && e.Address == a
	})
}

// write makes entries the whole record; when it returns without an error, the
// record is on the disk. No entries: no file.
func (l *ledger) write(entries []ledgerEntry) error {
	if slices.Equal(entries, l.entries) {
		return nil
	}
	if len(entries) == 0 {
		if err := os.Remove(l.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		l.entries = nil
		return nil
	}
	text, err := json.Marshal(ledgerFile{Boot: l.boot, Addresses: entries})
	if err != nil {
		return err
	}
	if err := replaceFile(l.path, append(text, '\n')); err != nil {
		return err
	}
	l.entries = entries
	return nil
}

// replaceFile puts text in place of the file at path, whole or not at all, also
// when the power fails.
func replaceFile(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
