package doctorcmd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/config"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/centre"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/doctor"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
	"github.com/catchment-bgp/catchment/community/importer"
	"github.com/catchment-bgp/catchment/community/registry"
)

// healthWithin bounds the question to /readyz.
const healthWithin = 5 * time.Second

// gatherCentre finds out what there is to know of a centre on this machine.
func gatherCentre(ctx context.Context, client *centre.Client, file string, now time.Time) *doctor.Centre {
	c := &doctor.Centre{Now: now, File: file, Clock: clock(), Files: map[string]doctor.File{}}
	var err error
	if c.Config, err = config.Load(file); err != nil {
		c.Problem = err.Error()
		return c
	}
	cfg := c.Config
	c.User = userOf(unitText("catchment-central.service"), "catchment-central")
	who, ok := accountOf(c.User)
	if !ok {
		who = account{uid: uint32(os.Geteuid())}
		c.User = ""
	}
	if cfg.TLS != nil {
		c.Certs = certs(now, cfg.TLS.CA, cfg.TLS.Cert)
		c.Files[cfg.TLS.Key] = lookAt(cfg.TLS.Key, who)
	}
	if cfg.PKI != "" {
		key := filepath.Join(cfg.PKI, "ca.key")
		c.Files[key] = lookAt(key, who)
	}
	if cfg.Data != "" {
		c.Files[cfg.Data] = lookAt(cfg.Data, who)
		c.Free, c.Size = space(cfg.Data)
	}
	c.Listening = map[string]bool{cfg.Listen: listens(cfg.Listen)}
	if cfg.HTTP != "" {
		c.Listening[cfg.HTTP] = listens(cfg.HTTP)
		c.Health = health(ctx, cfg, c.Certs)
	}
	c.RegistryRead, c.Registry = documents(cfg)
	fleet(ctx, client, c)
	return c
}

// space of the disk that a folder is on, or will be.
func space(dir string) (free, size uint64) {
	for {
		var s unix.Statfs_t
		if err := unix.Statfs(dir, &s); err == nil {
			return s.Bavail * uint64(s.Bsize), s.Blocks * uint64(s.Bsize)
		}
		up := filepath.Dir(dir)
		if up == dir {
			return 0, 0
		}
		dir = up
	}
}

// listens looks in the kernel's table: a connection would be counted by the centre as
// one of a stranger.
func listens(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return false
	}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			// proc_net(5): sl local_address rem_address st; 0A is LISTEN.
			f := strings.Fields(line)
			if len(f) > 3 && f[3] == "0A" && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", number)) {
				return true
			}
		}
	}
	return false
}

// health asks /readyz as a stranger may.
func health(ctx context.Context, cfg *config.Config, known map[string]doctor.Cert) string {
	host, port, err := net.SplitHostPort(cfg.HTTP)
	if err != nil {
		return "cannot be asked: " + err.Error()
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	scheme, transport := "http", &http.Transport{DisableKeepAlives: true}
	if cfg.TLS != nil {
		scheme = "https"
		pool := x509.NewCertPool()
		if pem, err := os.ReadFile(cfg.TLS.CA); err == nil {
			pool.AppendCertsFromPEM(pem)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}
		if hosts := known[cfg.TLS.Cert].Hosts; len(hosts) > 0 {
			transport.TLSClientConfig.ServerName = hosts[0]
		}
	}
	limited, cancel := context.WithTimeout(ctx, healthWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodGet, scheme+"://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return "cannot be asked: " + err.Error()
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return "nothing: " + output.OneLine(err.Error())
	}
	defer answer.Body.Close() // it was only read
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<10))
	return answer.Status
}

// documents reads and lints the registry's files.
func documents(cfg *config.Config) (entries int, problems []string) {
	var all importer.Result
	for _, path := range cfg.Registry {
		f, err := os.Open(path)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		doc, err := importer.Read(f, path, importer.Auto, importer.Options{Owner: cfg.ASN})
		_ = f.Close() // it was only read
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		all.Entries = append(all.Entries, doc.Entries...)
		all.Problems = append(all.Problems, doc.Problems...)
	}
	for _, p := range all.Problems {
		problems = append(problems, output.OneLine(fmt.Sprint(p)))
	}
	for _, d := range registry.Lint(all.Entries, nil, registry.LintOptions{Problems: all.Problems, Without: []registry.LintCode{registry.Unused}}) {
		problems = append(problems, output.OneLine(d.String()))
	}
	return len(all.Entries), problems
}

func fleet(ctx context.Context, client *centre.Client, c *doctor.Centre) {
	answer, err := centre.Call(ctx, client, centralv1.FleetClient.GetFleet, &centralv1.GetFleetRequest{})
	if err != nil {
		c.FleetProblem = output.OneLine(err.Error())
		return
	}
	c.Fleet = map[string]doctor.Standing{}
	for _, s := range output.Printable(answer).GetServices() {
		c.Fleet[s.GetName()] = doctor.Standing{Nodes: int(s.GetNodes()), Announcing: int(s.GetAnnouncing()),
			MinAnnouncing: int(s.GetMinAnnouncing()), MaxWithdrawn: s.GetMaxWithdrawn()}
	}
}
