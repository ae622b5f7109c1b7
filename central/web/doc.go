// Package web is the NOC's page: the fleet, its nodes, windows, communities and the audit
// log, for a browser.
//
// In go requests of people whom an identity.Gate has told apart (Gate.Pages), and what the
// API answers them; out come pages that are whole without JavaScript, and that keep up with
// the fleet where there is some. Everything that a page shows or does goes through the API
// as the person who asks, so the page can do nothing that the command line cannot, and what
// is refused there is refused here with the same words.
//
// It keeps no state but what it has drawn last. It never decides anything, never asks
// another host for anything, never puts a secret into an address, and never sends a script
// or a style within a page (Content-Security-Policy).
package web
