package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/webtest"
)

const webPort = "7180"

// shots is the folder for pictures of the pages: that of the environment, or the test's own.
func shots(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CATCHMENT_SHOTS")
	if dir == "" {
		dir = t.ArtifactDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// newWeb is three edges with figures of their links and tags, and a centre with a page.
func newWeb(t *testing.T) *governed {
	t.Helper()
	netlab.Require(t, netlab.Chromium)
	f := newGoverned(t, 3, 1)
	registry := hostFile(t, "actions.txt", "57629:666,blackhole\n57629:3001,prepend once towards AS174\n")
	f.startCentre(f.centres[0], strings.Join([]string{"data: /var/lib/central", "http: 0.0.0.0:" + webPort, "asn: 57629",
		fmt.Sprintf("registry: [%q]", registry)}, "\n"), "[{name: video, min_announcing: 2, max_withdrawn: 0.5}]")
	for i, e := range f.edges {
		f.admit(e)
		c := f.config(i)
		for j, name := range []string{"frr", "bird"} {
			c.Neighbors[j] = strings.Replace(c.Neighbors[j], "{", "{link: "+name+", contact: noc@"+name+".example, labels: {circuit: C-"+name+"}, ", 1)
		}
		c.Lines = append(c.Lines, "site: "+[]string{"moscow", "moscow", "spb"}[i],
			fmt.Sprintf("links: [{name: frr, interface: %s, capacity: 1Mbps}, {name: bird, interface: %s, capacity: 10Gbps}]", e.toFRR.EdgeIf, e.toBIRD.EdgeIf))
		e.write(c.String())
		e.start()
	}
	for _, e := range f.edges {
		awaitSession(t, f.frr, e.toFRR.Edge4)
		awaitSession(t, f.bird, e.toBIRD.Edge4)
		f.await(soon, e, "announced", undrained)
	}
	f.awaitConnected(sessionWait)
	for i, e := range f.edges {
		f.must("node", "tag", e.name, fmt.Sprintf("57629:10%d", i+1), "--meaning", fmt.Sprintf("Moscow, hall %d", i+1), "--reason", "test")
	}
	return f
}

// browse starts a browser beside the operators, signed in by a link that the command line
// makes.
func (f *governed) browse(t *testing.T, who string) *webtest.Browser {
	t.Helper()
	b := webtest.Start(t, webtest.Options{Namespace: filepath.Base(f.mgmt.Namespace()), Host: f.centres[0].addr.String() + ":" + webPort,
		Cert: filepath.Join(f.pki, f.centres[0].node.Name()+".pem"), Shots: shots(t)})
	b.Width(webtest.Wide)
	b.Open("/")
	b.Await(soon, "a stranger is sent to sign in", `location.pathname === "/login"`)
	for _, fault := range append(b.Inspect("/login"), b.Skips()...) {
		t.Error(fault)
	}
	b.Open("/login")
	a := f.as(who, "web", "login")
	if a.code != 0 || !strings.Contains(a.stderr, "once, until") {
		t.Fatalf("a link to sign in: exit code %d, %s", a.code, a.stderr)
	}
	link := strings.TrimSpace(a.stdout)
	b.Open(link)
	b.Await(soon, "the fleet's page after the link", `location.pathname === "/" && document.querySelectorAll("[data-node]").length >= 3`)
	if left := webtest.Eval[string](b, "location.href"); strings.Contains(left, "#") {
		t.Errorf("the address still has the code: %s", left)
	}
	return b
}

// TestTheWholePageIsWalkedByABrowser sees a drain without a reload, makes a window that FRR
// sees, walks every page meanwhile, and is refused another.
func TestTheWholePageIsWalkedByABrowser(t *testing.T) {
	t.Parallel()
	f := newWeb(t)
	b := f.browse(t, operator)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the audit log: %s", f.as(operator, "audit", "list", "-o", "json").stdout)
		}
	})
	f.drainIsSeen(b, f.edges[0])
	f.partIsPreviewed(b, f.edges[2])
	f.allAreMiscounted(b)
	f.windowIsMade(b, f.edges[1])
	visited := b.Walk("/", func(path string) {
		for _, fault := range b.Inspect(path) {
			t.Error(fault)
		}
	})
	t.Logf("walked %d pages: %q", len(visited), visited)
	for _, page := range []string{"/", "/maintenance", "/communities", "/audit", "/nodes/msk1", "/maintenance/new", "/maintenance/import"} {
		if !slices.Contains(visited, page) {
			t.Errorf("there is no way to %s", page)
		}
	}
	f.windowIsRefused(b, f.edges[2])
	f.windowIsEnded(b, f.edges[1])
	if elsewhere, asked := b.Elsewhere(); len(elsewhere) > 0 || asked == 0 {
		t.Errorf("the pages asked %q, and the centre %d times", elsewhere, asked)
	}
	b.Click("header form button")
	b.Await(soon, "the page to sign in", `location.pathname === "/login"`)
	b.Open("/")
	b.Await(soon, "a stranger again", `location.pathname === "/login"`)
}

