package supportcmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	centralconfig "github.com/catchment-bgp/catchment/central/config"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/centre"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/doctorcmd"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/node"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

const (
	// metricsWithin and journalWithin bound the question to each.
	metricsWithin = 10 * time.Second
	journalWithin = 20 * time.Second
	// mostDecisions is more than a node keeps.
	mostDecisions = 1000
	// journalLines is how much of the journal goes in.
	journalLines = "5000"
)

// collector fills a bundle.
type collector struct {
	bundle
	o       Options
	loaded  *doctorcmd.Loaded
	centre  *centralconfig.Config
	secrets []string
	scrub   scrubber
}

// collect never fails: what cannot be had is named in the manifest.
func collect(ctx context.Context, o Options) *collector {
	c := &collector{o: o, bundle: bundle{at: o.Env.Now()}}
	config := c.configs()
	c.scrub = newScrubber(c.secrets)
	for name, text := range config {
		c.put(name, c.scrub.known(text))
	}
	c.never()
	c.versions(ctx)
	c.node(ctx)
	c.metrics(ctx)
	c.fleet(ctx)
	c.doctor(ctx)
	c.journal(ctx, "catchment-edge")
	c.journal(ctx, "catchment-central")
	c.put("kernel/addresses.txt", c.scrub.known(addressText()))
	c.put("kernel/routes.txt", c.scrub.known(routeText()))
	return c
}

// never names what is left out whatever is asked for.
func (c *collector) never() {
	const why = "secrets: never put in"
	c.leave("keys of certificates", why)
	c.leave("environment files", why)
	if c.loaded.Config != nil {
		for _, n := range c.loaded.Config.Neighbors {
			if n.PasswordFile != "" {
				c.leave(n.PasswordFile, why)
			}
		}
	}
}

// configs reads both configurations and all secrets in reach, before anything is put in.
func (c *collector) configs() map[string]string {
	out := map[string]string{}
	var err error
	if c.loaded, err = doctorcmd.LoadEdge(c.o.File, c.o.Env.Getenv); err != nil {
		c.leave("config/edge.yaml", "the file cannot be used; doctor.json says why")
		c.secrets = append(c.secrets, secretsOf(c.loaded.Text)...)
	}
	for _, v := range c.loaded.Variables {
		c.secrets = append(c.secrets, v)
	}
	c.secrets = append(c.secrets, c.loaded.Secrets...)
	if c.loaded.Config != nil {
		clean, secrets := redacted(c.loaded.Config)
		c.secrets = append(c.secrets, secrets...)
		if text, err := clean.YAML(); err != nil {
			c.leave("config/edge.yaml", output.OneLine(err.Error()))
		} else {
			out["config/edge.yaml"] = string(text)
		}
	}
	if c.centre, err = centralconfig.Load(c.o.CentreFile); err != nil {
		c.centre = nil
		c.leave("config/central.yaml", "there is none that can be used")
		return out
	}
	view, secrets := centreRedacted(c.centre)
	c.secrets = append(c.secrets, secrets...)
	var text bytes.Buffer
	if err := output.WriteValue(&text, output.YAML, view); err == nil {
		out["config/central.yaml"] = text.String()
	}
	return out
}

func (c *collector) versions(ctx context.Context) {
	var u unix.Utsname
	_ = unix.Uname(&u) // it fails for a bad pointer only
	text := c.o.Version
	for _, program := range []string{"catchment-edge", "catchment-central"} {
		version := doctorcmd.Installed(ctx, program)
		if version == "" {
			version = "not installed, or it does not say"
		}
		text += fmt.Sprintf("%s %s\n", program, version)
	}
	text += fmt.Sprintf("%s %s %s, built with %s\n", unix.ByteSliceToString(u.Sysname[:]), unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Machine[:]), runtime.Version())
	c.put("versions.txt", text)
}

// message puts an answer in as JSON.
func (c *collector) message(name string, m proto.Message, err error) bool {
	if err != nil {
		c.leave(name, c.scrub.free(output.OneLine(err.Error())))
		return false
	}
	var text bytes.Buffer
	if err := output.WriteJSON(&text, m); err != nil {
		c.leave(name, output.OneLine(err.Error()))
		return false
	}
	c.put(name, c.scrub.document(text.String()))
	return true
}

