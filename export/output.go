package export

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"tvmgo/internal/links"
)

// output is a file that is built under another name beside its place, and takes its own at the end.
type output struct {
	path string // what the caller asked for, or what a link there points at
	temp string
}

// forms of output by suffix.
const (
	sharedSuffix  = ".so"
	archiveSuffix = ".a"
	tarSuffix     = ".tar"
	objectSuffix  = ".o"
)

// checkSuffix refuses what nobody would build.
func checkSuffix(path string, custom bool) error {
	if path == "" {
		return invalid("the path is empty")
	}
	if strings.IndexByte(path, 0) >= 0 {
		return invalid("the path %q has a zero byte inside", path)
	}
	switch suffix := filepath.Ext(path); suffix {
	case sharedSuffix, archiveSuffix, tarSuffix, objectSuffix:
		return nil
	default:
		if custom {
			return nil
		}
		return invalid("the suffix %q of the path is unknown: it must be %s (a shared library), %s (a static library), %s (objects "+
			"for a later link) or %s (one object); other forms need the option Compile", suffix, sharedSuffix, archiveSuffix, tarSuffix, objectSuffix)
	}
}

// reserve takes a name beside the path, which shows right away whether files can be made there.
func reserve(path string) (*output, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if path, err = links.Follow(path); err != nil {
		return nil, invalid("%w", err)
	}
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		return nil, invalid("there is a folder of this name")
	case err == nil && !info.Mode().IsRegular():
		return nil, invalid("there is something of this name that is no ordinary file")
	case errors.Is(err, syscall.ENAMETOOLONG):
		return nil, invalid("the name is longer than the file system allows")
	}
	dir, base := filepath.Split(path)
	f, err := os.CreateTemp(dir, "."+links.Shortened(base)+".*"+filepath.Ext(base))
	if _, missing := os.Stat(dir); err != nil && errors.Is(missing, fs.ErrNotExist) {
		return nil, fmt.Errorf("the folder %s does not exist: make it first: %w", dir, missing)
	}
	var why *fs.PathError
	if errors.As(err, &why) { // without the name beside the path, which tells nobody anything
		err = why.Err
	}
	if err != nil {
		return nil, fmt.Errorf("no file can be made in the folder %s: %w", dir, err)
	}
	return &output{path: path, temp: f.Name()}, f.Close()
}

// discard removes what was built.
func (o *output) discard() { os.Remove(o.temp) }

// publish gives what was built its name.
func (o *output) publish(mode fs.FileMode) error {
	mask := umask()
	if err := os.Chmod(o.temp, mode&^mask); err != nil {
		return err
	}
	return os.Rename(o.temp, o.path)
}