// drainIsSeen drains an edge while the fleet's page is open.
func (f *governed) drainIsSeen(b *webtest.Browser, e *fleetEdge) {
	f.t.Helper()
	b.Open("/")
	b.Await(soon, "the page to be live", `document.getElementById("link").textContent === "Live"`)
	webtest.Eval[bool](b, "window.sameDocument = true")
	state := fmt.Sprintf(`document.querySelector('[data-node=%q] .state').textContent`, e.name)
	begun := time.Now()
	e.must("drain", "video", "--reason", "seen in the browser")
	said := time.Now()
	b.Await(soon, "the drain of "+e.name, state+` !== "announced" && window.sameDocument`)
	f.t.Logf("%s was seen %q %v after the command began, and %v after its end", e.name, webtest.Eval[string](b, state), time.Since(begun), time.Since(said))
	b.Shot("drained")
	e.must("auto", "video", "--reason", "seen")
	f.await(soon, e, "announced again", undrained)
	b.Await(time.Minute, e.name+" to be announced and to need no leave any more", state+` === "announced" && !document.getElementById("grants") && window.sameDocument`)
}

// planWindow fills the form of a window for what is chosen, and asks what it would do.
func (f *governed) planWindow(b *webtest.Browser, reason string, choose ...string) {
	f.t.Helper()
	b.Open("/maintenance")
	b.Click(`a[href="/maintenance/new"]`)
	b.Await(soon, "the form", `location.pathname === "/maintenance/new" && !!document.querySelector("form.plan")`)
	for _, c := range choose {
		b.Click(fmt.Sprintf(`input[type=checkbox]%s`, c))
	}
	b.Click(`input[name=start][value=now]`)
	b.Fill(`[name=lasts]`, "10m")
	b.Fill(`[name=lead]`, "4s")
	b.Fill(`[name=reason]`, reason)
	if slices.Contains(choose, everyNode) {
		b.Fill(`[name=expect]`, "4")
	}
	b.Click(`form.plan button`)
}

// everyNode chooses all nodes; onlyNode chooses one.
const everyNode = "[name=all]"

func onlyNode(e *fleetEdge) string { return fmt.Sprintf("[name=node][value=%q]", e.name) }

// partIsPreviewed asks what a window of one circuit would do, and makes none.
func (f *governed) partIsPreviewed(b *webtest.Browser, e *fleetEdge) {
	f.t.Helper()
	f.planWindow(b, "a circuit", onlyNode(e), `[name=label][value="circuit=C-bird"]`)
	b.Await(soon, "who carries the load of a circuit", `location.pathname === "/maintenance/preview" && document.querySelectorAll("section[aria-labelledby=landings] tbody tr").length === 3`)
	if text := webtest.Eval[string](b, `document.querySelector("main").innerText`); !strings.Contains(text, "stays announced at its other neighbours") || strings.Contains(text, "cannot be said") {
		f.t.Errorf("of one circuit of two the page says: %s", text)
	}
	for _, fault := range b.Faults() {
		f.t.Errorf("what a window of a circuit would do: %s", fault)
	}
	b.Shot("preview-circuit")
}

