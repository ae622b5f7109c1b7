// Package images holds what runs in a lab's nodes: one folder for each image, with
// the script that starts it.
//
// The scripts are the images' ENTRYPOINT (the Dockerfiles lie beside them), and the
// runner without containers runs the very same files. Only texts come out; nothing
// is started here.
package images

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed lib.sh daemon */start
var files embed.FS

// Dir is where a node finds its scripts.
const Dir = "/lab"

// Roles lists the images' names, sorted: "bird", "catchment-edge" and so on.
func Roles() []string {
	paths, _ := fs.Glob(files, "*/start") // only a bad pattern is an error
	roles := make([]string, len(paths))
	for i, p := range paths {
		roles[i] = strings.TrimSuffix(p, "/start")
	}
	slices.Sort(roles)
	return roles
}

// Scripts are the files that a node of this role has in [Dir], by name; all are executable. A role that there is not is an
// error.
func Scripts(role string) (map[string]string, error) {
	start, err := files.ReadFile(role + "/start")
	if err != nil {
		return nil, fmt.Errorf("there is no image %q; there are %s", role, strings.Join(Roles(), ", "))
	}
	scripts := map[string]string{"start": string(start)}
	for _, shared := range []string{"lib.sh", "daemon"} {
		text, err := files.ReadFile(shared)
		if err != nil {
			return nil, err
		}
		scripts[shared] = string(text)
	}
	return scripts, nil
}
