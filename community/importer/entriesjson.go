package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/catchment-bgp/catchment/community/registry"
)

// Document is entries and what was not understood beside them, as commands print it.
type Document struct {
	Entries  []registry.Entry   `json:"entries"`
	Problems []registry.Problem `json:"problems"`
}

// MarshalJSON writes empty lists as [].
func (d Document) MarshalJSON() ([]byte, error) {
	type plain Document
	if d.Entries == nil {
		d.Entries = []registry.Entry{}
	}
	if d.Problems == nil {
		d.Problems = []registry.Problem{}
	}
	return json.Marshal(plain(d))
}

// readJSON reads a Document. Its entries keep the sources that they had.
func readJSON(r io.Reader) (Result, error) {
	text, err := io.ReadAll(io.LimitReader(r, longestDocument+1))
	if err != nil {
		return Result{}, err
	}
	if len(text) > longestDocument {
		return Result{}, fmt.Errorf("longer than %d octets", longestDocument)
	}
	var d Document
	if err := json.Unmarshal(text, &d); err != nil {
		return Result{}, err
	}
	if d.Entries == nil {
		return Result{}, errors.New(`no list "entries" at the top, as catchment community import -o json prints it`)
	}
	return Result{Entries: d.Entries, Problems: d.Problems}, nil
}
