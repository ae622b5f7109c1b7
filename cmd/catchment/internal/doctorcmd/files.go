package doctorcmd

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/doctor"
)

// account is whom a daemon runs as.
type account struct {
	name   string
	uid    uint32
	groups []uint32
}

// accountOf looks a user up by name or number; ok is false where there is none.
func accountOf(name string) (account, bool) {
	u, err := user.Lookup(name)
	if err != nil {
		if u, err = user.LookupId(name); err != nil {
			return account{}, false
		}
	}
	a := account{name: u.Username}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return account{}, false
	}
	a.uid = uint32(uid)
	ids, err := u.GroupIds()
	if err != nil {
		ids = []string{u.Gid}
	}
	for _, id := range ids {
		if gid, err := strconv.ParseUint(id, 10, 32); err == nil {
			a.groups = append(a.groups, uint32(gid))
		}
	}
	return a, true
}

// may looks at mode bits alone; want is one of r (4) and w (2).
func (a account) may(info fs.FileInfo, want uint32) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	mode := uint32(info.Mode().Perm())
	switch {
	case a.uid == 0:
		return true
	case st.Uid == a.uid:
		return mode>>6&want != 0
	case slices.Contains(a.groups, st.Gid):
		return mode>>3&want != 0
	}
	return mode&want != 0
}

// lookAt describes a file for those who run as a.
func lookAt(path string, a account) doctor.File {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return doctor.File{}
	case err != nil:
		return doctor.File{Problem: err.Error()}
	}
	return doctor.File{Exists: true, Dir: info.IsDir(), Mode: uint32(info.Mode().Perm()), Readable: a.may(info, 4), Writable: a.may(info, 2)}
}

// unitFolders are where systemd looks for units, the first first (systemd.unit(5)).
var unitFolders = []string{"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"}

// unitText is a unit with its drop-ins; empty: there is none.
func unitText(name string) string {
	text := ""
	for _, dir := range unitFolders {
		if data, err := readLimited(filepath.Join(dir, name)); err == nil {
			text = string(data)
			break
		}
	}
	if text == "" {
		return ""
	}
	for _, dir := range slices.Backward(unitFolders) {
		parts, err := filepath.Glob(filepath.Join(dir, name+".d", "*.conf"))
		if err != nil {
			continue
		}
		for _, part := range parts {
			if data, err := readLimited(part); err == nil {
				text += "\n" + string(data)
			}
		}
	}
	return text
}

// userOf is whom a unit runs its program as, or the usual one.
func userOf(unit, usual string) string {
	if unit == "" {
		return usual
	}
	return doctor.UnitUser(unit)
}

// certs describes the first certificate of each file.
func certs(now time.Time, files ...string) map[string]doctor.Cert {
	out := map[string]doctor.Cert{}
	for _, file := range files {
		all, err := identity.Show(file, now)
		switch {
		case err != nil:
			out[file] = doctor.Cert{Problem: err.Error()}
		case len(all) == 0:
			out[file] = doctor.Cert{Problem: "it holds no certificate"}
		default:
			k := all[0]
			out[file] = doctor.Cert{Name: k.Name, CA: k.CA, Hosts: k.Hosts, NotAfter: k.NotAfter, Problem: k.Problem}
		}
	}
	return out
}
