package buildinfo

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestWhatTheLinkerWasToldComesFirst(t *testing.T) {
	built := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	stamp := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-03-01T12:00:00Z"}, {Key: "vcs.modified", Value: "false"}}
	dirty := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}
	tests := []struct {
		name  string
		told  Info
		built *debug.BuildInfo
		want  Info
	}{
		{"nothing known", Info{}, nil, Info{Version: "dev"}},
		{"a test's binary", Info{}, built("(devel)"), Info{Version: "dev"}},
		{"no version at all", Info{}, built(""), Info{Version: "dev"}},
		{"go install", Info{}, built("v1.2.3"), Info{Version: "v1.2.3"}},
		{"go build in a checkout", Info{}, built("(devel)", stamp...), Info{"dev", "abc", "2026-03-01T12:00:00Z"}},
		{"changed files", Info{}, built("(devel)", dirty...), Info{"dev", "abc-dirty", ""}},
		{"the linker", Info{"1.2.3", "def", "2025-01-01T00:00:00Z"}, built("v9.9.9", stamp...), Info{"1.2.3", "def", "2025-01-01T00:00:00Z"}},
		{"the linker, without a commit", Info{Version: "1.2.3"}, built("v9.9.9"), Info{Version: "1.2.3"}},
		{"modified, and no commit", Info{}, built("", debug.BuildSetting{Key: "vcs.modified", Value: "true"}), Info{Version: "dev"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := complete(test.told, test.built); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

func TestTheLineShowsWhatIsKnown(t *testing.T) {
	machine := runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
	for _, test := range []struct {
		info Info
		want string
	}{
		{Info{Version: "dev"}, "catchment dev " + machine + "\n"},
		{Info{"1.2.3", "abc", "2026-03-01T12:00:00Z"}, "catchment 1.2.3 " + machine + " commit abc of 2026-03-01T12:00:00Z\n"},
		{Info{Version: "1.2.3", Commit: "abc"}, "catchment 1.2.3 " + machine + " commit abc\n"},
	} {
		if got := test.info.Line("catchment"); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func TestATestsOwnBinaryIsNoRelease(t *testing.T) {
	if got := Get(); got.Version != "dev" {
		t.Errorf("%+v", got)
	}
}
