package importer

import (
	"errors"
	"io"
)

// readYANG reads JSON of draft-ietf-grow-yang-bgp-communities.
func readYANG(io.Reader, string, Options) (Result, error) {
	return Result{}, errors.New("format yang is not read yet; convert it to nlnog or a page")
}
