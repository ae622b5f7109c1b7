package osthread

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Each function has a thread to itself, and none has the process's first, wherever its goroutine began.
func TestEachFunctionHasAThreadOfItsOwn(t *testing.T) {
	seen := map[int]bool{unix.Getpid(): true}
	ids, release := make(chan int), make(chan struct{})
	const count = 20
	for range count {
		go Own(func() {
			ids <- unix.Gettid()
			<-release // so that the thread is not ended and its number given again
		})
	}
	for range count {
		id := <-ids
		if seen[id] {
			t.Errorf("thread %d twice, or the process's first", id)
		}
		seen[id] = true
	}
	close(release)
	runtime.Gosched()
}
