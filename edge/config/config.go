package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
)

// Options are the ways in which Parse reaches outside the text. A nil function
// means that nothing is there.
type Options struct {
	// Getenv looks up the variables named by ${VAR} in passwords.
	Getenv func(name string) (value string, ok bool)
	// ReadFile reads the files named by password_file and ca_file.
	ReadFile func(path string) ([]byte, error)
	// Mode gives the permissions of a file that holds a secret.
	Mode func(path string) (fs.FileMode, error)
	// Dir is what relative paths in the file are relative to.
	Dir string
}

// Load reads the file at path and the secrets that it names. It returns the
// configuration and its warnings, or Errors, or the error of reading path.
// Relative paths in the file start at the file's own folder.
func Load(path string) (*Config, []Problem, error) {
	data, err := readLimited(path, maxBytes+1)
	if err != nil {
		return nil, nil, fmt.Errorf("config: %w", err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, nil, fmt.Errorf("config: %w", err)
	}
	return Parse(path, data, Options{
		Getenv:   os.LookupEnv,
		ReadFile: readRegular,
		Mode: func(path string) (fs.FileMode, error) {
			info, err := os.Stat(path)
			if err != nil {
				return 0, err
			}
			return info.Mode(), nil
		},
		Dir: filepath.Dir(abs),
	})
}

// readRegular reads a regular file only: a pipe or device could block or never
// end. What is longer than maxBytes is cut.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	return readLimited(path, maxBytes)
}

func readLimited(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit))
	return data, errors.Join(err, f.Close())
}

// Parse is Load for a text that was read already; name stands for the file in
// problems, and is the file whose mode is looked at when a password stands in it.
// When the text is refused the Config is nil, the error is Errors, and the
// warnings are those found so far.
func Parse(name string, data []byte, opt Options) (*Config, []Problem, error) {
	c := newChecker(name, opt)
	cfg := c.parse(data)
	sortProblems(c.errs)
	sortProblems(c.warnings)
	if len(c.errs) > 0 {
		return nil, c.warnings, Errors(c.errs)
	}
	return cfg, c.warnings, nil
}

func (c *checker) parse(data []byte) *Config {
	root := c.tree(data)
	if root == nil {
		return nil
	}
	values, ok := c.walk(root, reflect.TypeFor[rawConfig](), "").(map[string]any)
	if !ok || c.spent > maxNodes {
		return nil
	}
	raw, err := decode(values)
	if err != nil {
		// The walk let nothing through that viper refuses; should they ever
		// differ, the file is refused.
		c.errorAt(position{}, "", err.Error())
		return nil
	}
	return c.config(raw)
}