// allAreMiscounted asks for all nodes of a neighbour, and expects one too many.
func (f *governed) allAreMiscounted(b *webtest.Browser) {
	f.t.Helper()
	f.planWindow(b, "everywhere", everyNode, `[name=neighbor][value=bird]`)
	b.Await(soon, "the refusal", `document.getElementById("expect-fault")?.innerText.includes("all would be 3 nodes")`)
	if !webtest.Eval[bool](b, `document.querySelector("[name=all]").checked && document.querySelector("[name=expect]").value === "4"`) {
		f.t.Error("what was filled in is lost with the refusal")
	}
	for _, fault := range b.Faults() {
		if !strings.Contains(fault, "status of 422") {
			f.t.Errorf("all nodes, miscounted: %s", fault)
		}
	}
	b.Shot("miscounted")
}

// windowIsMade makes a window that FRR sees: first clients are asked to leave (RFC 8326),
// then the routes go.
func (f *governed) windowIsMade(b *webtest.Browser, e *fleetEdge) {
	f.t.Helper()
	f.planWindow(b, "line card", onlyNode(e))
	b.Await(soon, "what the window would do", `location.pathname === "/maintenance/preview" && document.body.innerText.includes("Nothing has been done yet")`)
	for _, fault := range b.Faults() {
		f.t.Errorf("what the window would do: %s", fault)
	}
	b.Shot("preview")
	f.await(soon, e, "announced still", undrained)
	// As by a double click: the form is sent twice.
	webtest.Eval[bool](b, `(() => { const f = document.querySelector('form[action="/maintenance"]'), sent = new URLSearchParams(new FormData(f)); fetch(f.action, {method: "POST", body: sent, keepalive: true}); f.requestSubmit(); return true })()`)
	f.await(soon, e, "drained", has(gshut))
	b.Await(soon, "the window's page", `/^[/]maintenance[/]w-/.test(location.pathname)`)
	f.await(soon, e, "withdrawn", nil)
	b.Await(30*time.Second, "the window to be safe", `document.querySelector("main").innerText.includes("safe")`)
	b.Shot("window")
	if ids := f.as(operator, "maintenance", "list", "-o", "json").stdout; strings.Count(ids, `"w-`) != 1 {
		f.t.Errorf("a form that was sent twice made more than one window: %s", ids)
	}
}

// windowIsRefused asks for one more than the limits allow.
func (f *governed) windowIsRefused(b *webtest.Browser, e *fleetEdge) {
	f.t.Helper()
	f.planWindow(b, "one too many", onlyNode(e))
	b.Await(soon, "the refusal", `document.body.innerText.includes("min_announcing")`)
	if !webtest.Eval[bool](b, fmt.Sprintf(`document.querySelector("input[value=%s]").checked && document.querySelector("[name=reason]").value === "one too many"`, e.name)) {
		f.t.Error("what was filled in is lost with the refusal")
	}
	for _, fault := range b.Faults() {
		if !strings.Contains(fault, "status of 409") {
			f.t.Errorf("the refusal: %s", fault)
		}
	}
	b.Shot("refused")
	f.await(soon, e, "announced", undrained)
}

// windowIsEnded ends the window of an edge, which returns.
func (f *governed) windowIsEnded(b *webtest.Browser, e *fleetEdge) {
	f.t.Helper()
	b.Open("/maintenance")
	b.Click(`a[href^="/maintenance/w-"]`)
	b.Await(soon, "the window's page", `/^[/]maintenance[/]w-/.test(location.pathname)`)
	b.Click(`a[href$="/end"]`)
	b.Await(soon, "the form to end it", `location.pathname.endsWith("/end") && !!document.querySelector("main form button")`)
	b.Click(`main form button`)
	b.Await(soon, "the window to be ended", `document.querySelector("main").innerText.includes("ended")`)
	f.await(30*time.Second, e, "back", undrained)
}
