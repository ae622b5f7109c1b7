package importer

import (
	"fmt"
	"os"
	"testing"
)

func TestZDump(t *testing.T) {
	for _, f := range os.Args {
		if len(f) > 5 && f[:5] == "file=" {
			in, _ := os.Open(f[5:])
			r, err := Read(in, f[5:], Auto, Options{})
			fmt.Println("=====", f, err)
			fmt.Print(dump(r))
		}
	}
}
