package export

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// umask reads the process's file mode mask without changing it; the system call would have to set it for a moment. made
// is a file that was created with the permissions 0666: without /proc, its permissions tell the mask, and programs are
// executable for those who may read them.
func umask(made *os.File) fs.FileMode {
	status, _ := os.ReadFile("/proc/self/status")
	if _, rest, found := strings.Cut(string(status), "\nUmask:"); found {
		line, _, _ := strings.Cut(rest, "\n")
		if m, err := strconv.ParseUint(strings.TrimSpace(line), 8, 32); err == nil {
			return fs.FileMode(m)
		}
	}
	info, err := made.Stat()
	if err != nil {
		return 0o077
	}
	mask := 0o666 &^ info.Mode().Perm()
	return mask | mask>>2&0o111
}
