package healthcheck

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/godbus/dbus/v5"
)

// dbusConn calls methods over a connection that it does not own, one after the
// other, by way of the library's messages: its connections have goroutines that
// outlive them.
type dbusConn struct {
	conn   net.Conn
	reader *bufio.Reader
	serial uint32
}

// maxBusLine is the longest line of an authentication that is read.
const maxBusLine = 4 << 10

// begin proves who we are by the socket's credentials (D-Bus specification,
// "Authentication Protocol", EXTERNAL) and says hello where that is asked for.
func (b *dbusConn) begin(hello bool) error {
	b.reader = bufio.NewReaderSize(b.conn, maxBusLine)
	uid := hex.EncodeToString([]byte(strconv.Itoa(os.Geteuid())))
	if _, err := fmt.Fprintf(b.conn, "\x00AUTH EXTERNAL %s\r\n", uid); err != nil {
		return err
	}
	line, err := b.reader.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, []byte("OK ")) {
		return fmt.Errorf("authentication refused: %s", plain(string(line)))
	}
	if _, err := io.WriteString(b.conn, "BEGIN\r\n"); err != nil || !hello {
		return err
	}
	_, err = b.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello")
	return err
}

// property reads a property that is a text.
func (b *dbusConn) property(service, object, iface, name string) (string, error) {
	body, err := b.call(service, object, "org.freedesktop.DBus.Properties", "Get", iface, name)
	if err != nil {
		return "", err
	}
	if len(body) == 1 {
		if variant, ok := body[0].(dbus.Variant); ok {
			if text, ok := variant.Value().(string); ok {
				return text, nil
			}
		}
	}
	return "", fmt.Errorf("%s is not a text", name)
}

// call sends a method call with texts as its arguments and waits for the reply.
// Signals and whatever else arrives are skipped.
func (b *dbusConn) call(service, object, iface, method string, arguments ...any) ([]any, error) {
	b.serial++
	wire, err := methodCall(b.serial, service, object, iface, method, arguments)
	if err != nil {
		return nil, err
	}
	if _, err := b.conn.Write(wire); err != nil {
		return nil, err
	}
	for {
		reply, err := dbus.DecodeMessage(b.reader)
		if err != nil {
			return nil, err
		}
		if to, ok := reply.Headers[dbus.FieldReplySerial].Value().(uint32); !ok || to != b.serial {
			continue
		}
		if reply.Type == dbus.TypeError {
			name, _ := reply.Headers[dbus.FieldErrorName].Value().(string)
			return nil, dbusRefusal{name, reply.Body}
		}
		return reply.Body, nil
	}
}

// methodCall renders a call. The library numbers messages on its own connections
// only, so the number goes where the specification has it ("Message Format":
// bytes 8 to 11).
func methodCall(serial uint32, service, object, iface, method string, arguments []any) ([]byte, error) {
	m := dbus.Message{
		Type: dbus.TypeMethodCall,
		Headers: map[dbus.HeaderField]dbus.Variant{
			dbus.FieldDestination: dbus.MakeVariant(service),
			dbus.FieldPath:        dbus.MakeVariant(dbus.ObjectPath(object)),
			dbus.FieldInterface:   dbus.MakeVariant(iface),
			dbus.FieldMember:      dbus.MakeVariant(method),
		},
		Body: arguments,
	}
	if len(arguments) > 0 {
		m.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(arguments...))
	}
	var wire bytes.Buffer
	if err := m.EncodeTo(&wire, binary.LittleEndian); err != nil {
		return nil, err
	}
	if wire.Len() < 16 {
		return nil, errors.New("message without a header")
	}
	binary.LittleEndian.PutUint32(wire.Bytes()[8:], serial)
	return wire.Bytes(), nil
}

// dbusRefusal is an error reply.
type dbusRefusal struct {
	name string
	body []any
}

// Error is the name of the error and its text.
func (r dbusRefusal) Error() string { return strings.TrimSpace(r.name + " " + r.text()) }

// text is what the other side says about it.
func (r dbusRefusal) text() string {
	if len(r.body) > 0 {
		if text, ok := r.body[0].(string); ok {
			return plain(text)
		}
	}
	return plain(r.name)
}

// nobody says that the service is not on the bus.
func (r dbusRefusal) nobody() bool {
	return r.name == "org.freedesktop.DBus.Error.ServiceUnknown" || r.name == "org.freedesktop.DBus.Error.NameHasNoOwner"
}
