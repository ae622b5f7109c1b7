package netlab

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Nginx is nginx on a node: the service that is checked. GET /health answers 200 with "ok", GET /zeros with a megabyte of
// zeros, or as many of them as the request's Range says.
type Nginx struct {
	node *Node
	proc *Proc
}

// Nginx starts nginx on these addresses ("10.77.1.1:8080", "[::]:8080") and waits until it listens. For a VIP that the
// node does not have yet use "0.0.0.0:8080" or "[::]:8080".
func (n *Node) Nginx(addrs ...string) *Nginx {
	n.lab.t.Helper()
	x := &Nginx{node: n}
	if err := n.writeFile("/run/nginx/nginx.conf", nginxConfig(addrs)); err != nil {
		n.lab.t.Fatalf("node %s: nginx: %v", n.name, err)
	}
	if err := n.writeFile("/run/nginx/www/zeros", string(make([]byte, 1<<20))); err != nil {
		n.lab.t.Fatalf("node %s: nginx: %v", n.name, err)
	}
	if err := x.Start(); err != nil {
		n.lab.t.Fatalf("node %s: nginx: %v", n.name, err)
	}
	return x
}

func nginxConfig(addrs []string) string {
	var listens strings.Builder
	for _, addr := range addrs {
		fmt.Fprintf(&listens, "    listen %s;\n", addr)
	}
	var temp strings.Builder
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&temp, "  %s_temp_path /run/nginx/%s;\n", kind, kind)
	}
	return `user root;
worker_processes 2;
pid /run/nginx/nginx.pid;
error_log stderr;
events { worker_connections 256; }
http {
  access_log off;
  default_type text/plain;
` + temp.String() + `  server {
` + listens.String() + `    location /health { return 200 "ok\n"; }
    location = /zeros { root /run/nginx/www; }
    location / { return 200 "catchment lab\n"; }
  }
}
`
}

// Start starts nginx and waits until it listens: it writes its pid file after that.
func (x *Nginx) Start() error {
	pidFile := x.node.HostPath("/run/nginx/nginx.pid")
	if err := os.RemoveAll(pidFile); err != nil { // of a killed one
		return err
	}
	var err error
	x.proc, err = x.node.startProc("nginx", nil, []string{
		nginxTool, "-c", "/run/nginx/nginx.conf", "-e", "stderr", "-g", "daemon off;",
	})
	if err != nil {
		return err
	}
	return x.proc.await(startWait, func() error {
		text, err := os.ReadFile(pidFile)
		if err == nil && strings.TrimSpace(string(text)) != strconv.Itoa(x.proc.PID()) {
			err = fmt.Errorf("nginx has not written %s", pidFile)
		}
		return err
	})
}

// Kill ends master and workers with SIGKILL, as a crash would.
func (x *Nginx) Kill() { x.proc.Kill() }

// Stop ends nginx in an orderly way and waits for it.
func (x *Nginx) Stop() error {
	if err := x.proc.Signal(unix.SIGTERM); err != nil {
		return err
	}
	if _, err := x.proc.Wait(stopWait); err != nil {
		x.Kill()
		return err
	}
	return nil
}

// Restart is Stop and Start, as `systemctl restart` does it.
func (x *Nginx) Restart() error {
	if err := x.Stop(); err != nil {
		return err
	}
	return x.Start()
}

// Proc is the master process.
func (x *Nginx) Proc() *Proc { return x.proc }
