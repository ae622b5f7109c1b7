// Package graph draws a topology with its BGP sessions as one picture in SVG.
//
// In goes a [Graph]: nodes, links, and the sessions between pairs of nodes if they are known; out comes an SVG 1.1 document
// that stands alone: no script, no font, no file of elsewhere. Nodes stand in rows: the centre on top, then the edges, the
// routers by their distance from the edges, and the clients at the bottom. A session's state is told by colour, by the style
// of the line and, unless all is well, by a word; tooltips tell the rest. The same graph gives the same octets on every
// machine, since all geometry is in whole numbers.
//
// The package reads nothing and asks nobody. Texts may be anything: they are escaped, and cut where they are too long.
package graph
