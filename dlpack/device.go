package dlpack

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Device is one device: a type and an index among the devices of that type (DLDevice, 8 bytes).
type Device struct {
	Type DeviceType
	ID   int32
}

// String returns "cuda:1", or "remote[0]-cuda:1" for a device of an RPC session.
func (d Device) String() string { return d.Type.String() + ":" + strconv.Itoa(int(d.ID)) }

// MarshalText returns what [Device.String] does.
func (d Device) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText parses a device as [ParseDevice] does.
func (d *Device) UnmarshalText(text []byte) error {
	parsed, err := ParseDevice(string(text))
	if err == nil {
		*d = parsed
	}
	return err
}

// ParseDevice parses `name[:index]`, where the default index is 0, and the form of remote devices that [Device.String]
// returns. The name can be any alias. The index must be a decimal number within the range of int32.
func ParseDevice(s string) (Device, error) {
	fail := func(err error) (Device, error) { return Device{}, fmt.Errorf("parse device %q: %w", s, err) }
	name, index, hasIndex := strings.Cut(s, ":")
	session := -1
	if rest, ok := strings.CutPrefix(name, "remote["); ok {
		number, base, found := strings.Cut(rest, "]-")
		if !found {
			return fail(fmt.Errorf("a remote device is written remote[session]-name:index"))
		}
		n, err := parseIndex(number, int64(MaxRPCSession))
		if err != nil {
			return fail(fmt.Errorf("session: %w", err))
		}
		session, name = int(n), base
	}
	if name == "" {
		return fail(fmt.Errorf("the device type is missing: write name[:index], for instance cuda:0"))
	}
	d := Device{}
	var err error
	if d.Type, err = lookUpDeviceType(name); err != nil {
		return fail(err)
	}
	if session >= 0 {
		if d.Type, err = d.Type.Remote(session); err != nil {
			return fail(err)
		}
	}
	if hasIndex {
		n, err := parseIndex(index, math.MaxInt32)
		if err != nil {
			return fail(fmt.Errorf("index: %w", err))
		}
		d.ID = int32(n)
	}
	return d, nil
}

// parseIndex parses decimal digits: no sign, no underscore, no space.
func parseIndex(s string, largest int64) (int64, error) {
	if s == "" {
		return 0, fmt.Errorf("a number is missing")
	}
	n := int64(0)
	for i := range len(s) {
		c := s[i]
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("%q is not a number from 0 to %d", s, largest)
		}
		if n = n*10 + int64(c-'0'); n > largest {
			return 0, fmt.Errorf("%s is larger than %d", s, largest)
		}
	}
	return n, nil
}
