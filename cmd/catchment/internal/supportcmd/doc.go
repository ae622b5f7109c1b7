// Package supportcmd is `catchment support-bundle`: one file for whoever shall help, with
// what a node and its centre say of themselves and without secrets.
//
// In go a configuration, a running node, a centre, the journal and the kernel's tables;
// out comes a tar.gz whose manifest says what is in it and what was left out, and why.
//
// Secrets are kept out three ways: files that hold nothing else (keys, password files,
// environment files) are never put in; a configuration is printed from a copy in which
// only what is known to be harmless was kept ([redacted]); and every secret that the
// configuration, its environment and its password files hold is taken out of every
// text, in each way in which it may be written there ([scrubber]).
package supportcmd
