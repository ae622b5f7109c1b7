package runner

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/catchment-bgp/catchment/lab/clab"
	"github.com/catchment-bgp/catchment/lab/images"
)

// BaseDir holds one folder for each lab: a lock and the logs of its nodes.
const BaseDir = "/run/catchment-labs"

// The labels of a node: variables in the environment of all its processes.
const (
	labelLab  = "CATCHMENT_LAB"
	labelNode = "CATCHMENT_LAB_NODE"
	labelRole = "CATCHMENT_LAB_ROLE"
	labelFile = "CATCHMENT_LAB_FILE"
)

// spec is what the first process of a node is told.
type spec struct {
	Node    string
	Scripts map[string]string // by name, below images.Dir
	Binds   []clab.Bind
	Sysctls map[string]string
	Env     []string // KEY=value, sorted
	Cmd     []string
	// Programs is a folder whose programs come first in the node's PATH; empty for none.
	Programs string
}

func specOf(t *clab.Topology, n clab.Node, programs string) (spec, error) {
	scripts, err := images.Scripts(n.Role())
	if err != nil {
		return spec{}, fmt.Errorf("%s:%d: node %s: image %s: %w", t.File, n.Line, n.Name, n.Image, err)
	}
	s := spec{Node: n.Name, Scripts: scripts, Binds: n.Binds, Sysctls: n.Sysctls, Cmd: n.Cmd, Programs: programs}
	env := map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "HOSTNAME": n.Name, "TERM": "dumb",
		// Containerlab sets these two for the start scripts of its images.
		"CLAB_INTFS": strconv.Itoa(len(t.Interfaces(n.Name))), "CLAB_LABEL_CLAB_NODE_NAME": n.Name,
	}
	if programs != "" {
		env["PATH"] = programsDir + ":" + env["PATH"]
	}
	maps.Copy(env, n.Env)
	maps.Copy(env, map[string]string{labelLab: t.Name, labelNode: n.Name, labelRole: n.Role(), labelFile: t.File})
	for _, key := range slices.Sorted(maps.Keys(env)) {
		s.Env = append(s.Env, key+"="+env[key])
	}
	return s, nil
}

func (s spec) write(w io.Writer) error { return json.NewEncoder(w).Encode(s) }

func readSpec(r io.Reader) (s spec, err error) {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	return s, d.Decode(&s)
}

func labDir(lab string) string { return filepath.Join(BaseDir, lab) }

// LogFile is where the processes of a node write their stdout and stderr.
func LogFile(lab, node string) string { return filepath.Join(labDir(lab), node+".log") }
