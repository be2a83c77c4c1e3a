// Package outfile writes the files of --out: together, when all of them are complete, or none of them.
//
//	files, err := outfile.New([]string{"y.npy", "z.npy"}) // before the work: can they be written?
//	err = files.WriteEach(func(i int, w io.Writer) error { return write(w, results[i]) })
package outfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tvmgo/internal/atomicfile"
)

// Files are files that appear together when all of them are complete.
type Files struct {
	names   []string // as the user wrote the paths
	targets []string // the paths with links followed
}

// New checks that every path can be written, before any work is done. It leaves existing files unchanged and makes no
// new ones. Links are followed. A path that is named twice, "-", a directory, a path that is no regular file, and one
// that cannot be written are errors, which name the path.
func New(names []string) (*Files, error) {
	o := &Files{names: names}
	seen := map[string]bool{}
	for _, name := range names {
		if name == "-" {
			return nil, errors.New("write -: standard output is for messages: name a file (./- for one of this name)")
		}
		target, err := atomicfile.Follow(name)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		whole, err := filepath.Abs(target)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		if seen[whole] {
			return nil, fmt.Errorf("write %s: it is named twice: give each --out its own file", name)
		}
		seen[whole] = true
		if err := checkWritable(target); err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		o.targets = append(o.targets, target)
	}
	return o, nil
}

func checkWritable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return atomicfile.Cause(err)
	case info.IsDir():
		return errors.New("it is a directory: name a file in it")
	case !info.Mode().IsRegular():
		return errors.New("not a regular file: name one")
	default:
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return atomicfile.Cause(err)
		}
		f.Close()
	}
	f, err := create(path)
	if err != nil {
		return err
	}
	f.Discard()
	return nil
}

// create makes a file that gets its name at Commit.
func create(path string) (*atomicfile.File, error) {
	f, err := atomicfile.Create(path, 0o666, atomicfile.FollowLinks)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("there is no such folder: create it")
	}
	return f, err
}

// WriteEach calls content for the i-th path of New, in their order, with a buffered writer. The files replace existing
// ones after the last call. If one of them fails, none appears; the error names its path.
func (o *Files) WriteEach(content func(i int, w io.Writer) error) error {
	var files []*atomicfile.File
	defer func() {
		for _, f := range files {
			f.Discard() // no effect after Commit
		}
	}()
	for i := range o.targets {
		f, err := create(o.targets[i])
		if err == nil {
			files = append(files, f)
			w := bufio.NewWriter(f)
			err = atomicfile.Cause(errors.Join(content(i, w), w.Flush(), f.Finish()))
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", o.names[i], err)
		}
	}
	for i, f := range files {
		if err := f.Commit(); err != nil {
			return fmt.Errorf("write %s: %w", o.names[i], err)
		}
	}
	return nil
}
