package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// writePair writes two new files, or none.
func writePair(certFile, keyFile string, certPEM, keyPEM []byte) error {
	if err := writeNew(keyFile, keyPEM, 0o600); err != nil {
		return err
	}
	if err := writeNew(certFile, certPEM, 0o644); err != nil {
		return errors.Join(err, os.Remove(keyFile))
	}
	return nil
}

// WriteKey writes a key to a new file that only its owner may read.
func WriteKey(path string, keyPEM []byte) error { return writeNew(path, keyPEM, 0o600) }

// WriteCert writes certificates to a new file.
func WriteCert(path string, certPEM []byte) error { return writeNew(path, certPEM, 0o644) }

// writeNew writes a file that must not be there yet. What it wrote it takes away
// again if it cannot finish.
func writeNew(path string, content []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already, and is not overwritten; choose another place, or move it away", path)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(mode) // whatever the umask
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// replace puts new content in the place of a file, which stays beside it under the
// name old. Readers see the one or the other, never a part.
func replace(path, old string, content []byte) error {
	if err := os.Link(path, old); err != nil {
		return err
	}
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeNew(tmp, content, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
