package webtest

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

const (
	program = "/usr/bin/chromium"
	// patience bounds each step on a machine that is busy.
	patience = 30 * time.Second
	// ends is how long the browser has to end by itself.
	ends = 10 * time.Second
)

// Options are what a browser is started with.
type Options struct {
	// Namespace is the name of the network namespace (ip-netns(8)) that it lives in; empty:
	// the test's.
	Namespace string
	// Host is HOST:PORT of the only server that a page may ask.
	Host string
	// Cert is the file with the server's certificate, as PEM: it is trusted, and no other.
	Cert string
	// Shots is the folder for screenshots; empty: none are kept.
	Shots string
}

// Browser is one Chromium with one tab. It belongs to the test's own goroutine.
type Browser struct {
	t    testing.TB
	ctx  context.Context
	o    Options
	mu   sync.Mutex
	told []string // what the browser has complained of
	sent []string // addresses at other hosts
	asks int      // requests to Host
}

// violations collects what the page's own policy refuses, before any script of the page
// runs.
const violations = `window.catchmentViolations = [];
document.addEventListener("securitypolicyviolation", (e) => window.catchmentViolations.push(e.violatedDirective + " " + e.blockedURI));`

// Start starts a browser that ends with the test. It skips the test where there is no
// Chromium; under CI that is a failure.
func Start(t testing.TB, o Options) *Browser {
	t.Helper()
	netlab.Require(t, netlab.Chromium)
	pin, err := pinOf(o.Cert)
	if err != nil {
		t.Fatal(err)
	}
	flags := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("no-proxy-server", true), chromedp.Flag("hide-scrollbars", true), chromedp.WindowSize(1280, 900),
		chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) {
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
			cmd.WaitDelay = time.Second
			if o.Namespace != "" {
				cmd.Args = append([]string{"ip", "netns", "exec", o.Namespace}, cmd.Args...)
				cmd.Path = "/usr/sbin/ip"
			}
			t.Cleanup(func() {
				if cmd.Process != nil {
					_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // none is left, most of the time
				}
			})
		}))
	if pin != "" {
		flags = append(flags, chromedp.Flag("ignore-certificate-errors-spki-list", pin))
	}
	allocator, release := chromedp.NewExecAllocator(context.Background(), flags...)
	ctx, cancel := chromedp.NewContext(allocator)
	b := &Browser{t: t, ctx: ctx, o: o}
	t.Cleanup(func() {
		done := make(chan struct{})
		go func() { defer close(done); cancel(); release() }()
		select {
		case <-done:
		case <-time.After(ends):
			t.Errorf("the browser has not ended in %v", ends)
		}
	})
	b.begin()
	return b
}

// pinOf is the hash of a certificate's key, as Chromium takes it.
func pinOf(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return "", fmt.Errorf("%s has no certificate in PEM", file)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:]), nil
}

// begin opens the tab and listens to what it tells.
func (b *Browser) begin() {
	b.t.Helper()
	late := time.AfterFunc(patience, func() { _ = chromedp.Cancel(b.ctx) })
	err := chromedp.Do(b.ctx) // not under a limit of its own: the browser would end with it
	late.Stop()
	if err != nil {
		b.t.Fatalf("the browser has not started in %v: %v", patience, err)
	}
	b.Do("listening to the tab", chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for _, enable := range []func() error{
			func() error { _, err := cdp.Call(ctx, t, network.Enable, network.EnableParams{}); return err },
			func() error { _, err := cdp.Call(ctx, t, log.Enable, cdp.Empty{}); return err },
			func() error { _, err := cdp.Call(ctx, t, audits.Enable, cdp.Empty{}); return err },
			func() error {
				_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: violations})
				return err
			},
		} {
			if err := enable(); err != nil {
				return err
			}
		}
		return nil
	}))
	if err := chromedp.Listen(b.ctx, b.hear); err != nil {
		b.t.Fatalf("the browser: %v", err)
	}
}

