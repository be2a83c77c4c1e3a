// Package memory reports how much memory this process may still allocate, so that a request that is too large returns
// an error. Without the check, Go's allocator would end the process when memory runs out, and Linux would kill it when
// it exceeds the limit of its cgroup.
package memory

import (
	"fmt"
	"os"
)

// reserve is the number of bytes that Available leaves for the rest of the program and for Go's allocator, which
// requests large chunks. Available leaves an eighth of the memory if that is less.
const reserve = 256 << 20

// Check returns an error if this process cannot allocate n more bytes.
func Check(n int64) error {
	if n <= 1<<20 { // not worth asking
		return nil
	}
	if have := Available(); n > have {
		return fmt.Errorf("%d bytes (%s) are needed, but this process can allocate only %s", n, Text(n), Text(have))
	}
	return nil
}

// Text formats a number of bytes with a unit, as in "18.6 GiB".
func Text(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	v, i := float64(n), 0
	for ; v >= 1024 && i < len(units)-1; i++ {
		v /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}

// Make allocates n zeroed bytes outside Go's heap, so that a lack of memory is an error and does not end the process.
// The caller releases them with Free.
func Make(n int64) ([]byte, error) {
	if n == 0 {
		return []byte{}, nil
	}
	if err := Check(n); err != nil {
		return nil, err
	}
	b, err := allocate(n)
	if err != nil {
		return nil, fmt.Errorf("%d bytes (%s) are needed: %w", n, Text(n), err)
	}
	return b, nil
}

// Map maps a file of n bytes privately: writes stay in this process. The caller releases the mapping with Free. If the
// file is shortened in place, an access behind its end ends the process.
func Map(f *os.File, n int64, writable bool) ([]byte, error) { return mapFile(f, n, writable) }

// Free releases memory that Make or Map returned.
func Free(b []byte) {
	if len(b) > 0 {
		release(b)
	}
}

// Drop says that the whole pages b of a mapping of Map will not be used soon: if they are, they are read again from
// the file. What was written to them may be lost. A system that cannot drop them keeps them.
func Drop(b []byte) { drop(b) }

// Available returns the number of bytes that this process may still allocate. It considers the machine's available
// memory, the process's resource limits and the limits of its control groups, as far as the system has them.
func Available() int64 {
	have := max(available(), 0)
	return have - min(reserve, have/8)
}
