package central

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/lab/bench"
)

const (
	ourASN = 64499
	domain = "bench.example"
	// startTime bounds the wait for a centre that starts, with what it has to read.
	startTime = time.Minute
)

// centre is a catchment-central in a process of its own, with an embedded etcd.
type centre struct {
	t       testing.TB
	binary  string
	dir     string
	listen  string
	http    string
	noc     *grpc.ClientConn
	api     centralv1.FleetClient
	web     *http.Client
	process *exec.Cmd
	log     *os.File
}

// newCentre makes identities and a configuration, and starts the binary with them.
func newCentre(t testing.TB, binary string) *centre {
	t.Helper()
	c := &centre{t: t, binary: binary, dir: t.TempDir(), listen: freeAddress(t), http: freeAddress(t)}
	must(t, c.certify())
	text := fmt.Sprintf("data: state\nlisten: %s\nhttp: %s\ntls: {ca: ca.pem, cert: centre.pem, key: centre.key}\ndomain: %s\nasn: %d\n"+
		"services: [{name: video, min_announcing: 2, max_withdrawn: 0.34}]\n", c.listen, c.http, domain, ourASN)
	must(t, os.WriteFile(c.path("central.yaml"), []byte(text), 0o600))
	c.start()
	t.Cleanup(c.close)
	return c
}

func (c *centre) path(name string) string { return filepath.Join(c.dir, name) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// freeAddress is one that nobody listens on just now.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

// certify makes the CA, the centre's certificate and an operator's, and clients that use them.
func (c *centre) certify() error {
	ca, err := identity.Init(c.dir, domain, time.Now())
	if err != nil {
		return err
	}
	for name, o := range map[string]identity.Order{
		"centre": {Kind: identity.Central, Name: "c1", Hosts: []string{"127.0.0.1"}},
		"noc":    {Kind: identity.NOC, Name: "bench", Role: identity.Admin},
	} {
		if err := ca.Issue(o, c.path(name+".pem"), c.path(name+".key"), time.Now()); err != nil {
			return err
		}
	}
	files, err := identity.Open(identity.Paths{CA: c.path("ca.pem"), Cert: c.path("noc.pem"), Key: c.path("noc.key")}, nil)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.PEM())
	c.web = &http.Client{Timeout: startTime, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}}}
	c.noc, err = grpc.NewClient("passthrough:///"+c.listen, grpc.WithTransportCredentials(identity.ClientCredentials(files)),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	c.api = centralv1.NewFleetClient(c.noc)
	return err
}

// start starts the process and returns once it serves.
func (c *centre) start() {
	c.t.Helper()
	var err error
	c.log, err = os.OpenFile(c.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(c.t, err)
	c.process = exec.Command(c.binary, "--config", c.path("central.yaml"))
	c.process.Stderr, c.process.SysProcAttr = c.log, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(c.t, c.process.Start())
	deadline := time.Now().Add(startTime)
	for {
		err := c.serves()
		switch {
		case err == nil:
			return
		case time.Now().After(deadline):
			c.t.Fatalf("the centre does not serve: %v\n%s", err, c.tail())
		}
		<-time.After(5 * time.Millisecond)
	}
}

func (c *centre) serves() error {
	r, err := c.web.Get("https://" + c.http + "/readyz")
	if err != nil {
		return err
	}
	_ = r.Body.Close() // the status is all that counts
	if r.StatusCode != http.StatusOK {
		return errors.New(r.Status)
	}
	return nil
}

// kill ends the process as a fault would.
func (c *centre) kill() {
	_ = c.process.Process.Kill() // it may be gone
	_ = c.process.Wait()         // killed
	_ = c.log.Close()
	c.web.CloseIdleConnections()
}

func (c *centre) close() {
	c.kill()
	_ = c.noc.Close()
}

// tail is the end of the log.
func (c *centre) tail() string {
	text, err := os.ReadFile(c.path("log"))
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(text, []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-15):], []byte("\n")))
}

// metrics are the centre's figures, those with labels added up.
func (c *centre) metrics() (map[string]float64, error) {
	r, err := c.web.Get("https://" + c.http + "/metrics")
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	m := map[string]float64{}
	for lines := bufio.NewScanner(r.Body); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(text[strings.LastIndexByte(text, ' ')+1:], 64); err == nil && name != "#" {
			m[strings.SplitN(name, "{", 2)[0]] += v
		}
	}
	return m, nil
}

// confirmed waits until every edge is there and has confirmed its intent, and returns when that was.
func (c *centre) confirmed(edges int, within time.Duration) time.Time {
	c.t.Helper()
	deadline := time.Now().Add(within)
	for {
		m, err := c.metrics()
		if err == nil && (m["catchment_central_streams"] != float64(edges) || m["catchment_central_streams_behind"] != 0) {
			err = fmt.Errorf("%v streams, %v of them behind", m["catchment_central_streams"], m["catchment_central_streams_behind"])
		}
		switch {
		case err == nil:
			return time.Now()
		case time.Now().After(deadline):
			c.t.Fatalf("waited %v for %d edges to confirm: %v\nthe centre's log ends with\n%s", within, edges, err, c.tail())
		}
		<-time.After(5 * time.Millisecond)
	}
}

