package export

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// umask reads the process's file mode mask without changing it; the system call would have to set it for a moment.
func umask() fs.FileMode {
	status, _ := os.ReadFile("/proc/self/status")
	if _, rest, found := strings.Cut(string(status), "\nUmask:"); found {
		line, _, _ := strings.Cut(rest, "\n")
		if m, err := strconv.ParseUint(strings.TrimSpace(line), 8, 32); err == nil {
			return fs.FileMode(m)
		}
	}
	return 0o022
}
