package images

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// instructions are the lines of a Dockerfile, with those that go on joined and
// without comments.
func instructions(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`(?m)^\s*#.*\n`).ReplaceAll(text, nil)
	text = regexp.MustCompile(`\s*\\\n\s*`).ReplaceAll(text, []byte(" "))
	var out []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

func TestEachRoleHasADockerfileThatHoldsWhatTheRunnerGivesANode(t *testing.T) {
	files, err := filepath.Glob("*/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var roles []string
	for _, f := range files {
		roles = append(roles, filepath.Dir(f))
	}
	if !slices.Equal(roles, Roles()) {
		t.Fatalf("Dockerfiles of %v, want of %v", roles, Roles())
	}
	for _, role := range roles {
		lines := instructions(t, filepath.Join(role, "Dockerfile"))
		want := []string{"ARG BASE=debian:bookworm-slim", "FROM ${BASE}", `ENTRYPOINT ["/lab/start"]`}
		copied := "COPY"
		scripts, err := Scripts(role)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"lib.sh", "daemon", "start"} {
			if scripts[name] == "" {
				t.Errorf("%s: there is no %s", role, name)
			}
			path := name
			if name == "start" {
				path = role + "/start"
			}
			copied += " " + path
			if info, err := os.Stat(path); err != nil || info.Mode()&0o111 == 0 && name != "lib.sh" {
				t.Errorf("%s is not executable (%v), and COPY keeps modes", path, err)
			}
		}
		for _, line := range append(want, copied+" "+Dir+"/") {
			if !slices.Contains(lines, line) {
				t.Errorf("%s/Dockerfile has no line %q", role, line)
			}
		}
		if len(scripts) != 3 {
			t.Errorf("%s has %d scripts; the Dockerfile copies 3", role, len(scripts))
		}
	}
}

// The programs are those of the image that deploy/docker/Dockerfile makes.
func TestTheCatchmentNodesTakeTheirProgramFromItsImage(t *testing.T) {
	built := instructions(t, "../../deploy/docker/Dockerfile")
	for _, role := range []string{"catchment-edge", "catchment-central"} {
		lines := instructions(t, filepath.Join(role, "Dockerfile"))
		for _, line := range []string{"ARG PROGRAM=catchment-bgp/" + role + ":latest", "COPY --from=program /usr/bin/ /usr/bin/"} {
			if !slices.Contains(lines, line) {
				t.Errorf("%s/Dockerfile has no line %q", role, line)
			}
		}
		for _, line := range []string{"FROM common AS " + role, "COPY --from=binaries /out/" + role + " /usr/bin/" + role,
			`ENTRYPOINT ["/usr/bin/` + role + `"]`} {
			if !slices.Contains(built, line) {
				t.Errorf("deploy/docker/Dockerfile has no line %q", line)
			}
		}
	}
}

// version, commit and date are asked of git once, by the Makefile, and handed on to programs and labels.
func TestTheImagesAndTheirProgramsSayOfWhichCommitTheyAre(t *testing.T) {
	lines := instructions(t, "../../deploy/docker/Dockerfile")
	labels := `org.opencontainers.image.version="$VERSION" org.opencontainers.image.revision="$COMMIT" org.opencontainers.image.created="$DATE"`
	build := `RUN make build VERSION="$VERSION" COMMIT="$COMMIT" DATE="$DATE"`
	told := map[string]bool{} // by the stage: whether a label or the linker is told
	for stage, at := "", 0; at < len(lines); at++ {
		line := lines[at]
		if name, is := strings.CutPrefix(line, "FROM "); is {
			_, stage, _ = strings.Cut(name, " AS ")
		}
		if strings.HasPrefix(line, "LABEL ") && strings.HasSuffix(line, labels) || strings.HasPrefix(line, build+" ") {
			args := lines[max(0, at-3):at] // an argument is known from its line to the end of its stage
			told[stage] = slices.Equal(args, []string{"ARG VERSION=dev", "ARG COMMIT", "ARG DATE"})
		}
	}
	for _, stage := range []string{"built", "tools", "catchment", "catchment-central", "catchment-edge"} {
		if !told[stage] {
			t.Errorf("deploy/docker/Dockerfile: %s is not told version, commit and date", stage)
		}
	}
	for file, wants := range map[string][]string{
		"../../docker-compose.yml": {"VERSION: ${VERSION:-dev}", "COMMIT: ${COMMIT:-}", "DATE: ${DATE:-}"},
		"build":                    {`--build-arg VERSION="${VERSION:-dev}" --build-arg COMMIT="${COMMIT:-}" --build-arg DATE="${DATE:-}"`},
		"../../Makefile":           {`@VERSION='$(VERSION)' COMMIT='$(COMMIT)' DATE='$(DATE)' lab/images/build`, `@VERSION='$(VERSION)' COMMIT='$(COMMIT)' DATE='$(DATE)' .ci/compose`},
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s does not hand on %s", file, want)
			}
		}
	}
}
