package doctorcmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/catchment-bgp/catchment/edge/config"
)

// longestFile bounds what is read of a configuration or a secret, in octets.
const longestFile = 16 << 20

// stand is a value for a variable that is not set here: the daemon may know it.
const stand = "not-known-here"

// Loaded is a node's configuration as this machine's files have it.
type Loaded struct {
	File     string
	Text     []byte // as it stands in the file
	Config   *config.Config
	Warnings []string
	// EnvFile is where the unit takes variables from; Variables are all that the file
	// names, Unset those of them that are nowhere.
	EnvFile   string
	Variables map[string]string
	Unset     []string
	// Secrets are all values of EnvFile, also of what the configuration does not name.
	Secrets []string
}

// LoadEdge reads a node's configuration. ${NAME} comes from the environment or, as the
// unit has it, from the file edge.env beside the configuration. Where it is in neither,
// or that file cannot be read, a stand-in keeps the rest from going unchecked.
func LoadEdge(path string, getenv func(string) string) (*Loaded, error) {
	l := &Loaded{File: path, EnvFile: filepath.Join(filepath.Dir(path), "edge.env"), Variables: map[string]string{}}
	var err error
	if l.Text, err = readLimited(path); err != nil {
		return l, err
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return l, err
	}
	fromFile := map[string]string{}
	if text, err := readLimited(l.EnvFile); err == nil {
		fromFile = environment(text)
		for _, name := range slices.Sorted(maps.Keys(fromFile)) {
			l.Secrets = append(l.Secrets, fromFile[name])
		}
		l.Secrets = append(l.Secrets, fragments(text)...)
	}
	var problems []config.Problem
	l.Config, problems, err = config.Parse(path, l.Text, config.Options{
		Getenv: func(name string) (string, bool) {
			v := getenv(name)
			if v == "" {
				v = fromFile[name]
			}
			if v == "" {
				l.Unset = append(l.Unset, name)
				return stand, true
			}
			l.Variables[name] = v
			return v, true
		},
		ReadFile: readLimited,
		Mode: func(path string) (fs.FileMode, error) {
			info, err := os.Stat(path)
			if err != nil {
				return 0, err
			}
			return info.Mode(), nil
		},
		Dir: dir,
	})
	for _, p := range problems {
		l.Warnings = append(l.Warnings, p.String())
	}
	return l, err
}

// environment reads a file as systemd's EnvironmentFile= does, but for values that go
// over several lines.
func environment(text []byte) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		value = strings.TrimSpace(value)
		if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		out[strings.TrimSpace(name)] = value
	}
	return out
}

// fragments are all that a value of such a file may be made of: the lines of one that goes
// over several, and what is left of one without its quotes and backslashes.
func fragments(text []byte) []string {
	var out []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		_, value, ok := strings.Cut(line, "=")
		if !ok {
			value = line
		}
		value = strings.TrimSpace(strings.TrimSuffix(value, `\`))
		out = append(out, strings.Trim(value, `"'`), backslashed.ReplaceAllString(strings.Trim(value, `"'`), "$1"))
	}
	return out
}

var backslashed = regexp.MustCompile(`\\(.)`)

// readLimited reads a regular file.
func readLimited(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, longestFile))
	return data, errors.Join(err, f.Close())
}
