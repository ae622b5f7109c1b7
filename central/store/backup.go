package store

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
)

// A backup is lines of JSON: a head, a line for each document in the order of
// keys, and an end with the SHA-256 of all bytes before it.
const (
	backupFormat  = "catchment-store"
	backupVersion = 1
	// backupLine is how long a line may be: a value of MaxBytes, every byte escaped.
	backupLine = 7 * MaxBytes
	// restoreAhead is added to the revisions after a restore, so that they are
	// above those that the lost store gave out after the backup.
	restoreAhead = 1_000_000_000
)

// backupHead is the first line.
type backupHead struct {
	Format   string   `json:"format"`
	Version  int      `json:"version"`
	Schema   int      `json:"schema"`
	Revision Revision `json:"revision"` // of the snapshot
}

// backupItem is the line of a document. The revision is for people.
type backupItem struct {
	Key      string   `json:"key"`
	Revision Revision `json:"revision"`
	Value    string   `json:"value"`
}

// backupEnd is the last line.
type backupEnd struct {
	Items  int    `json:"items"`
	SHA256 string `json:"sha256"`
}

// Backup writes all documents of s, as they were at one revision, which it
// returns. Writers go on meanwhile. What Restore takes is complete: a backup
// that was cut off is refused there.
func Backup(ctx context.Context, s Store, w io.Writer) (Revision, error) {
	_, revision, err := s.Range(ctx, Span{Limit: 1})
	if err != nil {
		return 0, err
	}
	sum := sha256.New()
	buffered := bufio.NewWriter(w)
	lines := json.NewEncoder(io.MultiWriter(buffered, sum))
	lines.SetEscapeHTML(false)
	if err := lines.Encode(backupHead{backupFormat, backupVersion, schemaVersion, revision}); err != nil {
		return 0, err
	}
	end := backupEnd{}
	span := Span{Limit: page, At: revision}
	for {
		items, _, err := s.Range(ctx, span)
		if err != nil {
			return 0, fmt.Errorf("backup at revision %d: %w", revision, err)
		}
		for _, item := range items {
			if err := lines.Encode(backupItem{item.Key, item.Revision, string(item.Value)}); err != nil {
				return 0, err
			}
		}
		end.Items += len(items)
		if len(items) < page {
			break
		}
		span.From = items[len(items)-1].Key + "\x00"
	}
	end.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if err := lines.Encode(end); err != nil {
		return 0, err
	}
	return revision, buffered.Flush()
}

