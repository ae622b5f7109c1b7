package maintenance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Selector says what a window is for. An entry is a name, or KEY=VALUE for all that
// have this label. Nodes and Sites together say where, Neighbors at which
// neighbours, Services which services; a list that is empty says nothing. A
// selector with no entry at all selects nothing, and is an error.
type Selector struct {
	Nodes     []string `json:"nodes,omitempty"`
	Sites     []string `json:"sites,omitempty"` // names only: sites have no labels
	Neighbors []string `json:"neighbors,omitempty"`
	Services  []string `json:"services,omitempty"`
}

// Target is one service at one neighbour of one node: the least that a window can
// be for.
type Target struct {
	Node, Site, Neighbor, Service             string
	NodeLabels, NeighborLabels, ServiceLabels map[string]string
}

// list is one list of a selector.
type list struct {
	what    string // of one entry
	entries []string
	matches func(t Target, entry string) bool
}

func (s Selector) lists() []list {
	return []list{
		{"node", s.Nodes, func(t Target, e string) bool { return matches(e, t.Node, t.NodeLabels) }},
		{"site", s.Sites, func(t Target, e string) bool { return matches(e, t.Site, nil) }},
		{"neighbour", s.Neighbors, func(t Target, e string) bool { return matches(e, t.Neighbor, t.NeighborLabels) }},
		{"service", s.Services, func(t Target, e string) bool { return matches(e, t.Service, t.ServiceLabels) }},
	}
}

func matches(entry, name string, labels map[string]string) bool {
	if entry == "" {
		return false
	}
	key, value, labelled := strings.Cut(entry, "=")
	if !labelled {
		return entry == name
	}
	have, found := labels[key]
	return found && have == value
}

// Validate returns what is wrong with the selector by itself.
func (s Selector) Validate() error {
	var errs []error
	entries := 0
	for _, l := range s.lists() {
		entries += len(l.entries)
		for _, e := range l.entries {
			key, _, labelled := strings.Cut(e, "=")
			switch {
			case e == "" || e != strings.TrimSpace(e):
				errs = append(errs, fmt.Errorf("%s %q: empty, or with blanks around it; write a name or KEY=VALUE", l.what, e))
			case e == "*":
				errs = append(errs, fmt.Errorf("%s *: there is no entry for all; write the names", l.what))
			case labelled && (key == "" || l.what == "site"):
				errs = append(errs, fmt.Errorf("%s %q: no label; write KEY=VALUE for nodes, neighbours and services, a name for sites", l.what, e))
			}
		}
	}
	if entries == 0 {
		errs = append(errs, errors.New("the window is for nothing; name nodes, sites, neighbours or services"))
	}
	return errors.Join(errs...)
}

// Matches reports whether the window is for t.
func (s Selector) Matches(t Target) bool {
	hit, entries := map[string]bool{}, 0
	for _, l := range s.lists() {
		entries += len(l.entries)
		hit[l.what] = slices.ContainsFunc(l.entries, func(e string) bool { return l.matches(t, e) })
	}
	where := len(s.Nodes)+len(s.Sites) == 0 || hit["node"] || hit["site"]
	return entries > 0 && where &&
		(len(s.Neighbors) == 0 || hit["neighbour"]) && (len(s.Services) == 0 || hit["service"])
}

// Check holds the selector against all targets that there are. An entry that
// selects none of them is an error, and so is a selector whose lists together
// select none.
func (s Selector) Check(all []Target) error {
	if err := s.Validate(); err != nil {
		return err
	}
	var errs []error
	for _, l := range s.lists() {
		for _, e := range l.entries {
			if !slices.ContainsFunc(all, func(t Target) bool { return l.matches(t, e) }) {
				errs = append(errs, fmt.Errorf("%s %q: there is none", l.what, e))
			}
		}
	}
	if len(errs) == 0 && !slices.ContainsFunc(all, s.Matches) {
		errs = append(errs, errors.New("each entry is there, but nothing is all of it at once"))
	}
	return errors.Join(errs...)
}
