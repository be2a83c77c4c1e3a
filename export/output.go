package export

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"tvmgo/internal/atomicfile"
)

// output is a file that gets its name when it is complete.
type output struct {
	path string           // the caller's path, or the target of a symbolic link there
	file *atomicfile.File // the final file
	temp string           // the file that tools write, in the folder of the build
}

// forms of output by suffix.
const (
	sharedSuffix  = ".so"
	archiveSuffix = ".a"
	tarSuffix     = ".tar"
	objectSuffix  = ".o"
)

// checkSuffix returns an error for an unknown suffix.
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
		return invalid("the suffix %q of the path is unknown: it must be %s (a shared library), %s (a static library), %s "+
			"(objects "+
			"for a later link) or %s (one object); other forms need the option Compile", suffix, sharedSuffix, archiveSuffix,
			tarSuffix, objectSuffix)
	}
}

// reserve creates a file in the folder of the path, so that a missing permission is reported at once.
func reserve(path string) (*output, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if path, err = atomicfile.Follow(path); err != nil {
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
	dir := filepath.Dir(path)
	f, err := atomicfile.Create(path, 0o666, atomicfile.FollowLinks)
	if _, missing := os.Stat(dir); err != nil && errors.Is(missing, fs.ErrNotExist) {
		return nil, fmt.Errorf("the folder %s does not exist: make it first: %w", dir, missing)
	}
	if err != nil {
		return nil, fmt.Errorf("no file can be made in the folder %s: %w", dir, err)
	}
	return &output{path: path, file: f}, nil
}

// begin returns the path of the file that tools write, in a separate folder: archivers and linkers replace an existing
// file with that name.
func (o *output) begin(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	o.temp = filepath.Join(dir, filepath.Base(o.path))
	return nil
}

// discard removes what was built. After publish it does nothing.
func (o *output) discard() { o.file.Discard() }

// publish moves the file that tools wrote to its final path.
func (o *output) publish(mode fs.FileMode) error {
	built, err := os.Open(o.temp)
	if err != nil {
		return err
	}
	defer built.Close()
	if _, err := io.Copy(o.file, built); err != nil {
		return fmt.Errorf("write %s: %w", o.path, atomicfile.Cause(err))
	}
	return o.name(mode)
}

// name moves the file to its final path.
func (o *output) name(mode fs.FileMode) error {
	err := o.file.Chmod(mode &^ umask(o.file.File))
	if err == nil {
		err = o.file.Commit()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", o.path, atomicfile.Cause(err))
	}
	return nil
}
