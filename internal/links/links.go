// Package links finds where a file is to be written: what symbolic links stand for, and a name for a while beside it.
package links

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Follow is the file that a path stands for. It need not be there, as where a link was made first.
func Follow(path string) (string, error) {
	if _, err := os.Stat(path); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real, nil
		}
		return path, nil // what has no name of its own, such as the pipe behind /dev/stdout
	}
	for range 40 {
		if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return path, nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(path)) // .. in a link is that of the real folder
			if err != nil {
				return "", err
			}
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return "", errors.New("the symbolic links of this name lead back to themselves")
}

// Shortened is the start of a file's name to which as much may be added as a name beside it has: one as long as can be has no room for more.
func Shortened(base string) string {
	const most = 200
	if len(base) <= most {
		return base
	}
	return strings.ToValidUTF8(base[:most], "")
}
