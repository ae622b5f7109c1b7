package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serve is an HTTP server for a test.
func serve(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.URL
}

func readFeed(t *testing.T, url string) (Sample, error) {
	t.Helper()
	r := newFeedReader(&Source{Feed: &Feed{URL: url, Period: time.Second}})
	defer r.close()
	return r.read(t.Context())
}

func TestFeedIsReadOverHTTP(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if r.Method != http.MethodGet || r.URL.Path != "/load.json" || user != "u" || password != "p" || r.Header.Get("Accept") != "application/json" {
			http.Error(w, "what?", http.StatusTeapot)
			return
		}
		fmt.Fprint(w, `{`+stamp+`,"total_bandwidth":5000}`)
	})
	s, err := readFeed(t, strings.Replace(url, "http://", "http://u:p@", 1)+"/load.json")
	if err != nil || s.Load != 5e6 || !s.At.Equal(start) {
		t.Errorf("%+v, %v; want 5 Mbit/s", s, err)
	}
}

func TestFeedThatDoesNotAnswerWellIsRefusedWithoutItsPassword(t *testing.T) {
	const secret = "hunter2"
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		want   Reason
		says   string
	}{
		"status":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, Unreachable, "status 503"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusFound) }, Unreachable, "status 302"},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.CopyN(w, zeroes{}, longestAnswer+1)
		}, Malformed, "longer than"},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "{")
		}, Unreachable, "EOF"},
		"hung": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, Unreachable, "no answer within 1s"},
		"hung body": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, Unreachable, "deadline"},
	} {
		t.Run(name, func(t *testing.T) {
			url := strings.Replace(serve(t, c.handle), "http://", "http://u:"+secret+"@", 1)
			_, err := readFeed(t, url+"/load.json?token="+secret)
			wantReason(t, err, c.want)
			if text := fmt.Sprint(err); !strings.Contains(text, c.says) || strings.Contains(text, secret) {
				t.Errorf("%v; want %q, and no secret", err, c.says)
			}
		})
	}
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { return len(p), nil }

func TestServerThatIsNotThereIsRefusedWithoutItsPassword(t *testing.T) {
	for _, url := range []string{"http://u:hunter2@127.0.0.1:1/x", "http://u:hunter2@name.invalid/x", "http://127.0.0.1:1/%zz?hunter2"} {
		_, err := readFeed(t, url)
		wantReason(t, err, Unreachable)
		if strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Errorf("the password is told: %v", err)
		}
	}
}

func TestPrometheusIsAskedAnInstantQuery(t *testing.T) {
	const query = `sum(rate(x{a="b+c"}[1m])) * 8`
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/prom/api/v1/query":
			http.NotFound(w, r)
		case r.FormValue("query") != query:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"status":"error","errorType":"bad_data","error":"parse error"}`)
		default:
			fmt.Fprint(w, `{"status":"success","data":{"resultType":"scalar","result":[1,"7"]}}`)
		}
	})
	ask := func(base, query string) (Sample, error) {
		r := newPrometheusReader(&Source{Prometheus: &Prometheus{URL: base, Query: query, Period: time.Second}})
		defer r.close()
		return r.read(t.Context())
	}
	for _, base := range []string{url + "/prom", url + "/prom/"} {
		s, err := ask(base, query)
		if err != nil || s.Load != 7 || s.At.Unix() != 1 {
			t.Errorf("%s: %+v, %v", base, s, err)
		}
	}
	_, err := ask(url+"/prom", "up{")
	wantReason(t, err, Malformed)
	if !strings.Contains(fmt.Sprint(err), "parse error") {
		t.Errorf("%v; want what Prometheus said", err)
	}
	_, err = ask(url, query)
	wantReason(t, err, Unreachable)
}

func TestRequestEndsWithTheContext(t *testing.T) {
	asked := make(chan struct{})
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	r := newFeedReader(&Source{Feed: &Feed{URL: url, Period: time.Hour}})
	defer r.close()
	ended := make(chan error, 1)
	go func() {
		_, err := r.read(ctx)
		ended <- err
	}()
	<-asked
	cancel()
	select {
	case err := <-ended:
		if err == nil || errors.Is(err, errNothingNew) {
			t.Errorf("error %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the request goes on")
	}
}
