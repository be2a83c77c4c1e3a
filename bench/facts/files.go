package facts

import (
	"io/fs"
	"strconv"
	"strings"
)

// text returns the contents of a small file of the system, without spaces around them; "" if it cannot be read.
func text(files fs.FS, name string) string {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// number returns the integer that a file has; false if it cannot be read, or has something else, as "[N/A]".
func number(files fs.FS, name string) (int64, bool) {
	n, err := strconv.ParseInt(text(files, name), 10, 64)
	return n, err == nil
}
