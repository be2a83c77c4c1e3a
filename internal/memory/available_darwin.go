package memory

import (
	"math"

	"golang.org/x/sys/unix"
)

// available returns the size of the machine's memory: how much of it is free cannot be asked without C.
func available() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return math.MaxInt64
	}
	return int64(min(n, math.MaxInt64))
}
