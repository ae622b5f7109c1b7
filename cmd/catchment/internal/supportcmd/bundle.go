package supportcmd

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

// mostText bounds one part, in octets; what is longer is cut, which the manifest says.
const mostText = 16 << 20

// bundle is what goes into the file.
type bundle struct {
	at    time.Time
	parts []part
	out   []leftOut
}

type part struct {
	name string
	text []byte
}

// leftOut is something that is not in the bundle.
type leftOut struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// entry is a part in the manifest.
type entry struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func (b *bundle) put(name, text string) {
	if len(text) > mostText {
		b.leave(name, fmt.Sprintf("cut after %d of %d octets", mostText, len(text)))
		text = text[:mostText]
	}
	b.parts = append(b.parts, part{name, []byte(text)})
}

func (b *bundle) leave(what, why string) { b.out = append(b.out, leftOut{what, why}) }

// manifest names all parts with their digests.
func (b *bundle) manifest() ([]byte, error) {
	m := struct {
		Made    string    `json:"made"`
		Files   []entry   `json:"files"`
		LeftOut []leftOut `json:"left_out"`
	}{b.at.UTC().Format(time.RFC3339), []entry{}, append([]leftOut{}, b.out...)}
	for _, p := range b.parts {
		sum := sha256.Sum256(p.text)
		m.Files = append(m.Files, entry{p.name, len(p.text), hex.EncodeToString(sum[:])})
	}
	var text bytes.Buffer
	err := output.WriteValue(&text, output.JSON, m)
	return text.Bytes(), err
}

// write writes the bundle; folder is that of all files in it. Equal bundles make equal
// files.
func (b *bundle) write(w io.Writer, folder string) error {
	slices.SortStableFunc(b.parts, func(x, y part) int { return cmp.Compare(x.name, y.name) })
	slices.SortStableFunc(b.out, func(x, y leftOut) int { return cmp.Compare(x.What, y.What) })
	manifest, err := b.manifest()
	if err != nil {
		return err
	}
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	for _, p := range append([]part{{"manifest.json", manifest}}, b.parts...) {
		if err := t.WriteHeader(&tar.Header{Name: path.Join(folder, p.name), Mode: 0o600, Size: int64(len(p.text)), ModTime: b.at.Truncate(time.Second), Format: tar.FormatPAX}); err != nil {
			return err
		}
		if _, err := t.Write(p.text); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

// save writes the bundle to a new file that only its owner may read; a file that is
// there is left alone, and one that cannot be written whole is taken away again.
func (b *bundle) save(file, folder string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(b.write(f, folder), f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(file))
	}
	return nil
}