func (c *collector) node(ctx context.Context) {
	if c.loaded.Config != nil && !c.o.EdgeNamed {
		c.o.Edge.Address = "unix:" + c.loaded.Config.Control
	}
	status, err := node.Call(ctx, c.o.Edge, edgev1.EdgeClient.Status, &edgev1.StatusRequest{})
	if !c.message("node/status.json", status, err) {
		return
	}
	why, err := node.Call(ctx, c.o.Edge, edgev1.EdgeClient.Why, &edgev1.WhyRequest{Limit: mostDecisions})
	c.message("node/why.json", why, err)
	transcript, err := node.Call(ctx, c.o.Edge, edgev1.EdgeClient.Transcript, &edgev1.TranscriptRequest{})
	if err != nil {
		c.leave("node/transcript.json", c.scrub.free(output.OneLine(err.Error())))
		return
	}
	c.put("node/transcript.json", c.scrub.document(string(transcript.GetContent())))
}

func (c *collector) metrics(ctx context.Context) {
	const name = "node/metrics.txt"
	if c.loaded.Config == nil || c.loaded.Config.Metrics == "" {
		c.leave(name, "the configuration names no address of metrics")
		return
	}
	limited, cancel := context.WithTimeout(ctx, metricsWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodGet, "http://"+c.loaded.Config.Metrics+"/metrics", nil)
	if err != nil {
		c.leave(name, output.OneLine(err.Error()))
		return
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		c.leave(name, output.OneLine(err.Error()))
		return
	}
	defer answer.Body.Close() // it was only read
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostText))
	if err != nil || answer.StatusCode != http.StatusOK {
		c.leave(name, fmt.Sprintf("the answer is %s (%v)", answer.Status, err))
		return
	}
	c.put(name, c.scrub.known(string(text)))
}

func (c *collector) fleet(ctx context.Context) {
	if !c.o.Centre.Named() {
		c.leave("centre", "--central was not given")
		return
	}
	fleet, err := centre.Call(ctx, c.o.Centre, centralv1.FleetClient.GetFleet, &centralv1.GetFleetRequest{})
	if !c.message("centre/fleet.json", fleet, err) {
		return
	}
	windows, err := centre.Call(ctx, c.o.Centre, centralv1.FleetClient.ListWindows, &centralv1.ListWindowsRequest{All: true})
	c.message("centre/windows.json", windows, err)
}

func (c *collector) doctor(ctx context.Context) {
	o := doctorcmd.Options{Env: c.o.Env, Edge: c.o.Edge, Centre: c.o.Centre, File: c.o.File, EdgeNamed: true}
	all := doctorcmd.Node(ctx, o)
	if c.centre != nil {
		o.File = c.o.CentreFile
		all = append(all, doctorcmd.Centre(ctx, o)...)
	}
	var text bytes.Buffer
	if err := doctorcmd.Write(&text, all, false); err != nil {
		c.leave("doctor.txt", output.OneLine(err.Error()))
		return
	}
	c.put("doctor.txt", c.scrub.free(text.String()))
}

// journal puts the end of a unit's journal in, where this user may read it.
func (c *collector) journal(ctx context.Context, unit string) {
	name := "journal/" + unit + ".txt"
	text, err := c.o.Journal(ctx, unit)
	if err != nil {
		c.leave(name, c.scrub.free(output.OneLine(err.Error())))
		return
	}
	c.put(name, c.scrub.free(output.Lines(text)))
}

// systemJournal asks journalctl.
func systemJournal(ctx context.Context, unit string) (string, error) {
	path, err := exec.LookPath("journalctl")
	if err != nil {
		return "", fmt.Errorf("there is no journalctl here")
	}
	limited, cancel := context.WithTimeout(ctx, journalWithin)
	defer cancel()
	c := exec.CommandContext(limited, path, "-u", unit, "-n", journalLines, "--no-pager", "-o", "short-iso-precise", "-q")
	c.WaitDelay = time.Second
	text, err := c.Output()
	switch {
	case err != nil:
		return "", fmt.Errorf("journalctl: %w", err)
	case len(text) == 0:
		return "", fmt.Errorf("nothing in it, or this user may not read it")
	}
	return string(text), nil
}
