// Package links finds what symbolic links stand for.
package links

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