// hear notes what the tab tells of itself.
func (b *Browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	tell := func(format string, args ...any) { b.told = append(b.told, fmt.Sprintf(format, args...)) }
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			for _, a := range e.Args {
				tell("console: %s %s", a.Value, a.Description)
			}
		}
	case *runtime.EventExceptionThrown:
		tell("exception: %s %s", e.ExceptionDetails.Text, e.ExceptionDetails.URL)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			tell("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *audits.EventIssueAdded:
		if d := e.Issue.Details; d != nil && d.GenericIssueDetails != nil && d.GenericIssueDetails.ErrorType == audits.GenericIssueErrorTypeNavigationEntryMarkedSkippable {
			return // about the button "back" after a form that was sent by itself
		}
		details, _ := json.Marshal(e.Issue.Details) // it was JSON just now
		tell("issue: %s %.500s", e.Issue.Code, details)
	case *network.EventRequestWillBeSent:
		u, err := url.Parse(e.Request.URL)
		switch {
		case err == nil && (u.Scheme == "data" || u.Scheme == "blob" || u.String() == "about:blank"):
		case err != nil || u.Host != b.o.Host:
			b.sent = append(b.sent, e.Request.URL)
		default:
			b.asks++
		}
	}
}

// Told returns what the browser has complained of since it was asked last.
func (b *Browser) Told() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.told
	b.told = nil
	return out
}

// Elsewhere returns the addresses at other hosts that were asked, and how often Host was.
func (b *Browser) Elsewhere() (addresses []string, asked int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.sent), b.asks
}

// Do runs actions, and ends the test with what they were for if one fails.
func (b *Browser) Do(what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	limited, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(limited, actions...); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// Run is Do for one action with an answer.
func Run[T any](b *Browser, what string, action chromedp.Action[T]) T {
	b.t.Helper()
	var out T
	b.Do(what, chromedp.Func(func(ctx context.Context, t *chromedp.Target) (err error) {
		out, err = action(ctx, t)
		return err
	}))
	return out
}

// Eval is the value of a JavaScript expression on the page.
func Eval[T any](b *Browser, expression string) T {
	b.t.Helper()
	return Run(b, "asking the page "+strings.TrimSpace(expression[:min(60, len(expression))]), chromedp.Evaluate[T](expression))
}

// Await waits until a JavaScript expression on the page is true, at most for the time given.
func (b *Browser) Await(within time.Duration, what, expression string) {
	b.t.Helper()
	netlab.Eventually(b.t, within, what, func() error {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](expression))
		switch {
		case err != nil: // a page that is being left
			return err
		case !ok:
			return fmt.Errorf("not yet at %s: %.2000s", Eval[string](b, "location.href"), Eval[string](b, "document.body ? document.body.innerText : ''"))
		}
		return nil
	})
}

// Open goes to a path of the server, or to a whole address.
func (b *Browser) Open(address string) {
	b.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = "https://" + b.o.Host + address
	}
	b.Do("opening "+address, chromedp.Navigate(address))
}

// Click clicks on what a CSS selector finds; again where a page that is live was drawn anew
// between the two.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	netlab.Eventually(b.t, patience, "a click on "+selector, func() error {
		limited, cancel := context.WithTimeout(b.ctx, patience)
		defer cancel()
		return chromedp.Do(limited, chromedp.Click(chromedp.CSS(selector)))
	})
}

// Fill puts a text into the field that a CSS selector finds, in place of what is there.
func (b *Browser) Fill(selector, text string) {
	b.t.Helper()
	b.Do("filling "+selector, chromedp.SetValue(chromedp.CSS(selector), text))
}

// Shot keeps a picture of the whole page.
func (b *Browser) Shot(name string) {
	b.t.Helper()
	if b.o.Shots == "" {
		return
	}
	image := Run(b, "a picture", chromedp.FullScreenshot(100))
	file := filepath.Join(b.o.Shots, fileName(name)+".png")
	if err := os.WriteFile(file, image, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// fileName is a page's path as a name: /nodes/msk1 is nodes-msk1.
func fileName(path string) string {
	keep := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '-'
	}
	return strings.Trim(strings.Map(keep, path), "-")
}
