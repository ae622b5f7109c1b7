// Command floor makes HTTP requests and nothing else: what Go and the machine cost without catchment. It is started by the
// benchmark of package idle, as `floor ADDRESS REQUESTS-PER-SECOND`, and ends with it.
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
	if len(args) != 2 {
		return fmt.Errorf("want an address and a rate, have %q", args)
	}
	rate, err := strconv.Atoi(args[1])
	if err != nil || rate <= 0 {
		return fmt.Errorf("the rate %q is not a number above 0", args[1])
	}
	buffer := make([]byte, 4<<10)
	for tick := time.NewTicker(time.Second / time.Duration(rate)); ; <-tick.C {
		if err := request(args[0], buffer); err != nil {
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
