// Package mancmd writes the man pages of the three programs: `catchment man`, which
// packages are made with.
//
// In go the tree of commands and, of the daemons, a page in Markdown; out come files in
// man1 and man8. The same commands, pages and date give the same bytes, whatever the
// environment.
package mancmd

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

// daemons are the pages of section 8, which have no title: that has the date.
//
//go:embed *.8.md
var daemons embed.FS

const manual = "catchment"

// New returns the command `man`, which help does not show; root makes the tree of all
// commands.
func New(env *cli.Env, root func(*cli.Env) *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:    "man FOLDER",
		Short:  "Write man pages",
		Long:   "man writes the man pages of all commands and daemons into FOLDER/man1 and\nFOLDER/man8. Their date is that of SOURCE_DATE_EPOCH, where that is set.",
		Hidden: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return exit.Usagef("%s needs one FOLDER", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			date, err := dateOf(env)
			if err != nil {
				return err
			}
			// Defaults of flags must not be those of whoever builds a package.
			clean := *env
			clean.Getenv = func(string) string { return "" }
			return write(root(&clean), args[0], date)
		},
	}
}

// dateOf is the date of the pages (https://reproducible-builds.org/specs/source-date-epoch).
func dateOf(env *cli.Env) (time.Time, error) {
	text := env.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return env.Now().UTC(), nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, exit.Inputf("SOURCE_DATE_EPOCH is %q: write seconds since 1970, or unset it", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

func write(root *cobra.Command, folder string, date time.Time) error {
	for _, section := range []string{"man1", "man8"} {
		if err := os.MkdirAll(filepath.Join(folder, section), 0o755); err != nil {
			return fmt.Errorf("man pages: %w", err)
		}
	}
	root.InitDefaultCompletionCmd()
	if err := commands(root, filepath.Join(folder, "man1"), date); err != nil {
		return fmt.Errorf("man pages: %w", err)
	}
	pages, err := daemons.ReadDir(".")
	if err != nil {
		return fmt.Errorf("man pages: %w", err)
	}
	for _, p := range pages {
		text, err := daemons.ReadFile(p.Name())
		if err != nil {
			return fmt.Errorf("man pages: %w", err)
		}
		name := strings.TrimSuffix(p.Name(), ".md")
		if err := os.WriteFile(filepath.Join(folder, "man8", name), daemon(name, text, date), 0o644); err != nil {
			return fmt.Errorf("man pages: %w", err)
		}
	}
	return nil
}

// commands writes a page for a command and for each below it that is shown.
func commands(c *cobra.Command, folder string, date time.Time) error {
	for _, below := range c.Commands() {
		if !below.IsAvailableCommand() || below.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := commands(below, folder, date); err != nil {
			return err
		}
	}
	c.DisableAutoGenTag = true
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	var page bytes.Buffer
	if err := doc.GenMan(c, &doc.GenManHeader{Title: strings.ToUpper(name), Section: "1", Date: &date, Source: manual, Manual: "User Commands"}, &page); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name+".1"), page.Bytes(), 0o644)
}

// daemon renders a page of section 8.
func daemon(name string, text []byte, date time.Time) []byte {
	title := fmt.Sprintf("%% %q \"8\" %q %q \"System Manager's Manual\"\n", strings.ToUpper(strings.TrimSuffix(name, ".8")), date.Format("Jan 2006"), manual)
	return md2man.Render(append([]byte(title), text...))
}
