package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// devices reads interfaces.
type devices struct {
	route   *socket
	control int // a socket for ioctl
}

func newDevices(route *socket) (*devices, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socket for ethtool: %w", err)
	}
	return &devices{route: route, control: fd}, nil
}

func (d *devices) close() error { return errors.Join(d.route.close(), unix.Close(d.control)) }

// device is an interface at a moment.
type device struct {
	counters Counters
	kind     string // IFLA_INFO_KIND; "": hardware
}

// get reads the interface that has the name now.
func (d *devices) get(name string) (device, error) {
	if len(name) >= unix.IFNAMSIZ {
		return device{}, refuse(Unreachable, "interface %s: a name has at most %d octets", name, unix.IFNAMSIZ-1)
	}
	body := attr(make([]byte, unix.SizeofIfInfomsg), unix.IFLA_IFNAME, append([]byte(name), 0))
	var found device
	ok := false
	err := d.route.request(unix.RTM_GETLINK, unix.NLM_F_ACK, body, func(b []byte) {
		if got, good := parseDevice(b); good {
			found, ok = got, true
		}
	})
	found.counters.At = time.Now()
	switch {
	case errors.Is(err, unix.ENODEV):
		return device{}, refuse(Unreachable, "interface %s: there is none of that name", name)
	case err != nil:
		return device{}, refuse(Unreachable, "interface %s: %v", name, err)
	case !ok:
		return device{}, refuse(Malformed, "interface %s: the kernel gave no counters", name)
	}
	return found, nil
}

// parseDevice reads the body of RTM_NEWLINK: struct ifinfomsg, then attributes.
func parseDevice(b []byte) (d device, ok bool) {
	if len(b) < unix.SizeofIfInfomsg {
		return device{}, false
	}
	d.counters.Index = int(int32(binary.NativeEndian.Uint32(b[4:])))
	for kind, value := range attrs(b[unix.SizeofIfInfomsg:]) {
		switch kind {
		case unix.IFLA_STATS64: // struct rtnl_link_stats64: packets in and out, octets in and out
			if len(value) >= 32 {
				d.counters.Rx, d.counters.Tx = binary.NativeEndian.Uint64(value[16:]), binary.NativeEndian.Uint64(value[24:])
				ok = true
			}
		case unix.IFLA_LINKINFO:
			for kind, value := range attrs(value) {
				if kind == unix.IFLA_INFO_KIND {
					d.kind = unix.ByteSliceToString(value)
				}
			}
		}
	}
	return d, ok
}

// Of linux/ethtool.h: struct ethtool_link_settings, behind which the masks of link
// modes are, three of as many words as the kernel asks for.
const (
	settingsHead  = 48
	settingsSpeed = 4
	settingsWords = 15
	mostWords     = 127
)

// ifreq is struct ifreq with a pointer.
type ifreq struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [16]byte
}

// speed is what the kernel calls the interface's speed (ethtool), in bit/s; 0:
// unknown, as without carrier.
func (d *devices) speed(name string) float64 {
	if len(name) >= unix.IFNAMSIZ {
		return 0
	}
	settings := make([]byte, settingsHead+3*4*mostWords)
	// The first answer says how many words there are, as a negative number.
	for range 2 {
		binary.NativeEndian.PutUint32(settings, unix.ETHTOOL_GLINKSETTINGS)
		r := ifreq{data: unsafe.Pointer(&settings[0])}
		copy(r.name[:], name)
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(d.control), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&r)))
		runtime.KeepAlive(settings)
		if errno != 0 {
			return 0
		}
		words := int8(settings[settingsWords])
		if words > 0 {
			return megabits(binary.NativeEndian.Uint32(settings[settingsSpeed:]))
		}
		settings[settingsWords] = byte(-words)
	}
	return 0
}

// megabits reads a speed: 0 and all bits set are "unknown".
func megabits(speed uint32) float64 {
	if int32(speed) <= 0 {
		return 0
	}
	return float64(speed) * 1e6
}
