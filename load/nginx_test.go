package load

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// A real server, and a time zone of its own in the timestamp.
func TestFeedOfANginx(t *testing.T) {
	lab := netlab.New(t, netlab.NginxServer)
	node := lab.Node("feed")
	node.WriteFile("/run/nginx/feed.conf", `user root;
pid /run/nginx/feed.pid;
error_log stderr;
events { worker_connections 16; }
http {
  access_log off;
  client_body_temp_path /run/nginx/1; proxy_temp_path /run/nginx/2; fastcgi_temp_path /run/nginx/3;
  uwsgi_temp_path /run/nginx/4; scgi_temp_path /run/nginx/5;
  server {
    listen 127.0.0.1:8000;
    location /load.json {
      default_type application/json;
      return 200 '{"timestamp":"$time_iso8601","rx_bandwidth":1200,"tx_badwidth":8000000.5}';
    }
  }
}
`)
	ctx, cancel := context.WithCancel(t.Context())
	var server sync.WaitGroup
	defer server.Wait()
	defer cancel()
	server.Go(func() {
		out, err := node.Run(ctx, "/usr/bin/env", "TZ=Asia/Kathmandu", "/usr/sbin/nginx", "-c", "/run/nginx/feed.conf", "-e", "stderr", "-g", "daemon off; env TZ;")
		if ctx.Err() == nil {
			t.Errorf("nginx: %v: %s", err, out)
		}
	})
	r := newFeedReader(&Source{Feed: &Feed{URL: "http://127.0.0.1:8000/load.json", Period: time.Second}})
	defer r.close()
	r.client.Transport.(*http.Transport).DialContext = node.DialContext
	netlab.Eventually(t, patience, "a figure", func() error {
		s, err := r.read(ctx)
		if err != nil {
			return err
		}
		if age := time.Since(s.At); s.Load != 8_000_000_500 || age < -time.Second || age > 3*time.Second {
			t.Errorf("%+v of age %v, want 8,000,000.5 kbit/s of now", s, age)
		}
		return nil
	})
}
