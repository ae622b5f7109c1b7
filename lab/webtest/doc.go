// Package webtest walks the centre's page with a real Chromium.
//
// In go a network namespace to run it in, the host that the page is on, and addresses to
// open; out come the page's faults: what a reader without sight, mouse, JavaScript or a
// wide screen stumbles over, what the browser complains of, and what it asked of any other
// host. Only tests use it. It never downloads anything, never uses a profile of the
// machine's, and leaves no process behind.
package webtest
