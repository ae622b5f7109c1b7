package registry

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/community"
)

// Kind says what a community is for.
type Kind string

// The kinds.
const (
	KindInfo    Kind = "info"    // it tells where a route came from
	KindAction  Kind = "action"  // it asks the network that documents it to do something
	KindUnknown Kind = "unknown" // the document does not say
)

// Verb is what a network does for an action community.
type Verb string

// The verbs.
const (
	Prepend          Verb = "prepend"           // prepend the AS, a number of times
	NoExport         Verb = "no-export"         // do not announce to the target
	Announce         Verb = "announce"          // announce to the target, whatever else says not to
	AnnounceOnly     Verb = "announce-only"     // announce to the target and to nobody else
	LocalPref        Verb = "local-pref"        // set LOCAL_PREF inside the network
	MED              Verb = "med"               // set MULTI_EXIT_DISC towards the target
	Blackhole        Verb = "blackhole"         // RFC 7999
	GracefulShutdown Verb = "graceful-shutdown" // RFC 8326
	NoAdvertise      Verb = "no-advertise"      // keep the route at the router that gets it
	Other            Verb = "other"             // something else, as the meaning says
)

// Numbered reports whether a verb has a number: of times, or a value to set.
func (v Verb) Numbered() bool { return v == Prepend || v == LocalPref || v == MED }

// Action is what a network does for a community.
type Action struct {
	Verb Verb `json:"verb"`
	// Number is how many times, or the value to set; nil: not given, or Var.
	Number *uint32 `json:"number,omitempty"`
	// Var is the variable of the pattern that is the number.
	Var string `json:"var,omitempty"`
}

// TargetKind says whom an action is for, or where a route is from.
type TargetKind string

// The kinds of targets.
const (
	AS        TargetKind = "as"
	Region    TargetKind = "region"
	Exchange  TargetKind = "exchange"
	Peers     TargetKind = "peers"
	Transits  TargetKind = "transits"
	Customers TargetKind = "customers"
	All       TargetKind = "all"
	// Named is whom a text names or describes in words that are none of the above.
	Named TargetKind = "named"
)

// Target is whom an action is for. One of ASN, Name and Var says which of its kind, if
// not all.
type Target struct {
	Kind TargetKind `json:"kind"`
	ASN  uint32     `json:"asn,omitempty"`
	Name string     `json:"name,omitempty"` // of a region or an exchange, or the text about an AS
	Var  string     `json:"var,omitempty"`  // the variable of the pattern that is the ASN or the code
}

// Legend is what some digits mean in place of a variable.
type Legend struct {
	Var     string  `json:"var"`
	Digits  string  `json:"digits"`           // a number or a range: 9, 1-3; "": any
	Meaning string  `json:"meaning"`          // *: the digits themselves
	Action  *Action `json:"action,omitempty"` // where these digits make it another one
}

// String is VARIABLE=DIGITS: MEANING, without the digits if it is any.
func (l Legend) String() string {
	meaning := strings.Join(strings.Fields(l.Meaning), " ")
	if l.Digits == "" {
		return l.Var + ": " + meaning
	}
	return l.Var + "=" + l.Digits + ": " + meaning
}

// Tells reports whether the entry's own meaning says what a legend of it does, or the
// digits say it themselves.
func (e *Entry) Tells(l Legend) bool {
	return l.Meaning == "*" || strings.Contains(Plain(e.Meaning), Plain(l.Meaning))
}

// Source is where an entry stands.
type Source struct {
	File string    // a path, an address or the name of a standard
	Line int       // from 1 on; 0: none
	Date time.Time // of the document, if it has one
}

// Entry is one documented community, or many by one pattern.
type Entry struct {
	Pattern community.Pattern
	// Name is what the document calls it, where it has names beside meanings.
	Name    string
	Kind    Kind
	Action  *Action // only with KindAction; nil if the text names none that we know
	Targets []Target
	Legends []Legend
	Meaning string
	// Lang is the language of the meaning (BCP 47), if known.
	Lang string
	// Owner is the AS that documents it, which may not be the number on the left; 0:
	// everybody's, as an RFC says.
	Owner  uint32
	Source Source
	// Confidence is from 0 to 1: how surely the document was understood.
	Confidence float64
}

// entryJSON is the form that commands print.
type entryJSON struct {
	Pattern    string   `json:"pattern"`
	Name       string   `json:"name,omitempty"`
	Type       string   `json:"type"`
	Kind       Kind     `json:"kind"`
	Action     *Action  `json:"action"`
	Targets    []Target `json:"targets"`
	Legends    []Legend `json:"legends"`
	Meaning    string   `json:"meaning"`
	Lang       string   `json:"lang,omitempty"`
	Owner      uint32   `json:"owner"`
	File       string   `json:"file"`
	Line       int      `json:"line"`
	Date       string   `json:"date,omitempty"`
	Confidence float64  `json:"confidence"`
}

// typeNames are the kinds of communities in JSON.
var typeNames = map[community.Kind]string{community.Standard: "std", community.Extended: "ext", community.Large: "large"}

// MarshalJSON writes the entry with pattern, name, type (std, ext or large), kind, action,
// targets, legends, meaning, lang, owner, file, line, date and confidence.
func (e Entry) MarshalJSON() ([]byte, error) {
	j := entryJSON{Pattern: e.Pattern.String(), Name: e.Name, Type: typeNames[e.Pattern.Kind()], Kind: e.Kind, Action: e.Action, Targets: e.Targets,
		Legends: e.Legends, Meaning: e.Meaning, Lang: e.Lang, Owner: e.Owner, File: e.Source.File, Line: e.Source.Line, Confidence: e.Confidence}
	if j.Targets == nil {
		j.Targets = []Target{}
	}
	if j.Legends == nil {
		j.Legends = []Legend{}
	}
	if !e.Source.Date.IsZero() {
		j.Date = e.Source.Date.UTC().Format(time.RFC3339)
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON writes. On an error e is unchanged.
func (e *Entry) UnmarshalJSON(text []byte) error {
	var j entryJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	p, err := community.ParsePattern(j.Pattern)
	if err != nil {
		return err
	}
	if name := typeNames[p.Kind()]; j.Type != name {
		return fmt.Errorf("pattern %s is of type %s, not %q", p, name, j.Type)
	}
	out := Entry{Pattern: p, Name: j.Name, Kind: cmp.Or(j.Kind, KindUnknown), Action: j.Action, Targets: j.Targets, Legends: j.Legends, Meaning: j.Meaning,
		Lang: j.Lang, Owner: j.Owner, Source: Source{File: j.File, Line: j.Line}, Confidence: j.Confidence}
	if j.Date != "" {
		if out.Source.Date, err = time.Parse(time.RFC3339, j.Date); err != nil {
			return err
		}
	}
	*e = out
	return nil
}

// Problem is a piece of a document that was not understood.
type Problem struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Text   string `json:"text"`
	Reason string `json:"reason"`
}

// String is FILE:LINE: REASON: TEXT.
func (p Problem) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", p.File, p.Line, p.Reason, p.Text)
}

// Use is a community that a document uses without saying what it means, as import and
// export lines do, or that a route carries.
type Use struct {
	Pattern community.Pattern
	Source  Source
}
