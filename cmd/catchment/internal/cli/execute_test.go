package cli

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

// try runs a small tree: `prog group ok|bad|refused`.
func try(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := NewEnv(strings.NewReader(""), &out, &errs)
	verb := func(name string, err error) *cobra.Command {
		return &cobra.Command{Use: name, Short: name, Args: NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return err }}
	}
	root := Group("prog", "A program", "", Group("group", "A group", "",
		verb("ok", nil), verb("bad", errors.New("it broke")),
		verb("refused", &exit.Error{Code: exit.Refused, Err: errors.New("not safe")})))
	code = Execute(t.Context(), env, root, args)
	return code, out.String(), errs.String()
}

func TestCommandLineDecidesTheExitCode(t *testing.T) {
	for _, tt := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"group ok", exit.OK, "", ""},
		{"group bad", exit.Failed, "", "prog: it broke\n"},
		{"group refused", exit.Refused, "", "prog: not safe\n"},
		{"", exit.Usage, "", "prog: prog needs a command: completion, group\nSee 'prog --help'.\n"},
		{"grup", exit.Usage, "", "prog: prog has no command \"grup\"; did you mean group?\nSee 'prog --help'.\n"},
		{"group", exit.Usage, "", "prog: prog group needs a command: bad, ok, refused\nSee 'prog group --help'.\n"},
		{"group okk", exit.Usage, "", "prog: prog group has no command \"okk\"; did you mean ok?\nSee 'prog group --help'.\n"},
		{"group ok now", exit.Usage, "", "prog: prog group ok takes no argument: what is \"now\"?\nSee 'prog group ok --help'.\n"},
		{"group ok --bogus", exit.Usage, "", "prog: unknown flag: --bogus\nSee 'prog group ok --help'.\n"},
		{"group ok --hlep", exit.Usage, "", "prog: unknown flag: --hlep; did you mean --help?\nSee 'prog group ok --help'.\n"},
		{"group ok -x", exit.Usage, "", "prog: unknown shorthand flag: 'x' in -x\nSee 'prog group ok --help'.\n"},
		{"--bogus", exit.Usage, "", "prog: unknown flag: --bogus\nSee 'prog --help'.\n"},
		{"help group nope", exit.Usage, "", "prog: prog group has no command \"nope\"\nSee 'prog help --help'.\n"},
		{"completion", exit.Usage, "", "prog: prog completion needs a command: bash, fish, powershell, zsh\nSee 'prog completion --help'.\n"},
	} {
		code, stdout, stderr := try(t, strings.Fields(tt.args)...)
		if code != tt.code || stdout != tt.stdout || stderr != tt.stderr {
			t.Errorf("%q: exit %d, stdout %q, stderr %q; want %d, %q, %q", tt.args, code, stdout, stderr, tt.code, tt.stdout, tt.stderr)
		}
	}
}

func TestHelpAndCompletionAreData(t *testing.T) {
	for args, want := range map[string]string{
		"--help": "Commands:\n", "help group": "prog group COMMAND", "group ok --help": "prog group ok [flags]",
		"completion bash": "bash completion", "completion zsh": "#compdef prog",
	} {
		code, stdout, stderr := try(t, strings.Fields(args)...)
		if code != exit.OK || stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("%q: exit %d, stderr %q, stdout %q", args, code, stderr, stdout)
		}
	}
}

func TestColourNeedsATerminalAndNoObjection(t *testing.T) {
	for _, tt := range []struct {
		terminal bool
		noColour string
		want     bool
	}{{true, "", true}, {true, "1", false}, {false, "", false}} {
		e := Env{Terminal: tt.terminal, Getenv: func(string) string { return tt.noColour }}
		if got := e.Coloured(); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

func TestFilesAndBuffersAreNoTerminals(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if NewEnv(nil, f, nil).Terminal || NewEnv(nil, &bytes.Buffer{}, nil).Terminal {
		t.Error("taken for a terminal")
	}
	t.Setenv("TERM", "xterm")
	device, err := os.OpenFile("/dev/null", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	if !NewEnv(nil, device, nil).Terminal {
		t.Error("a character device is not taken for a terminal")
	}
	t.Setenv("TERM", "dumb")
	if NewEnv(nil, device, nil).Terminal {
		t.Error("TERM=dumb is taken for a terminal that obeys escape sequences")
	}
}
