package packages

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

// rpmIn has the machine's rpm change the root, whose packages it does not know: so no dependencies.
func rpmIn(t *testing.T, m *machine, words ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	words = append([]string{"rpm", "--root", m.root, "--dbpath", "/var/lib/rpm", "--nodeps",
		"--define", "_install_script_path /usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"}, words...)
	out, err := command(ctx, nil, words...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, out)
	}
	return out
}

func TestScriptsMeanTheSameToRPM(t *testing.T) {
	m := newMachine(t)
	rpmIn(t, m, "-i", rpm(t, older, "catchment"), rpm(t, older, "catchment-central"))
	said := rpmIn(t, m, "-i", rpm(t, older, "catchment-edge"))
	has(t, said, "set three values in "+confFile)
	for file, want := range map[string]string{
		"/etc/catchment": "catchment:catchment 750", confFile: "catchment:catchment 640", centralFile: "root:catchment-central 640",
	} {
		if got := m.owner(file); got != want {
			t.Errorf("%s is %s, want %s", file, got, want)
		}
	}
	m.asked()
	// The edge of the unit runs, and nobody answers for it: it is left alone.
	m.run("sh", "-c", "setsid sleep 300 >/dev/null 2>&1 </dev/null & echo $! >/run/catchment-edge.pid")
	t.Cleanup(func() { _, _ = m.try("sh", "-c", "kill $(cat /run/catchment-edge.pid)") }) // it may have ended
	m.edit(confFile, "router_id: &local #", "router_id: &local 10.77.1.1 #")
	m.edit(confFile, "address: #", "address: 10.77.1.2 #")
	m.edit(confFile, "prefixes: [] #", "prefixes: [198.51.100.0/24] #")
	said = rpmIn(t, m, "-U", rpm(t, newer, "catchment"), rpm(t, newer, "catchment-edge"))
	has(t, said, "not restarted: it is not known what it announces")
	if asked := m.asked(); !slices.Equal(asked, []string{"daemon-reload [catchment catchment-central catchment-edge]"}) {
		t.Errorf("an upgrade asked systemctl %q", asked)
	}
	has(t, m.read(confFile), "198.51.100.0/24") // noreplace
	rpmIn(t, m, "-e", "catchment-edge")
	want := []string{"disable --now catchment-edge [catchment catchment-central catchment-edge]", "daemon-reload [catchment catchment-central]"}
	if asked := m.asked(); !slices.Equal(asked, want) {
		t.Errorf("a removal asked systemctl %q, want %q", asked, want)
	}
	if m.exists("/usr/bin/catchment-edge") || !m.exists(confFile+".rpmsave") {
		t.Error("after the removal: the program is there, or the changed configuration is not kept")
	}
}

func TestRPMsHoldWhatDebsDo(t *testing.T) {
	elsewhere := strings.NewReplacer( // rpm's places
		"/usr/share/zsh/site-functions/", "/usr/share/zsh/vendor-completions/",
		"/usr/share/licenses/catchment-edge/LICENSE", "/usr/share/doc/catchment-edge/copyright",
		"/usr/share/licenses/catchment-central/LICENSE", "/usr/share/doc/catchment-central/copyright",
		"/usr/share/licenses/catchment/LICENSE", "/usr/share/doc/catchment/copyright",
	)
	configs := map[string][]string{"catchment-edge": {confFile}, "catchment-central": {centralFile}}
	for _, program := range programs {
		got := map[string]string{}
		for line := range strings.Lines(say(t, "rpm", "-qp", "--qf", "[%{FILEMODES:perms} %{FILEUSERNAME}/%{FILEGROUPNAME} %{FILENAMES}\n]", rpm(t, older, program))) {
			f := strings.Fields(line)
			got[elsewhere.Replace(f[2])] = f[0] + " " + f[1]
		}
		for name, e := range debFiles(t, program) {
			if e.dir && got[name] == "" || strings.HasPrefix(name, "/etc/needrestart") { // a folder of others; Debian's own
				continue
			}
			if want := e.perms + " root/root"; got[name] != want {
				t.Errorf("%s: %s is %q, want %q", program, name, got[name], want)
			}
			delete(got, name)
		}
		if len(got) > 0 {
			t.Errorf("%s: only the rpm has %v", program, got)
		}
		if got, want := strings.Fields(say(t, "rpm", "-qpc", rpm(t, older, program))), configs[program]; !slices.Equal(got, want) {
			t.Errorf("%s: the configurations are %q, want %q", program, got, want)
		}
		if scripts := say(t, "rpm", "-qp", "--scripts", rpm(t, older, program)); (program == "catchment") != (scripts == "") {
			t.Errorf("%s: scripts %q", program, scripts)
		}
	}
}
