package importer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/catchment-bgp/catchment/community/registry"
)

// finish makes entries of the drafts.
func (d *document) finish() Result {
	out := Result{Problems: d.problems}
	if len(d.drafts) > 0 {
		out.Entries = make([]registry.Entry, 0, len(d.drafts))
	}
	known := map[string]int{} // the entry of a pattern and meaning
	same := map[string]int{}  // the entry that does the same by another spelling
	byPattern := map[string]int{}
	of := d.legendsOf()
	d.headings = headings(d.drafts)
	d.serves = slices.ContainsFunc(d.drafts, func(e draft) bool {
		left, ok := leftOf(e.pattern)
		_, open := placeholder(e.pattern)
		return ok && left == 0 && open // 0:peer-as is how route servers are told
	})
	for k := range d.drafts {
		e := d.entry(&d.drafts[k], of[k])
		text := e.Pattern.String()
		if at, ok := byPattern[text]; ok && d.drafts[k].property != "" {
			// A second table says one thing more of a value that is defined.
			out.Entries[at].Meaning += "; " + e.Meaning
			continue
		}
		key := text + "\x00" + registry.Plain(e.Meaning)
		if _, ok := known[key]; ok {
			continue
		}
		does := doesWhat(e)
		if at, ok := same[does]; ok && does != "" && out.Entries[at].Pattern.String() != text {
			continue
		}
		known[key], byPattern[text] = len(out.Entries), len(out.Entries)
		if does != "" {
			same[does] = len(out.Entries)
		}
		out.Entries = append(out.Entries, e)
	}
	if d.owner == 0 && len(out.Entries) > 0 && needsOwner(out.Entries) {
		out.Problems = append(out.Problems, registry.Problem{File: d.file, Line: out.Entries[0].Source.Line, Text: out.Entries[0].Pattern.String(),
			Reason: "the text does not say which AS documents this; name the owner"})
	}
	slices.SortStableFunc(out.Problems, func(a, b registry.Problem) int { return cmp.Compare(a.Line, b.Line) })
	return out
}

