package edgecmd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

// maxConfig is in octets: what fits into a request under gRPC's default limit.
const maxConfig = 3 << 20

// readConfig reads a whole configuration; "-" is stdin.
func (g *group) readConfig(ctx context.Context, file string) (*edgev1.ConfigFile, error) {
	name, read := file, readFile
	switch file {
	case "":
		return nil, exit.Usagef("name the configuration: --config FILE, or --config - for stdin")
	case "-":
		name = "stdin"
		read = func(string) ([]byte, error) { return readAll(g.env.Stdin) }
	}
	content, err := interruptible(ctx, func() ([]byte, error) { return read(file) })
	switch {
	case ctx.Err() != nil:
		return nil, errors.New("interrupted before the configuration was read: nothing was changed")
	case err != nil:
		return nil, exit.Inputf("reading the configuration from %s: %w", name, err)
	case len(content) > maxConfig:
		return nil, exit.Inputf("%s is no configuration: it has more than %d octets", name, maxConfig)
	case len(bytes.TrimSpace(content)) == 0:
		return nil, exit.Inputf("%s is empty: a configuration has at least a node and its neighbours", name)
	}
	return &edgev1.ConfigFile{Name: name, Content: content}, nil
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f)
}

// readAll stops one octet over the limit.
func readAll(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, maxConfig+1)) }

// interruptible returns early when ctx ends. A read from a terminal or a pipe
// cannot be ended; it is left behind then, as the process ends.
func interruptible(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	type result struct {
		content []byte
		err     error
	}
	done := make(chan result, 1)
	go func() {
		content, err := read()
		done <- result{content, err}
	}()
	select {
	case r := <-done:
		return r.content, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
