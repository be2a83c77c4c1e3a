package memory

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

func available() int64 {
	have := machine()
	own := pages("/proc/self/statm")
	for limit, used := range map[int]int64{syscall.RLIMIT_AS: field(own, 0), syscall.RLIMIT_DATA: field(own, 5)} {
		var l syscall.Rlimit
		if syscall.Getrlimit(limit, &l) == nil && l.Cur < math.MaxInt64 {
			have = min(have, int64(l.Cur)-used)
		}
	}
	return min(have, group())
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
