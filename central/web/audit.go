package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

const (
	// auditPage is how many records one page has.
	auditPage = 50
	// maxChanges and maxDepth bound what is shown of one record.
	maxChanges = 200
	maxDepth   = 12
)

// auditView is what the page of the audit log shows.
type auditView struct {
	Who, Target  string
	Before       uint64
	Records      []recordView
	Older, First string // addresses; empty: there are none
	VerifyHref   string
	Verified     *verifiedView
}

// recordView is one record.
type recordView struct {
	Number                uint64
	At                    time.Time
	Who, Role, Method     string
	Target, Href          string // Href: the page of what it is about; empty: none
	Outcome               string
	Tone                  tone
	Reason, Ticket        string
	Detail, Hash, WhoHref string
	Changes               []changeView
	Same, More            int // values that stayed; changes that are not shown
}

// changeView is one value that a change has changed.
type changeView struct{ Path, Before, After string }

// verifiedView is what a check of the chain has found.
type verifiedView struct {
	OK    bool
	Words []string
	Head  string
}

// outcomeTones are those of a record's outcomes.
var outcomeTones = map[string]tone{"done": calm, "refused": warm, "denied": hot}

// ofNodes are the methods whose target is a node, or NODE/SERVICE.
var ofNodes = []string{"TagNode", "UntagNode", "SetNode", "CreateJoinToken", "RevokeGrant", "Join", "grant", "return", "recall", "reserve"}

// pageOf is the page of what a record is about; empty: there is none.
func pageOf(method, target, outcome string) string {
	switch name, _, _ := strings.Cut(target, "/"); {
	case name == "" || outcome == "denied" || method == "RevokeGrant" && outcome != "done":
		return "" // it may be anything
	case slices.Contains(ofNodes, method):
		return toNode(name).Href
	case method == "AddWindow" && outcome != "done":
		return "" // none was made
	case strings.HasSuffix(method, "Window") || method == "ImportWindows" && outcome == "done":
		return toWindow(target)
	}
	return ""
}

// recordOf makes the view of a record.
func recordOf(r *centralv1.AuditRecord) recordView {
	v := recordView{Number: r.GetNumber(), At: moment(r.GetAt()), Who: r.GetWho(), Role: r.GetRole(), Method: r.GetMethod(), Target: r.GetTarget(),
		Outcome: r.GetOutcome(), Tone: outcomeTones[r.GetOutcome()], Reason: r.GetReason(), Ticket: r.GetTicket(), Detail: r.GetDetail(), Hash: r.GetHash()}
	v.WhoHref = auditAddress(r.GetWho(), "", 0)
	v.Href = pageOf(v.Method, v.Target, v.Outcome)
	v.Changes, v.Same = changesOf(r.GetBefore(), r.GetAfter())
	if len(v.Changes) > maxChanges {
		v.More = len(v.Changes) - maxChanges
		v.Changes = v.Changes[:maxChanges]
	}
	return v
}

// changesOf are the values in which two texts of JSON differ, by path, and how many are
// the same in both. What is no JSON is one value.
func changesOf(before, after string) (changes []changeView, same int) {
	a, b := flat(before), flat(after)
	var paths []string
	for p := range a {
		paths = append(paths, p)
	}
	for p := range b {
		if _, both := a[p]; !both {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	for _, p := range paths {
		if a[p] == b[p] {
			same++
			continue
		}
		changes = append(changes, changeView{p, a[p], b[p]})
	}
	return changes, same
}

// flat is a text of JSON as values by their paths.
func flat(text string) map[string]string {
	out := map[string]string{}
	if text == "" {
		return out
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // an id of 64 bits stays what it is
	var v any
	if err := d.Decode(&v); err != nil {
		out["value"] = text
		return out
	}
	flatten(out, "", v, 0)
	return out
}

func flatten(out map[string]string, path string, v any, depth int) {
	under := func(name string) string {
		if path == "" {
			return name
		}
		return path + " › " + name
	}
	switch v := v.(type) {
	case map[string]any:
		if depth < maxDepth {
			for name, inner := range v {
				flatten(out, under(name), inner, depth+1)
			}
			return
		}
	case []any:
		if depth < maxDepth {
			for i, inner := range v {
				flatten(out, under(strconv.Itoa(i+1)), inner, depth+1)
			}
			return
		}
	case string:
		out[cmp.Or(path, "value")] = v
		return
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return // it was decoded just now
	}
	out[cmp.Or(path, "value")] = string(raw)
}

// verifiedOf puts the result of a check in words.
func verifiedOf(m *centralv1.VerifyAuditResponse) *verifiedView {
	v := &verifiedView{OK: m.GetOk(), Head: m.GetHeadHash()}
	if !m.GetOk() {
		v.Words = append(v.Words, fmt.Sprintf("The audit log is not what was written: record %d: %s", m.GetBrokenAt(), m.GetDetail()))
		return v
	}
	v.Words = append(v.Words, plural(int(m.GetRecords()), "record", "records")+", each as it was written.")
	if m.GetPrunedHash() != "" {
		v.Words = append(v.Words, fmt.Sprintf("Records 1 to %d were pruned on %s; the last of them had the hash %s.", m.GetPruned(), minuteOf(moment(m.GetPrunedAt())), m.GetPrunedHash()))
	}
	if m.GetHeadHash() != "" {
		v.Words = append(v.Words, fmt.Sprintf("The last is %d. Note its hash elsewhere: with it, a log that was written anew is told apart.", m.GetPruned()+m.GetRecords()))
	}
	return v
}

// auditAddress is the address of a page of the log.
func auditAddress(who, target string, before uint64) string {
	q := url.Values{}
	for name, value := range map[string]string{"who": who, "target": target} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if before > 0 {
		q.Set("before", strconv.FormatUint(before, 10))
	}
	if len(q) == 0 {
		return "/audit"
	}
	return "/audit?" + q.Encode()
}

func (s *Site) audit(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	v := auditView{Who: strings.TrimSpace(q.Get("who")), Target: strings.TrimSpace(q.Get("target"))}
	if text := q.Get("before"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			s.fail(w, r, http.StatusUnprocessableEntity, "The number of a record is needed behind before=, not "+text+".")
			return
		}
		v.Before = n
		v.First = auditAddress(v.Who, v.Target, 0)
	}
	m, err := s.cfg.Fleet.ListAudit(r.Context(), &centralv1.ListAuditRequest{Limit: auditPage, Who: v.Who, Target: v.Target, Before: v.Before})
	if err != nil {
		s.failed(w, r, err)
		return
	}
	for _, rec := range m.GetRecords() {
		v.Records = append(v.Records, recordOf(rec))
	}
	if n := len(m.GetRecords()); n >= auditPage {
		v.Older = auditAddress(v.Who, v.Target, m.GetRecords()[n-1].GetNumber())
	}
	if q.Get("verify") != "" {
		checked, err := s.cfg.Fleet.VerifyAudit(r.Context(), &centralv1.VerifyAuditRequest{})
		if err != nil {
			s.failed(w, r, err)
			return
		}
		v.Verified = verifiedOf(checked)
	}
	s.show(w, r, http.StatusOK, "audit", layout{Title: "Audit", Section: "audit", Body: v})
}
