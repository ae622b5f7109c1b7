package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode"
)

// Mask stands for a password in what Config.YAML prints.
const Mask = "********"

// maxPassword is the longest TCP MD5 key of Linux (TCP_MD5SIG_MAXKEYLEN).
const maxPassword = 80

// password finds a neighbour's TCP MD5 key (RFC 2385) and the file that it came
// from, if it did. Messages never hold the key or a part of it.
func (c *checker) password(path string, r *rawNeighbor) (password, file string) {
	inline, named := join(path, "password"), join(path, "password_file")
	if c.has(inline) && c.has(named) {
		c.reject(named, "password stands on line %d already; write one of password and password_file", c.where(inline).line)
		return "", ""
	}
	var err error
	at := inline
	switch {
	case r.Password != nil:
		password, err = c.expand(string(*r.Password))
	case r.PasswordFile != nil:
		at, file = named, c.resolve(*r.PasswordFile)
		password, err = c.readSecret(*r.PasswordFile, file)
	default:
		return "", ""
	}
	if err == nil {
		err = checkPassword(password)
	}
	if err != nil {
		c.reject(at, "%s", err.Error())
		return "", file
	}
	switch {
	case password == Mask:
		c.warn(at, "%s is what --print-config prints for a password; write the real one", Mask)
	case file != "":
		c.warnMode(at, *r.PasswordFile, file)
	case string(*r.Password) == password:
		c.warnMode(at, c.file, c.file)
	}
	return password, file
}

func checkPassword(p string) error {
	switch {
	case p == "":
		return errors.New("the password is empty; write one, or remove the key for a session without")
	case len(p) > maxPassword:
		return fmt.Errorf("the password has %d bytes; TCP MD5 takes %d at most: write a shorter one", len(p), maxPassword)
	case strings.ContainsFunc(p, unicode.IsControl):
		return errors.New("the password holds a control character or line break; write one line of text")
	}
	return nil
}

// expand puts the environment's values in the place of every ${VAR}.
func (c *checker) expand(s string) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed || !variableRE.MatchString("${"+name+"}") {
			return "", errors.New("${ does not begin the name of a variable; write ${NAME}, or use password_file for a password with ${ in it")
		}
		v, ok := "", false
		if c.opt.Getenv != nil {
			v, ok = c.opt.Getenv(name)
		}
		if !ok {
			return "", fmt.Errorf("the environment has no variable %s; set it, or write password_file", name)
		}
		out.WriteString(v)
		s = after
	}
}

func (c *checker) readSecret(name, path string) (string, error) {
	if name == "" {
		return "", errors.New(`"" is not a file; write its path, or remove the key for a session without password`)
	}
	if c.opt.ReadFile == nil {
		return "", fmt.Errorf("%s cannot be read here; write password: ${NAME}", show(name))
	}
	data, err := c.readFile(name, path)
	if err != nil {
		return "", fmt.Errorf("%s; write the path of a file with the password", err)
	}
	text := strings.TrimSuffix(string(data), "\n")
	return strings.TrimSuffix(text, "\r"), nil
}

// readFile reads the file at path, which the configuration calls name.
func (c *checker) readFile(name, path string) ([]byte, error) {
	if c.opt.ReadFile == nil {
		return nil, fmt.Errorf("%s cannot be read here", show(name))
	}
	data, err := c.opt.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %s", show(name), reason(err))
	}
	return data, nil
}

// reason is err without the path, which the message has already.
func reason(err error) string {
	if pathErr := new(fs.PathError); errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}

// warnMode warns of a secret that every user of the machine can read.
func (c *checker) warnMode(at, name, path string) {
	if c.opt.Mode == nil {
		return
	}
	if mode, err := c.opt.Mode(path); err == nil && mode.Perm()&0o004 != 0 {
		c.warn(at, "every user can read %s (mode %04o); run chmod %04o on it", show(name), mode.Perm(), mode.Perm()&^0o007)
	}
}

// resolve gives the path of a file that the configuration names.
func (c *checker) resolve(path string) string {
	if path == "" || filepath.IsAbs(path) || c.opt.Dir == "" {
		return path
	}
	return filepath.Join(c.opt.Dir, path)
}
