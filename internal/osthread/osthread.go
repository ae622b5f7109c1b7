// Package osthread runs functions on threads that they may change for good: that enter namespaces, for example.
//
// In goes a function; nothing comes out. A changed thread never runs another goroutine.
package osthread

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Own calls f on an OS thread that no other goroutine will ever run on: it is never unlocked, so the runtime ends it
// with the calling goroutine, which should end after it. The process's first thread is left alone, since /proc/self and
// the kernel's view of the process's namespaces are that thread's.
func Own(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	elsewhere := make(chan struct{})
	go func() {
		runtime.LockOSThread() // another thread, since the first one is held until this is done
		close(elsewhere)
		f()
	}()
	<-elsewhere
	runtime.UnlockOSThread()
}