// Restore makes the store in dir, which must be empty or absent, from a backup.
// The directory appears whole or not at all. Revisions go on far above those of
// the backup.
func Restore(ctx context.Context, dir string, backup io.ReadSeeker, opts Options) error {
	dir = filepath.Clean(dir)
	if files, err := os.ReadDir(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	} else if len(files) > 0 {
		return fmt.Errorf("%s is not empty: restore into an empty directory", dir)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".restore-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	e, err := OpenEmbedded(ctx, temp, opts)
	if err != nil {
		return err
	}
	if err := errors.Join(RestoreInto(ctx, e, backup), e.Close()); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(temp, dir); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// RestoreInto fills e, which must hold nothing, from a backup: the way from one
// directory to a cluster. The backup is checked before anything is written; a
// restore that breaks off leaves a store that cannot be opened. e is to be
// closed and opened again afterwards.
func RestoreInto(ctx context.Context, e *Etcd, backup io.ReadSeeker) error {
	head, err := readBackup(backup, func(backupItem) error { return nil })
	if err != nil {
		return err
	}
	items, _, err := e.Range(ctx, Span{Limit: 1})
	if err != nil {
		return err
	}
	if len(items) > 0 {
		return fmt.Errorf("the store has documents (%s is one): restore into an empty one", items[0].Key)
	}
	if _, err := backup.Seek(0, io.SeekStart); err != nil {
		return err
	}
	after := schema{Version: schemaVersion, Base: head.Revision + restoreAhead, Restoring: true}
	if err := e.writeSchema(ctx, after); err != nil {
		return err
	}
	var batch batch
	_, err = readBackup(backup, func(item backupItem) error {
		if batch.full(item) {
			if err := batch.commit(ctx, e); err != nil {
				return err
			}
		}
		batch.add(item)
		return nil
	})
	if err != nil {
		return err
	}
	if err := batch.commit(ctx, e); err != nil {
		return err
	}
	after.Restoring = false
	return e.writeSchema(ctx, after)
}

// batch collects documents for one transaction.
type batch struct {
	ops  []Op
	size int
}

// full reports whether item is too much for this transaction.
func (b *batch) full(item backupItem) bool {
	return len(b.ops) == MaxOps || len(b.ops) > 0 && b.size+len(item.Key)+len(item.Value) > MaxBytes
}

// add puts item into the transaction.
func (b *batch) add(item backupItem) {
	b.ops = append(b.ops, Op{item.Key, []byte(item.Value)})
	b.size += len(item.Key) + len(item.Value)
}

// commit writes the transaction, and begins another.
func (b *batch) commit(ctx context.Context, e *Etcd) error {
	if len(b.ops) == 0 {
		return nil
	}
	_, err := e.Commit(ctx, nil, b.ops)
	*b = batch{}
	return err
}

// readBackup gives each document to take and returns the head, after the end has proved right.
func readBackup(r io.Reader, take func(backupItem) error) (backupHead, error) {
	var head backupHead
	b := backupReader{lines: bufio.NewScanner(r), sum: sha256.New()}
	b.lines.Buffer(nil, backupLine)
	line, err := b.next()
	if err != nil {
		return head, err
	}
	if err := json.Unmarshal(line, &head); err != nil || head.Format != backupFormat || head.Revision < 1 {
		return head, errors.New("line 1: this is not a backup of the centre's store")
	}
	if head.Version != backupVersion || head.Schema != schemaVersion {
		return head, fmt.Errorf("line 1: the backup has format %d and schema %d, and this program reads %d and %d: use the program that wrote it",
			head.Version, head.Schema, backupVersion, schemaVersion)
	}
	for {
		b.take(line)
		if line, err = b.next(); err != nil {
			return head, err
		}
		var both struct {
			backupItem
			backupEnd
		}
		if err := json.Unmarshal(line, &both); err != nil {
			return head, fmt.Errorf("line %d of the backup: %w", b.number, err)
		}
		if both.SHA256 != "" {
			return head, b.end(both.backupEnd)
		}
		if err := checkOp(Op{both.Key, []byte(both.Value)}); err != nil {
			return head, fmt.Errorf("line %d of the backup: %w", b.number, err)
		}
		if err := take(both.backupItem); err != nil {
			return head, err
		}
	}
}

// backupReader reads lines and sums them up.
type backupReader struct {
	lines  *bufio.Scanner
	sum    hash.Hash
	number int
}

// next returns a line. The end of the file is no line.
func (b *backupReader) next() ([]byte, error) {
	if b.lines.Scan() {
		b.number++
		return b.lines.Bytes(), nil
	}
	if err := b.lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d of the backup: %w", b.number+1, err)
	}
	return nil, fmt.Errorf("the backup ends after line %d without its checksum: it was cut off", b.number)
}

// take adds a line to the sum.
func (b *backupReader) take(line []byte) {
	b.sum.Write(line)
	b.sum.Write([]byte{'\n'})
}

// end checks the last line.
func (b *backupReader) end(end backupEnd) error {
	sum, err := hex.DecodeString(end.SHA256)
	if err != nil || !bytes.Equal(sum, b.sum.Sum(nil)) || end.Items != b.number-2 {
		return fmt.Errorf("line %d of the backup: the checksum or the number of documents is wrong: the file is damaged", b.number)
	}
	if b.lines.Scan() {
		return fmt.Errorf("the backup goes on after its end in line %d: the file is damaged", b.number)
	}
	return b.lines.Err()
}

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
