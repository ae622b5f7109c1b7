package guard

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Error codes (RFC 4271, section 4.5; RFC 9687).
const (
	codeHeader   = 1
	codeOpen     = 2
	codeUpdate   = 3
	codeHold     = 4
	codeFSM      = 5
	codeCease    = 6
	codeRefresh  = 7
	codeSendHold = 8
)

// Subcodes of OPEN Message Error.
const (
	openUnspecific  = 0
	openVersion     = 1
	openPeerAS      = 2
	openIdentifier  = 3
	openParameter   = 4
	openHoldTime    = 6
	openCapability  = 7
	openRole        = 11
	fsmOpenSent     = 1 // RFC 6608
	fsmOpenConfirm  = 2
	fsmEstablished  = 3
	ceaseMaxPrefix  = 1 // RFC 4486
	ceaseShutdown   = 2
	ceaseRemoved    = 3
	ceaseReset      = 4
	ceaseCollision  = 7
	maxShutdownText = 255 // bytes, RFC 9003
)

// notification is a NOTIFICATION message.
type notification struct {
	code, subcode byte
	data          []byte
}

// fault is the end of a connection.
type fault struct {
	reason   string        // for people
	notify   *notification // what to tell the neighbour; nil: nothing
	received *notification // what the neighbour told us; nil: nothing
	told     bool          // the neighbour got its NOTIFICATION already
}

// append appends the whole message to b. Data that does not fit is cut.
func (n notification) append(b []byte) []byte {
	data := n.data
	if len(data) > maxBody-2 {
		data = data[:maxBody-2]
	}
	b = appendHeader(b, typeNotification, 2+len(data))
	b = append(b, n.code, n.subcode)
	return append(b, data...)
}

// parseNotification takes a body of at least 2 bytes apart and keeps no part of it.
func parseNotification(body []byte) notification {
	return notification{code: body[0], subcode: body[1], data: append([]byte(nil), body[2:]...)}
}

// notification makes a Cease with a text (RFC 9003), which is cut at a rune when it
// is too long. Subcodes that carry no text go without. The subcode is for a Cease
// that has none.
func (c Cease) notification(subcode byte) notification {
	n := notification{code: codeCease, subcode: subcode}
	if c.Subcode != 0 {
		n.subcode = c.Subcode
	}
	if n.subcode != ceaseShutdown && n.subcode != ceaseReset || c.Text == "" {
		return n
	}
	text := c.Text
	for len(text) > maxShutdownText {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	n.data = append([]byte{byte(len(text))}, text...)
	return n
}

// String names the notification: `Cease/Administrative Shutdown: "maintenance"`.
// Text of the neighbour is quoted: control characters come out escaped.
func (n notification) String() string {
	s := errorName(n.code)
	if name := subcodeName(n.code, n.subcode); name != "" {
		s += "/" + name
	}
	switch {
	case len(n.data) == 0:
		return s
	case n.code == codeCease && (n.subcode == ceaseShutdown || n.subcode == ceaseReset):
		text, ok := shutdownText(n.data)
		if !ok {
			return s + " (with a malformed text)"
		}
		if text == "" {
			return s
		}
		return s + ": " + strconv.Quote(text)
	}
	return fmt.Sprintf("%s (data %x)", s, n.data[:min(len(n.data), 32)])
}

// shutdownText is the text of RFC 9003: one length byte and UTF-8.
func shutdownText(data []byte) (string, bool) {
	size := int(data[0])
	if size > len(data)-1 || !utf8.Valid(data[1:1+size]) {
		return "", false
	}
	return string(data[1 : 1+size]), true
}

func errorName(code byte) string {
	switch code {
	case codeHeader:
		return "Message Header Error"
	case codeOpen:
		return "OPEN Message Error"
	case codeUpdate:
		return "UPDATE Message Error"
	case codeHold:
		return "Hold Timer Expired"
	case codeFSM:
		return "Finite State Machine Error"
	case codeCease:
		return "Cease"
	case codeRefresh:
		return "ROUTE-REFRESH Message Error"
	case codeSendHold:
		return "Send Hold Timer Expired"
	}
	return fmt.Sprintf("error %d", code)
}

// subcodeName is empty where subcode 0 says nothing.
func subcodeName(code, subcode byte) string {
	if name, ok := subcodeNames[[2]byte{code, subcode}]; ok {
		return name
	}
	if subcode == 0 {
		return ""
	}
	return fmt.Sprintf("subcode %d", subcode)
}

var subcodeNames = map[[2]byte]string{
	{codeHeader, 1}: "Connection Not Synchronized",
	{codeHeader, 2}: "Bad Message Length",
	{codeHeader, 3}: "Bad Message Type",

	{codeOpen, openVersion}:    "Unsupported Version Number",
	{codeOpen, openPeerAS}:     "Bad Peer AS",
	{codeOpen, openIdentifier}: "Bad BGP Identifier",
	{codeOpen, openParameter}:  "Unsupported Optional Parameter",
	{codeOpen, openHoldTime}:   "Unacceptable Hold Time",
	{codeOpen, openCapability}: "Unsupported Capability",
	{codeOpen, openRole}:       "Role Mismatch",

	{codeUpdate, 1}:  "Malformed Attribute List",
	{codeUpdate, 2}:  "Unrecognized Well-known Attribute",
	{codeUpdate, 3}:  "Missing Well-known Attribute",
	{codeUpdate, 4}:  "Attribute Flags Error",
	{codeUpdate, 5}:  "Attribute Length Error",
	{codeUpdate, 6}:  "Invalid ORIGIN Attribute",
	{codeUpdate, 8}:  "Invalid NEXT_HOP Attribute",
	{codeUpdate, 9}:  "Optional Attribute Error",
	{codeUpdate, 10}: "Invalid Network Field",
	{codeUpdate, 11}: "Malformed AS_PATH",

	{codeFSM, fsmOpenSent}:    "Unexpected Message in OpenSent",
	{codeFSM, fsmOpenConfirm}: "Unexpected Message in OpenConfirm",
	{codeFSM, fsmEstablished}: "Unexpected Message in Established",

	{codeCease, ceaseMaxPrefix}: "Maximum Number of Prefixes Reached",
	{codeCease, ceaseShutdown}:  "Administrative Shutdown",
	{codeCease, ceaseRemoved}:   "Peer De-configured",
	{codeCease, ceaseReset}:     "Administrative Reset",
	{codeCease, 5}:              "Connection Rejected",
	{codeCease, 6}:              "Other Configuration Change",
	{codeCease, ceaseCollision}: "Connection Collision Resolution",
	{codeCease, 8}:              "Out of Resources",
	{codeCease, 9}:              "Hard Reset",
	{codeCease, 10}:             "BFD Down",

	{codeRefresh, 1}: "Invalid Message Length",
}
