// Package memory reports how much memory this process may still allocate, so that a request that is too large returns
// an error. Without the check, Go's allocator would end the process when memory runs out, and Linux would kill it when
// it exceeds the limit of its cgroup.
package memory

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
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
	b, err := syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("%d bytes (%s) are needed: %w", n, Text(n), err)
	}
	return b, nil
}

// Map maps a file of n bytes privately: writes stay in this process. The caller releases the mapping with Free. If the
// file is shortened in place, an access behind its end ends the process.
func Map(f *os.File, n int64, writable bool) ([]byte, error) {
	protection := syscall.PROT_READ
	if writable {
		protection |= syscall.PROT_WRITE
	}
	return syscall.Mmap(int(f.Fd()), 0, int(n), protection, syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
}

// Free releases memory that Make or Map returned.
func Free(b []byte) {
	if len(b) > 0 {
		_ = syscall.Munmap(b) // cannot fail for memory from Make
	}
}

// Available returns the number of bytes that this process may still allocate. It considers the machine's available
// memory, the process's resource limits and the limits of its control groups.
func Available() int64 {
	have := machine()
	own := pages("/proc/self/statm")
	for limit, used := range map[int]int64{syscall.RLIMIT_AS: field(own, 0), syscall.RLIMIT_DATA: field(own, 5)} {
		var l syscall.Rlimit
		if syscall.Getrlimit(limit, &l) == nil && l.Cur < math.MaxInt64 {
			have = min(have, int64(l.Cur)-used)
		}
	}
	have = max(min(have, group()), 0)
	return have - min(reserve, have/8)
}

func pages(path string) []int64 {
	text, _ := os.ReadFile(path)
	var list []int64
	for word := range strings.FieldsSeq(string(text)) {
		n, _ := strconv.ParseInt(word, 10, 64)
		list = append(list, n*int64(os.Getpagesize()))
	}
	return list
}

func field(list []int64, i int) int64 {
	if i < len(list) {
		return list[i]
	}
	return 0
}

// machine returns the memory that Linux estimates to be available without swapping, plus the free swap space.
func machine() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return math.MaxInt64
	}
	total, found := int64(0), false
	for line := range bytes.Lines(text) {
		words := strings.Fields(string(line))
		if len(words) < 2 || words[0] != "MemAvailable:" && words[0] != "SwapFree:" {
			continue
		}
		n, _ := strconv.ParseInt(words[1], 10, 64)
		total += n << 10
		found = found || words[0] == "MemAvailable:"
	}
	if !found {
		return math.MaxInt64
	}
	return total
}

// groups lists the files of cgroup version 2 and version 1.
var groups = []struct{ controller, root, limit, used, cache string }{
	{"", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "},
	{"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "},
}

// group returns the memory that this process's control groups, including all parent groups, still allow.
func group() int64 {
	text, _ := os.ReadFile("/proc/self/cgroup")
	have := int64(math.MaxInt64)
	for line := range bytes.Lines(text) {
		words := strings.SplitN(strings.TrimSpace(string(line)), ":", 3) // number, controllers, path
		for _, g := range groups {
			if len(words) == 3 && words[1] == g.controller {
				for path := filepath.Clean("/" + words[2]); ; path = filepath.Dir(path) {
					have = min(have, left(filepath.Join(g.root, path), g.limit, g.used, g.cache))
					if path == "/" {
						break
					}
				}
			}
		}
	}
	return have
}

// left returns the memory that one control group still allows. Inactive file cache counts as free, because Linux
// reclaims it.
func left(dir, limit, used, cache string) int64 {
	most, err := number(filepath.Join(dir, limit))
	if err != nil {
		return math.MaxInt64 // the group has no limit, or its files are not visible here
	}
	taken, err := number(filepath.Join(dir, used))
	if err != nil {
		return math.MaxInt64
	}
	stat, _ := os.ReadFile(filepath.Join(dir, "memory.stat"))
	for line := range bytes.Lines(stat) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(string(line)), cache); ok {
			n, _ := strconv.ParseInt(text, 10, 64)
			taken -= n
		}
	}
	return max(most-taken, 0)
}

func number(path string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}
