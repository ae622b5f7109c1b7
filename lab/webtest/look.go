package webtest

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

//go:embed audit.js
var auditScript string

//go:embed reach.js
var reachScript string

//go:embed step.js
var stepScript string

// How a page is looked at.
const (
	// Wide and Narrow are widths of a window in px: a desk's, and a telephone's.
	Wide, Narrow = 1280, 390
	// maxSteps bounds the presses of Tab on one page.
	maxSteps = 400
)

// Faults are what is wrong with the page as it stands, in sentences; none is empty.
func (b *Browser) Faults() []string {
	b.t.Helper()
	return append(Eval[[]string](b, auditScript), b.Told()...)
}

// Dark turns the dark colours on, or the light ones.
func (b *Browser) Dark(on bool) {
	b.t.Helper()
	value := "light"
	if on {
		value = "dark"
	}
	b.Do("choosing "+value+" colours", command(emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}}}))
}

// Width makes the window as wide as asked, in px.
func (b *Browser) Width(px int64) {
	b.t.Helper()
	b.Do(fmt.Sprintf("a window of %d px", px), chromedp.EmulateViewport(px, 900))
}

// Scripts lets pages that are opened from now on run JavaScript, or not.
func (b *Browser) Scripts(on bool) {
	b.t.Helper()
	b.Do("turning JavaScript on or off", command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on}))
}

// command is a command of the protocol as an action.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

// headScript has Tab begin at the page's head, whatever had the focus.
const headScript = `(() => { const a = document.createElement("a"); a.href = "#"; document.body.prepend(a); a.focus(); a.remove(); return true; })()`

// atHead loads the page anew, for Tab to begin at its head.
func (b *Browser) atHead() {
	b.t.Helper()
	b.Do("loading the page anew", chromedp.Reload())
	Eval[bool](b, headScript)
}

// Unreached loads the page anew and goes through it by Tab. It returns what can be clicked
// and has never had the focus, and where the focus could not be seen; the first that has it
// leads to the content.
func (b *Browser) Unreached() []string {
	b.t.Helper()
	var faults []string
	b.atHead()
	for i := range maxSteps {
		b.Do("Tab", chromedp.KeyEvent(kb.Tab))
		if i == 0 && !Eval[bool](b, `document.activeElement.matches(".skip")`) {
			faults = append(faults, "the first that Tab reaches is not the link to the content")
		}
		step := Eval[struct {
			End   bool   `json:"end"`
			Fault string `json:"fault"`
		}](b, stepScript)
		if step.Fault != "" {
			faults = append(faults, step.Fault)
		}
		if step.End {
			for _, left := range Eval[[]string](b, reachScript) {
				faults = append(faults, "Tab does not reach "+left)
			}
			return faults
		}
	}
	return append(faults, fmt.Sprintf("Tab has not come round in %d steps", maxSteps))
}

// Skips loads the page anew, and reports what is wrong with the link that leads past the
// navigation to the content.
func (b *Browser) Skips() []string {
	b.t.Helper()
	b.atHead()
	b.Do("Tab and Enter", chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	if !Eval[bool](b, `document.activeElement.id === "content"`) {
		return []string{"the link to the content leads to " + Eval[string](b, "document.activeElement.outerHTML.slice(0, 120)")}
	}
	return nil
}
