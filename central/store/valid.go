package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of every store, so that what passes one passes all; etcd's own are a little wider.
const (
	// MaxOps is how many conditions, and how many changes, a Commit may have.
	MaxOps = 100
	// MaxKey is the length of a key in bytes.
	MaxKey = 1 << 10
	// MaxBytes is how many bytes all keys and values of a Commit may have together.
	MaxBytes = 1 << 20
)

// checkKey returns why key cannot be one.
func checkKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("a key is empty: %w", ErrInvalid)
	case len(key) > MaxKey:
		return fmt.Errorf("key %.40q… has %d bytes, more than %d: %w", key, len(key), MaxKey, ErrInvalid)
	case strings.HasPrefix(key, "/") || strings.HasSuffix(key, "/") || strings.Contains(key, "//"):
		return fmt.Errorf("key %q has an empty part: %w", key, ErrInvalid)
	case !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl):
		return fmt.Errorf("key %q has bytes that are not text: %w", key, ErrInvalid)
	}
	return nil
}

// checkCommit returns why a Commit cannot be tried.
func checkCommit(conds []Cond, ops []Op) error {
	if len(conds) > MaxOps || len(ops) > MaxOps {
		return fmt.Errorf("%d conditions and %d changes, more than %d: %w", len(conds), len(ops), MaxOps, ErrInvalid)
	}
	size := 0
	seen := make(map[string]bool, len(conds))
	for _, c := range conds {
		if err := checkKey(c.Key); err != nil {
			return err
		}
		if c.Revision < 0 {
			return fmt.Errorf("key %q: condition with revision %d: %w", c.Key, c.Revision, ErrInvalid)
		}
		if seen[c.Key] {
			return fmt.Errorf("key %q has two conditions: %w", c.Key, ErrInvalid)
		}
		seen[c.Key] = true
		size += len(c.Key)
	}
	clear(seen)
	for _, op := range ops {
		if err := checkOp(op); err != nil {
			return err
		}
		if seen[op.Key] {
			return fmt.Errorf("key %q is changed twice: %w", op.Key, ErrInvalid)
		}
		seen[op.Key] = true
		size += len(op.Key) + len(op.Value)
	}
	if size > MaxBytes {
		return fmt.Errorf("%d bytes in one transaction, more than %d: %w", size, MaxBytes, ErrInvalid)
	}
	return nil
}

// checkOp returns why op cannot be done.
func checkOp(op Op) error {
	if err := checkKey(op.Key); err != nil {
		return err
	}
	if op.Value != nil && (!json.Valid(op.Value) || !utf8.Valid(op.Value)) {
		return fmt.Errorf("key %q: the value is not JSON: %w", op.Key, ErrInvalid)
	}
	return nil
}

// checkSpan returns why span cannot be read.
func checkSpan(span Span) error {
	if span.Limit < 0 || span.At < 0 {
		return fmt.Errorf("limit %d, revision %d: %w", span.Limit, span.At, ErrInvalid)
	}
	return nil
}
