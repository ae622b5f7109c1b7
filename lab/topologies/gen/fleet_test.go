package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/community/importer"
	"github.com/catchment-bgp/catchment/community/registry"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/lab/clab"
)

// etc is where nodes have their files.
const etc = "/etc/catchment"

// edges calls f with each node of a topology that announces, its configuration, and what it sees of the topology's files.
func edges(t *testing.T, topology string, f func(node string, c *config.Config, see func(path string) ([]byte, error))) {
	t.Helper()
	lab, err := clab.Load(filepath.Join(topologies, topology+".clab.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range lab.Nodes {
		if n.Role() != "catchment-edge" {
			continue
		}
		see := func(path string) ([]byte, error) {
			for _, b := range n.Binds {
				if b.Target == path {
					return os.ReadFile(b.Source)
				}
			}
			return nil, fs.ErrNotExist
		}
		text, err := see(etc + "/edge.yaml")
		if err != nil {
			t.Fatalf("%s: %v", n.Name, err)
		}
		c, warnings, err := config.Parse(n.Name, text, config.Options{Dir: etc, ReadFile: see})
		if err != nil || len(warnings) > 0 {
			t.Fatalf("%s of %s: %v %v", n.Name, topology, err, warnings)
		}
		f(n.Name, c, see)
	}
}

func TestEachNodeOfTheFleetHasATagWhoseMeaningIsDocumented(t *testing.T) {
	count := 0
	edges(t, "fleet", func(node string, c *config.Config, see func(string) ([]byte, error)) {
		count++
		document, err := see(etc + "/as57629.txt")
		result, e := importer.Read(bytes.NewReader(document), "as57629.txt", "", importer.Options{})
		if err = errors.Join(err, e); err != nil || len(result.Problems) > 0 {
			t.Fatalf("%s: %v %v", node, err, result.Problems)
		}
		tags := c.Services[0].Communities
		if len(tags) != 1 {
			t.Fatalf("%s has the tags %v", node, tags)
		}
		meanings := registry.New(result.Entries...).Explain(tags[0])
		if len(meanings) != 1 || !strings.Contains(meanings[0].Meaning, node) || meanings[0].Action != nil {
			t.Errorf("%s of %s is explained as %+v", tags[0], node, meanings)
		}
	})
	if count != 6 {
		t.Errorf("the fleet has %d edges", count)
	}
}

func TestNodesOfTheCarrierKnowOfEachOther(t *testing.T) {
	for _, topology := range []string{"national", "national-local"} {
		count := 0
		edges(t, topology, func(node string, c *config.Config, _ func(string) ([]byte, error)) {
			count++
			if n := c.Neighbors[0]; len(n.EdgesAtASN) != len(cities) || n.MED.Set {
				t.Errorf("%s of %s: nodes at the AS %v, MED %v", node, topology, n.EdgesAtASN, n.MED)
			}
		})
		if count != len(cities) {
			t.Errorf("%s has %d edges", topology, count)
		}
	}
}

func TestOneFileCannotHoldTwoTexts(t *testing.T) {
	lab := newTopology("two", "")
	n := lab.add("a", bird)
	lab.bind(n, "a.conf", place[bird], "one")
	if lab.bind(n, "a.conf", "/etc/other", "one"); lab.problem != nil {
		t.Errorf("the same text twice: %v", lab.problem)
	}
	if lab.bind(n, "a.conf", "/etc/another", "two"); lab.problem == nil {
		t.Error("two texts for one file are no problem")
	}
}
