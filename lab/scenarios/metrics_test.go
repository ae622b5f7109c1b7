package scenarios

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestMetricsAgreeWithTheRouter(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.config()
	c.Lines = []string{"metrics: 127.0.0.1:9179"}
	s.start(c)
	s.awaitRoutes(soon, look{})
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: s.Edge.DialContext}}
	get := func(path string) (int, string) {
		t.Helper()
		response, err := client.Get("http://127.0.0.1:9179" + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := get(path); code != http.StatusOK {
			t.Errorf("%s: %d %q", path, code, body)
		}
	}
	counts := count(t, s.peers()[0])
	_, text := get("/metrics")
	for _, line := range []string{
		fmt.Sprintf(`catchment_updates_sent_total{neighbor="frr"} %d`, *counts.Updates),
		`catchment_session_up{asn="65001",neighbor="frr"} 1`,
		`catchment_session_up{asn="4200000001",neighbor="bird"} 1`,
		`catchment_routes{family="ipv4",neighbor="frr"} 1`,
		`catchment_routes{family="ipv6",neighbor="bird"} 1`,
		`catchment_check_up{check="web",scope="hard",service="video"} 1`,
		`catchment_service_state{service="video",state="announced"} 1`,
		`catchment_service_state{service="video",state="withdrawn"} 0`,
		`catchment_way_back_up{family="ipv6"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("/metrics lacks %q:\n%s", line, text)
		}
	}
}
