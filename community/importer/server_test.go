package importer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const answered = "% This is the test database.\r\n\r\naut-num:        AS64497\r\nremarks:        64497:5 learned from peers\r\nlast-modified:  2023-01-06T13:57:20Z\r\nsource:         TEST\r\n\r\n"

// pipeDialer is a whois server at the other end of a pipe.
type pipeDialer struct {
	address string // that was dialled
	query   string
	answer  func(io.Writer)
	done    chan struct{}
}

func (d *pipeDialer) DialContext(_ context.Context, network, address string) (net.Conn, error) {
	d.address = network + " " + address
	ours, theirs := net.Pipe()
	d.done = make(chan struct{})
	go func() {
		defer close(d.done)
		defer theirs.Close()
		d.query, _ = bufio.NewReader(theirs).ReadString('\n')
		d.answer(theirs)
	}()
	return ours, nil
}

func TestWhoisAsksAndReadsTheObject(t *testing.T) {
	for host, address := range map[string]string{"whois.test.example": "tcp whois.test.example:43", "192.0.2.1:4343": "tcp 192.0.2.1:4343", "2001:db8::1": "tcp [2001:db8::1]:43"} {
		d := &pipeDialer{answer: func(w io.Writer) { io.WriteString(w, answered) }}
		r, err := Whois(t.Context(), d, host, "AS64497")
		<-d.done
		if err != nil || len(r.Entries) != 1 || r.Entries[0].Pattern.String() != "64497:5" || r.Entries[0].Source.Line != 4 || r.Entries[0].Source.Date.Year() != 2023 {
			t.Errorf("%s gave %s, error %v", host, dump(r), err)
		}
		if d.address != address || d.query != "AS64497\r\n" {
			t.Errorf("%s was dialled and asked %q, want %s", d.address, d.query, address)
		}
	}
}

func TestWhoisSaysWhatIsWrong(t *testing.T) {
	for answer, want := range map[string]string{
		"%ERROR:101: no entries found\n":       "ERROR:101: no entries found",
		"person: A\nnic-hdl: XX1-TEST\n":       "no aut-num object",
		strings.Repeat("x", longestAnswer+100): "larger than 16 MiB",
	} {
		d := &pipeDialer{answer: func(w io.Writer) { io.WriteString(w, answer) }}
		_, err := Whois(t.Context(), d, "whois.test.example", "AS64497")
		<-d.done
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %s", err, want)
		}
	}
	for _, query := range []string{"", "AS1\r\nAS2", strings.Repeat("a", 300)} {
		if _, err := Whois(t.Context(), &pipeDialer{}, "h", query); err == nil {
			t.Errorf("the query %q was sent", query)
		}
	}
}

func TestWhoisEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := &pipeDialer{answer: func(w io.Writer) {
		cancel()
		io.Copy(w, blocked{ctx.Done()})
	}}
	_, err := Whois(ctx, d, "whois.test.example", "AS64497")
	<-d.done
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// blocked gives one octet, and then writes into a pipe that nobody reads.
type blocked struct{ until <-chan struct{} }

func (b blocked) Read(p []byte) (int, error) {
	<-b.until
	p[0] = 'x'
	return 1, nil
}

const restObject = `{"objects":{"object":[{"type":"aut-num","attributes":{"attribute":[
 {"name":"aut-num","value":"AS64497"},{"name":"remarks","value":"Communities for customers"},
 {"name":"remarks","value":"64497:1x - prepend x times\nto peers"},{"name":"remarks","value":"64497:9 - Zürich, learned"},
 {"name":"export","value":"to AS64499 action community .= { 64497:7 }; announce AS64497"},{"name":"last-modified","value":"2023-01-06T13:57:20Z"}]}}]}}`

func TestRESTReadsTheObject(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/aut-num/AS64497.json":
			fmt.Fprint(w, restObject)
		case "/page":
			fmt.Fprint(w, answered)
		case "/other":
			fmt.Fprint(w, `{"objects":{"object":[]}}`)
		case "/broken":
			fmt.Fprint(w, `{"objects":`)
		default:
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"errormessages":{"errormessage":[{"text":"ERROR:101: no entries found\n\nNo entries found in source %s.\n","args":[{"value":"TEST"}]}]}}`)
		}
	}))
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	r, err := REST(t.Context(), client, server.URL+"/aut-num/AS64497.json")
	if err != nil || len(r.Entries) != 2 || len(r.InUse) != 1 || r.Entries[0].Meaning != "prepend x times to peers" || r.Entries[0].Source.Line != 3 || r.Entries[0].Owner != 64497 || r.Entries[0].Source.Date.IsZero() {
		t.Errorf("got %s, error %v", dump(r), err)
	}
	if r, err := REST(t.Context(), client, server.URL+"/page"); err != nil || len(r.Entries) != 1 {
		t.Errorf("a page gave %s, error %v", dump(r), err)
	}
	for path, want := range map[string]string{"/other": "no aut-num object", "/broken": "unexpected end", "/none": "404 Not Found: ERROR:101: no entries found No entries found in source TEST."} {
		if _, err := REST(t.Context(), client, server.URL+path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one that says %s", path, err, want)
		}
	}
}
