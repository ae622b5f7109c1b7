package audit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// hidden stands for a secret.
const hidden = "(hidden)"

// secretWords are parts of the names of members whose values are secrets.
var secretWords = []string{"password", "passwd", "passphrase", "secret", "token", "credential", "private", "authorization", "cookie", "apikey", "privkey", "psk", "md5"}

// secretNames are such names as a whole.
var secretNames = []string{"key", "pass", "auth"}

// Redact returns the JSON text with the values of members that are secrets by
// their names replaced, at any depth, and members in sorted order. What is not JSON is
// replaced as a whole: nothing can be said of it. The empty text stays.
func Redact(text string) string {
	if text == "" {
		return ""
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil || decoder.More() {
		return `"(not JSON)"`
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(redacted(value)); err != nil {
		return `"(not JSON)"`
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// redacted returns value without secrets.
func redacted(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			if secret(name) && !empty(member) {
				value[name] = hidden
			} else {
				value[name] = redacted(member)
			}
		}
	case []any:
		for i := range value {
			value[i] = redacted(value[i])
		}
	}
	return value
}

// secret reports whether a member of this name has a secret.
func secret(name string) bool {
	name = strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
	for _, word := range secretWords {
		if strings.Contains(name, word) {
			return true
		}
	}
	return slices.Contains(secretNames, name)
}

// empty reports whether there is nothing to hide.
func empty(value any) bool {
	return value == nil || value == "" || value == false
}