// freeze is one write that concerns every edge; so is its end.
func (c *centre) freeze(on bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	var err error
	if on {
		_, err = c.api.Freeze(ctx, &centralv1.FreezeRequest{Reason: "bench"})
	} else {
		_, err = c.api.Thaw(ctx, &centralv1.ThawRequest{Reason: "bench"})
	}
	must(c.t, err)
}

// tag is one write that concerns one edge.
func (c *centre) tag(node, value string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	_, err := c.api.TagNode(ctx, &centralv1.TagNodeRequest{Node: node, Value: value, Meaning: "bench", Reason: "bench", Shared: true})
	must(c.t, err)
}

// held is what the process has of memory and has used of processors.
type held struct {
	at           time.Time
	usage        bench.Usage
	heap, stacks float64 // bytes in use
	goroutines   float64
}

func (c *centre) held() held {
	c.t.Helper()
	m, err := c.metrics()
	must(c.t, err)
	u, err := bench.UsageOf(c.process.Process.Pid, false)
	must(c.t, err)
	return held{at: time.Now(), usage: u, heap: m["go_memstats_heap_inuse_bytes"], stacks: m["go_memstats_stack_inuse_bytes"], goroutines: m["go_goroutines"]}
}

// process is one process of edges.
type process struct {
	command *exec.Cmd
	in      *bufio.Writer
	close   func() error
	answers chan answer
	first   int // the number of its first edge
}

// fleet are all edges, in processes of at most mostEdges.
type fleet struct {
	t         testing.TB
	n         int
	processes []*process
}

// mostEdges of one process keeps it far below the usual limit of open files.
const mostEdges = 5000

// newFleet starts processes, and edges in them, evenly over a time; it returns once all have an intent.
func newFleet(t testing.TB, c *centre, n int, over time.Duration) *fleet {
	t.Helper()
	f := &fleet{t: t, n: n}
	t.Cleanup(f.close)
	count := (n + mostEdges - 1) / mostEdges
	for i := range count {
		p, err := newProcess()
		must(t, err)
		f.processes = append(f.processes, p)
		p.first = i * n / count
		p.tell(order{Do: "start", First: p.first, Count: (i+1)*n/count - p.first, Over: over, Dir: c.dir, Centre: c.listen})
	}
	f.await("started", over+2*time.Minute)
	return f
}

func newProcess() (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.Command(self)
	command.Env = append(os.Environ(), edgesEnv+"=1", "GOGC=400") // what they collect is not what is measured
	command.Stderr, command.SysProcAttr = os.Stderr, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	p := &process{command: command, in: bufio.NewWriter(in), close: in.Close, answers: make(chan answer, 8)}
	go p.listen(out)
	return p, nil
}

func (f *fleet) close() {
	for _, p := range f.processes {
		_ = p.close()                // the process ends with it
		_ = p.command.Process.Kill() // or at once: nothing is owed to a centre that is measured no more
		_ = p.command.Wait()         // killed
		for range p.answers {
			continue // until the listener has ended
		}
	}
}

// usage is what all processes of edges together have used.
func (f *fleet) usage() (sum bench.Usage) {
	f.t.Helper()
	for _, p := range f.processes {
		u, err := bench.UsageOf(p.command.Process.Pid, false)
		must(f.t, err)
		sum.CPU, sum.RSS = sum.CPU+u.CPU, sum.RSS+u.RSS
	}
	return sum
}

// order has every process do something, and returns once all are ready for it.
func (f *fleet) order(o order) {
	f.t.Helper()
	for _, p := range f.processes {
		p.tell(o)
	}
	f.await("ready", startTime)
}

// await is the answers of all processes, added up.
func (f *fleet) await(did string, within time.Duration) (sum answer) {
	f.t.Helper()
	late := time.After(within)
	for _, p := range f.processes {
		sum = f.add(sum, p, did, late)
	}
	return sum
}

func (f *fleet) add(sum answer, p *process, did string, late <-chan time.Time) answer {
	f.t.Helper()
	select {
	case a, ok := <-p.answers:
		if !ok || a.Did != did || a.Error != "" {
			f.t.Fatalf("the edges answer %q %q where %q was awaited", a.Did, a.Error, did)
		}
		sum.At, sum.Dials, sum.Streams = append(sum.At, a.At...), append(sum.Dials, a.Dials...), append(sum.Streams, a.Streams...)
		if sum.Faults == nil {
			sum.Faults = map[string]int{}
		}
		for fault, n := range a.Faults {
			sum.Faults[fault] += n
		}
	case <-late:
		f.t.Fatalf("the edges took too long: %q", did)
	}
	return sum
}

var errNoFiles = errors.New("the limit of open files is too low, and cannot be raised: ulimit -n")
