// Package packages tests the packages that deploy/packages makes: what is in them, and what happens to a node when they
// are installed, upgraded and removed in a bare Debian.
//
// In go the tree and Debian's archive, as apt on this machine reaches it; out comes what dpkg, rpm and a router say. The
// machine itself gets no package: all happens in a root of its own, and in the network namespaces of package netlab.
// Only tests use it.
package packages
