package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/central"
	"github.com/catchment-bgp/catchment/central/config"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/internal/pages"
)

const howtoPage = "docs/howto/publish-communities.md"

// rewriteHowto has the outputs of this folder's pages written anew: go test ./cmd/catchment -run 'Howto|Pages' -howto.update
var rewriteHowto = flag.Bool("howto.update", false, "write what the commands print into their pages")

// howtoPatience bounds each wait.
const howtoPatience = time.Minute

// freePort is an address on loopback where nobody listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// startCentre runs a centre, and returns its address.
func startCentre(t *testing.T) string {
	t.Helper()
	address := freePort(t)
	folder := t.TempDir()
	cfg, err := config.Parse("howto", fmt.Appendf(nil, "data: %q\nlisten: %q\nasn: 57629\nservices: [{name: video, min_announcing: 2}]\n", filepath.Join(folder, "store"), address), folder)
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(context.Background())
	left := make(chan error, 1)
	go func() {
		left <- central.Run(ctx, cfg, central.Options{Version: "howto", Log: slog.New(slog.DiscardHandler)})
	}()
	t.Cleanup(func() {
		leave()
		if err := <-left; err != nil {
			t.Errorf("the centre: %v", err)
		}
	})
	return address
}

// startWhois answers each question with an object that has the remarks in a file.
func startWhois(t *testing.T, remarks string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if query, err := bufio.NewReader(c).ReadString('\n'); err == nil && query == "AS57629\r\n" {
				text, _ := os.ReadFile(remarks)                                           // none: an answer without
				_, _ = io.WriteString(c, "aut-num:        AS57629\n"+string(text)+"\n\n") // who asked sees what is missing
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

// howtoLine runs a line of the page in the working directory, and returns what it prints.
func howtoLine(t *testing.T, line, centre, whois string) string {
	t.Helper()
	line, into, _ := strings.Cut(line, " > ")
	line, from, _ := strings.Cut(line, " < ")
	var stdin []byte
	if from != "" {
		var err error
		if stdin, err = os.ReadFile(from); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"--central", centre}
	for _, m := range regexp.MustCompile(`'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		args = append(args, strings.ReplaceAll(m[1]+m[2], "whois.ripe.net", whois))
	}
	if args[2] != "catchment" {
		t.Fatalf("the page runs what this test does not know: %s", line)
	}
	ctx, cancel := context.WithTimeout(t.Context(), howtoPatience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	code := run(ctx, append(args[3:], args[:2]...), bytes.NewReader(stdin), &stdout, &stderr)
	if code == exit.Usage {
		t.Errorf("%s: %s", line, stderr.String())
	}
	if into != "" {
		if err := os.WriteFile(into, stdout.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		stdout.Reset()
	}
	return strings.ReplaceAll(stdout.String()+stderr.String(), whois, "whois.ripe.net")
}

func TestHowtoPublishesAndPrintsWhatItShows(t *testing.T) {
	page, err := pages.Read(howtoPage)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	centre, whois := startCentre(t), startWhois(t, "remarks.txt")
	announce(t, centre, []string{"msk1", "spb1"})
	played, err := pages.Player{
		Page: page, Update: *rewriteHowto,
		Run:   func(c pages.Command) (string, error) { return howtoLine(t, c.Line, centre, whois), nil },
		Quiet: func(line string) error { howtoLine(t, line, centre, whois); return nil },
		Write: func(file, text string) error { return os.WriteFile(file, []byte(text), 0o600) },
	}.Play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if played < 6 {
		t.Errorf("the page shows %d commands", played)
	}
}
