// Command floor makes HTTP requests and nothing else: what Go and the machine cost without catchment. It is started by the
// benchmark of package idle, as `floor ADDRESS REQUESTS-PER-SECOND AT-ONCE`, and ends with it: AT-ONCE is how many requests
// share a moment.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"
)

func main() {
	fmt.Fprintln(os.Stderr, "floor:", run(os.Args[1:]))
	os.Exit(1)
}

// run returns only with an error.
func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("want an address, a rate and how many requests at once, have %q", args)
	}
	rate, err := strconv.Atoi(args[1])
	if err != nil || rate <= 0 {
		return fmt.Errorf("the rate %q is not a number above 0", args[1])
	}
	atOnce, err := strconv.Atoi(args[2])
	if err != nil || atOnce <= 0 {
		return fmt.Errorf("at once %q is not a number above 0", args[2])
	}
	failed := make(chan error)
	first := time.Now()
	for range atOnce {
		go func() { failed <- ask(args[0], first, time.Second*time.Duration(atOnce)/time.Duration(rate)) }()
	}
	return <-failed
}

// ask makes a request at first and after each further interval, and returns only with an error.
func ask(address string, first time.Time, interval time.Duration) error {
	buffer := make([]byte, 4<<10)
	for next := first; ; next = next.Add(interval) {
		time.Sleep(time.Until(next))
		if err := request(address, buffer); err != nil {
			return err
		}
	}
}

func request(address string, buffer []byte) error {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: "+address+"\r\nConnection: close\r\n\r\n"); err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, conn, buffer)
	return err
}