// codeTargets are the variables whose digits legends explain to be an AS, or a region.
func (d *document) codeTargets(legends []registry.Legend) []registry.Target {
	var out []registry.Target
	for _, l := range legends {
		words := d.words.read(l.Meaning)
		kind := registry.TargetKind("")
		for i := range words {
			if n, ok := asnAt(l.Meaning, words, i); ok && n != d.owner {
				kind = registry.AS
			} else if kind == "" && words[i].has(fRegion) {
				kind = registry.Region
			}
		}
		if t := (registry.Target{Kind: kind, Var: l.Var}); kind != "" && l.Action == nil && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// needsOwner reports whether there is more than what RFCs define for everybody.
func needsOwner(entries []registry.Entry) bool {
	return slices.ContainsFunc(entries, func(e registry.Entry) bool {
		left, ok := leftOf(e.Pattern)
		return e.Owner == 0 && (!ok || left != 65535)
	})
}

// doesWhat is the same for entries with placeholders that differ in their names only; ""
// where the document does not say enough.
func doesWhat(e registry.Entry) string {
	if e.Action == nil || len(e.Targets) != 1 || e.Targets[0].Var == "" {
		return ""
	}
	names := e.Pattern.Names()
	parts := strings.Split(e.Pattern.String(), ":")
	for i, p := range parts {
		if slices.Contains(names, p) {
			parts[i] = "*"
		}
	}
	number := ""
	if e.Action.Number != nil {
		number = string(rune('0' + *e.Action.Number%0xD000))
	}
	return strings.Join(append(parts, string(e.Action.Verb), number, e.Action.Var), ":")
}

// entry makes one entry.
func (d *document) entry(e *draft, legends []registry.Legend) registry.Entry {
	owner := cmp.Or(e.owner, d.owner)
	meaning := e.meaning
	if e.property != "" {
		meaning = e.property + " " + meaning
	}
	if e.parent != "" {
		meaning = e.parent + ": " + meaning
	}
	if e.qualifier != "" {
		meaning += ", " + e.qualifier
	}
	sc := scope{names: e.pattern.Names(), owner: owner, everybody: d.serves}
	words := d.words.read(meaning)
	out := registry.Entry{Pattern: e.pattern, Meaning: meaning, Lang: languageOf(words), Owner: owner, Confidence: e.sure,
		Source: registry.Source{File: d.file, Line: d.lines[e.at].no, Date: d.date}}
	kind, sure := kindOf(words, e.column, e.section)
	legends = unrepeatedLegends(d.bracketLegends(meaning, sc.names), legends)
	if kind == registry.KindUnknown {
		kind = d.legendKind(legends, e.pattern.Names())
	}
	out.Kind, out.Legends = kind, legends
	inherited := false
	if kind == registry.KindAction {
		out.Action = d.action(words, sc, legends)
		if out.Action == nil && len(legends) == 0 {
			out.Action = actionOf(d.words.read(e.section.text), scope{owner: sc.owner})
			inherited = out.Action != nil
		}
	}
	out.Targets = targetsOf(words, meaning, e.pattern, sc)
	if len(out.Targets) == 0 {
		out.Targets = d.codeTargets(legends)
	}
	if len(out.Targets) == 0 && kind == registry.KindAction && aims(d.words.read(e.section.text)) {
		out.Targets = targetsOf(d.words.read(e.section.text), e.section.text, e.pattern, sc)
		inherited = inherited || len(out.Targets) > 0
	}
	if out.Action != nil {
		if isRelative(words, meaning) && out.Action.Verb != registry.Prepend {
			out.Action.Number, out.Action.Var = nil, ""
		}
		said := meaning
		if inherited {
			said = e.section.text + ": " + meaning
		}
		out.Targets = d.narrowed(out.Targets, said, out.Action, sc)
		if len(out.Targets) == 0 && !inherited && d.headed(e, sc) {
			said, inherited = e.section.text+": "+meaning, true
			out.Targets = d.narrowed(targetsOf(d.words.read(said), said, e.pattern, sc), said, out.Action, sc)
		}
	}
	if inherited && !strings.Contains(meaning, e.section.text) {
		// What the heading says belongs to the meaning.
		out.Meaning = e.section.text + ": " + meaning
	}
	if hasFlag(words, fPast) {
		sure *= surePast
	}
	out.Confidence = float64(int(out.Confidence*sure*1000+0.5)) / 1000
	return out
}

// aims reports whether a heading says towards whom: "Towards transit providers", "Do not
// announce to:".
func aims(words []word) bool {
	return len(words) > 0 && (words[0].has(fTo) && len(words) > 1 || cue(words) == registry.KindAction && hasFlag(words[1:], fTo)) && !hasFlag(words, hInfo|fLearn)
}

// action is what the words ask for, or else the legend.
func (d *document) action(words []word, sc scope, legends []registry.Legend) *registry.Action {
	a := actionOf(words, sc)
	if a != nil && (!a.Verb.Numbered() || a.Number != nil || a.Var != "") {
		return a
	}
	for _, l := range legends {
		if l.Action == nil || l.Action.Var == "" || a != nil && l.Action.Verb != a.Verb {
			continue
		}
		return &registry.Action{Verb: l.Action.Verb, Var: l.Var}
	}
	for _, lg := range d.legends {
		about := actionOf(d.words.read(lg.about), scope{names: []string{lg.name}, owner: d.owner})
		if about != nil && about.Verb.Numbered() && slices.Contains(sc.names, lg.name) && lg.owner == sc.owner && (a == nil || a.Verb == about.Verb) {
			return &registry.Action{Verb: about.Verb, Var: lg.name}
		}
	}
	return a
}

// unrepeatedLegends are both without what the second says again.
func unrepeatedLegends(a, b []registry.Legend) []registry.Legend {
	out := slices.Clone(a)
	for _, l := range b {
		if len(a) == 0 || !slices.ContainsFunc(a, func(o registry.Legend) bool {
			return o.Var == l.Var && o.Digits == l.Digits && registry.Plain(o.Meaning) == registry.Plain(l.Meaning)
		}) {
			out = append(out, l)
		}
	}
	return out
}

// bracketLegends are what (x=0) in the meaning itself says.
func (d *document) bracketLegends(meaning string, names []string) []registry.Legend {
	var out []registry.Legend
	if !strings.Contains(meaning, "=") {
		return nil
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		items := d.bracketItems(meaning, name)
		if len(items) == 0 {
			items = d.bound(meaning, name)
		}
		out = append(out, items...)
	}
	return out
}

// bound reads "n = 1..3" in a meaning: the digits that a variable may be.
func (d *document) bound(meaning, name string) []registry.Legend {
	for at := 0; at < len(meaning); {
		i := strings.Index(meaning[at:], name)
		if i < 0 {
			return nil
		}
		i += at
		at = i + len(name)
		if i > 0 && !strings.ContainsRune(" (,;", rune(meaning[i-1])) {
			continue
		}
		after, ok := strings.CutPrefix(strings.TrimLeft(meaning[at:], " "), "=")
		if !ok {
			continue
		}
		if digits, _ := cutDigits(strings.TrimSpace(after)); digits != "" {
			before := strings.TrimRight(meaning[:i], " ,;(:-")
			if word, rest := cutWord(before); word == "" || leadIns[strings.ToLower(word)] && rest == "" {
				return d.itemsOf(after, name)
			}
			return []registry.Legend{d.item(name, digits, before)}
		}
	}
	return nil
}

// legendKind is the kind that legends say.
func (d *document) legendKind(legends []registry.Legend, names []string) registry.Kind {
	for _, l := range legends {
		if l.Action != nil {
			return registry.KindAction
		}
	}
	for _, lg := range d.legends {
		if !slices.Contains(names, lg.name) {
			continue
		}
		if kind := cue(d.words.read(lg.about)); kind != "" {
			return kind
		}
		for _, l := range lg.items {
			if kind := cue(d.words.read(l.Meaning)); kind != "" {
				return kind
			}
		}
	}
	return registry.KindUnknown
}

// legendsOf finds for each draft the legends of its variables: the next one below; if the
// document gives legends before the values, the last one above.
func (d *document) legendsOf() [][]registry.Legend {
	out := make([][]registry.Legend, len(d.drafts))
	byName := map[string][]legend{}
	own := map[int][]legend{}
	for _, lg := range d.legends {
		if lg.of >= 0 {
			own[lg.of] = append(own[lg.of], lg)
		} else if len(lg.items) > 0 {
			byName[lg.name] = append(byName[lg.name], lg)
		}
	}
	if len(byName)+len(own) == 0 {
		return out
	}
	first := map[string]int{} // the first line with a variable
	for _, e := range slices.Backward(d.drafts) {
		for _, name := range e.pattern.Names() {
			first[name] = e.at
		}
	}
	for k, e := range d.drafts {
		for _, lg := range own[e.at] {
			if slices.Contains(e.pattern.Names(), lg.name) {
				out[k] = append(out[k], lg.items...)
			}
		}
		if len(own[e.at]) > 0 {
			continue
		}
		names := e.pattern.Names()
		for n, name := range names {
			if slices.Contains(names[:n], name) {
				continue
			}
			if lg := pick(byName[name], e.at, first[name]); lg != nil && (lg.owner == e.owner || e.owner == 0) {
				out[k] = append(out[k], lg.items...)
			}
		}
	}
	return out
}

func pick(legends []legend, at, first int) *legend {
	if len(legends) == 0 {
		return nil
	}
	below, _ := slices.BinarySearchFunc(legends, at, func(lg legend, at int) int { return cmp.Compare(lg.line, at) })
	above := below - 1
	switch {
	case legends[0].line < first && above >= 0:
		return &legends[above]
	case below < len(legends):
		return &legends[below]
	}
	return &legends[len(legends)-1]
}
