package pages

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// CheckLinks returns one line for each relative link that leads nowhere: to a file
// that is not in the tree at root, or to a heading that a page does not have.
func CheckLinks(root string, all []Page) []string {
	var faults []string
	for _, p := range all {
		for _, l := range p.Links() {
			if fault := checkLink(root, all, p, l.Target); fault != "" {
				faults = append(faults, fmt.Sprintf("%s:%d: %s: %s", p.Path, l.Line, l.Target, fault))
			}
		}
	}
	return faults
}

func checkLink(root string, all []Page, from Page, target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return "not a link"
	}
	if u.Scheme != "" || u.Host != "" {
		return "" // elsewhere
	}
	to := from.Path
	if u.Path != "" {
		if strings.HasPrefix(u.Path, "/") {
			return "write it relative to the page"
		}
		to = path.Join(path.Dir(from.Path), u.Path)
		if to == ".." || strings.HasPrefix(to, "../") {
			return "it leads out of the tree"
		}
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(to))); err != nil {
			return "there is no such file"
		}
	}
	if u.Fragment == "" {
		return ""
	}
	i := slices.IndexFunc(all, func(p Page) bool { return p.Path == to })
	if i < 0 || !slices.Contains(all[i].Anchors(), u.Fragment) {
		return "the page has no such heading"
	}
	return ""
}

// CheckBlocks returns one line for each yaml or json block that does not parse.
func CheckBlocks(all []Page) []string {
	var faults []string
	for _, p := range all {
		for _, b := range p.Blocks() {
			if err := b.check(); err != nil {
				faults = append(faults, fmt.Sprintf("%s:%d: the %s block does not parse: %v", p.Path, b.Line, b.Lang, err))
			}
		}
	}
	return faults
}

func (b Block) check() error {
	var v any
	var next func(any) error
	switch b.Lang {
	case "yaml":
		next = yaml.NewDecoder(strings.NewReader(b.Text)).Decode
	case "json":
		next = json.NewDecoder(bytes.NewReader([]byte(b.Text))).Decode
	default:
		return nil
	}
	for n := 0; ; n++ {
		err := next(&v)
		switch {
		case errors.Is(err, io.EOF) && n > 0:
			return nil
		case errors.Is(err, io.EOF):
			return errors.New("it is empty")
		case err != nil:
			return err
		}
	}
}
