package supportcmd

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// shortest is how long a secret is, in octets, to be looked for: every text has "1" in
// it.
const shortest = 4

// words are no secrets, even where they stand in the place of one: without them no text
// could be read.
var words = strings.Fields("true false null none localhost json text html info warn error debug")

// scrubber takes secrets out of texts.
type scrubber struct{ replace *strings.Replacer }

// newScrubber knows the secrets in each way in which a program may write them.
func newScrubber(secrets []string) scrubber {
	var forms []string
	for _, s := range secrets {
		for _, line := range append(strings.Split(s, "\n"), s) {
			if line = strings.TrimSpace(line); len(line) >= shortest && line != mask && line != urlMask && !slices.Contains(words, strings.ToLower(line)) {
				forms = append(forms, written(line)...)
			}
		}
	}
	// The longest first, so that of a secret within another nothing is left.
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	pairs := []string{}
	for _, f := range slices.Compact(forms) {
		pairs = append(pairs, f, mask)
	}
	return scrubber{strings.NewReplacer(pairs...)}
}

// written are the ways to write a secret: as it is, in JSON, in Go's quotes, in URLs,
// and in basic authentication.
func written(s string) []string {
	quoted := inside(strconv.Quote(s))
	// An error within an error, or within a label, is quoted twice.
	out := []string{s, url.QueryEscape(s), url.PathEscape(s), quoted, inside(strconv.QuoteToASCII(s)), inside(strconv.Quote(quoted))}
	if text, err := json.Marshal(s); err == nil {
		out = append(out, inside(string(text)))
	}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding} {
		out = append(out, e.EncodeToString([]byte(s)))
	}
	return slices.DeleteFunc(out, func(form string) bool { return len(form) < shortest })
}

// inside is a quoted text without its quotes.
func inside(quoted string) string { return quoted[1 : len(quoted)-1] }

// What looks like a secret in a text whose structure is not known: the journal's.
var (
	inURL    = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s"']+@`)
	inQuery  = regexp.MustCompile(`([?&][A-Za-z0-9_.-]+=)[^&\s"'<>]+`)
	inHeader = regexp.MustCompile(`(?i)\b(authorization|cookie|set-cookie|x-api-key)("?\s*[:=]\s*).*`)
	inPair   = regexp.MustCompile(`(?i)([A-Za-z0-9_.-]*(?:passw|passphrase|pwd|psk|secret|token|api_?key|credential|private_?key)[A-Za-z0-9_.-]*\\*["']?\s*(?:=>|[:=])\s*)(\\+"[^"]*"|"(?:[^"\\]|\\.)*"|'[^']*'|\S+)`)
	inFlag   = regexp.MustCompile(`(?i)(--?[a-z0-9-]*(?:passw|passphrase|pwd|secret|token|api-?key)[a-z0-9-]*\s+)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s-]\S*)`)
	inBearer = regexp.MustCompile(`(?i)\b(bearer\s+)[A-Za-z0-9+/=._~-]+`)
	inPEM    = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`)
)

// inJSON are the texts of a JSON document; those before a colon are names.
var inJSON = regexp.MustCompile(`"(?:[^"\\]|\\.)*"(\s*:)?`)

// document is known for JSON, which stays JSON: a figure may look like a secret.
func (s scrubber) document(text string) string {
	return inJSON.ReplaceAllStringFunc(text, func(literal string) string {
		var plain string
		if strings.HasSuffix(literal, ":") || json.Unmarshal([]byte(literal), &plain) != nil {
			return literal
		}
		clean := s.known(plain)
		out, err := json.Marshal(clean)
		if clean == plain || err != nil {
			return literal
		}
		return string(out)
	})
}

// known takes known secrets out, those in URLs, and keys.
func (s scrubber) known(text string) string {
	text = inPEM.ReplaceAllString(text, mask)
	text = s.replace.Replace(text)
	return inURL.ReplaceAllString(text, "${1}"+mask+"@")
}

// free is known for a text that anything may have been written into.
func (s scrubber) free(text string) string {
	text = s.known(text)
	text = inHeader.ReplaceAllString(text, "${1}${2}"+mask)
	text = inPair.ReplaceAllString(text, "${1}"+mask)
	text = inFlag.ReplaceAllString(text, "${1}"+mask)
	text = inBearer.ReplaceAllString(text, "${1}"+mask)
	return inQuery.ReplaceAllString(text, "${1}"+mask)
}

// harmlessKeys are keys of a configuration whose values are no secrets, whatever else
// is wrong with the file.
var harmlessKeys = strings.Fields(`node site asn router_id state_dir control metrics address addresses ca cert key name interface capacity period local_address kind
	hold_time families multihop bind_device link return prefixes vips communities neighbors require interval timeout rise fall scope drain mode target grace leave_hold port
	password_file ca_file method listen data http domain`)

// secretsOf are all values of a file that cannot be used, but those of harmless keys.
func secretsOf(text []byte) []string {
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil {
		return nil
	}
	var out []string
	var visit func(n *yaml.Node, harmless bool)
	visit = func(n *yaml.Node, harmless bool) {
		switch n.Kind {
		case yaml.ScalarNode:
			if !harmless {
				r := &redactor{}
				r.url(n.Value)
				out = append(append(out, r.secrets...), n.Value)
			}
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				visit(n.Content[i+1], slices.Contains(harmlessKeys, n.Content[i].Value))
			}
		default: // an alias leads to what is visited where it stands
			for _, child := range n.Content {
				visit(child, harmless)
			}
		}
	}
	visit(&root, false)
	return out
}
