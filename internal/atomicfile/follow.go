package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Follow returns the path of the file that path leads to through symbolic links. The file need not exist.
func Follow(path string) (string, error) {
	if _, err := os.Stat(path); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real, nil
		}
		return path, nil // not a regular name, such as the pipe behind /dev/stdout
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
			dir, err := filepath.EvalSymlinks(filepath.Dir(path)) // .. in a link starts from the real folder
			if err != nil {
				return "", err
			}
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return "", errors.New("the symbolic links of this name lead back to themselves")
}
