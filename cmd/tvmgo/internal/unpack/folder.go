package unpack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"tvmgo/internal/atomicfile"
)

// folder is the target folder. Its files appear together when all of them are complete. It works through [os.Root], so
// that no name and no link leads out of it.
type folder struct {
	path string
	root *os.Root
	made bool // the target did not exist
	set  *atomicfile.Set
}

// openFolder creates the target, or opens an existing one, which must be empty unless force is set.
func openFolder(path string, force bool) (*folder, error) {
	f := &folder{path: path}
	switch err := os.Mkdir(path, 0o777); {
	case err == nil:
		f.made = true
	case !errors.Is(err, fs.ErrExist):
		return nil, f.failed(err)
	}
	if err := f.open(force); err != nil {
		f.close()
		return nil, f.failed(err)
	}
	return f, nil
}

func (f *folder) open(force bool) (err error) {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // the path exists, because Mkdir failed
		return errors.New("a link to nothing: remove it or choose another folder")
	case err != nil:
		return err
	case !info.IsDir():
		return errors.New("not a folder: choose a new or empty one")
	}
	if f.root, err = os.OpenRoot(f.path); err != nil {
		return err
	}
	if !force {
		if err := f.requireEmpty(); err != nil {
			return err
		}
	}
	f.set, err = atomicfile.NewSet(f.root)
	return err
}

func (f *folder) requireEmpty() error {
	dir, err := f.root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	if names, _ := dir.Readdirnames(1); len(names) > 0 {
		return fmt.Errorf("not empty (it has %q): choose a new or empty folder, or give --force to replace files in it",
			names[0])
	}
	return nil
}

// write writes the concatenated parts to a file.
func (f *folder) write(name string, parts [][]byte) error {
	if err := f.set.Write(name, parts); err != nil {
		return f.failedAt(name, err)
	}
	return nil
}

// publish gives the files their names, in the order in which they were written. It replaces files and links with the
// same names, but not folders and not the library itself.
func (f *folder) publish(library string) error {
	source, err := os.Stat(library)
	if err != nil {
		return f.failed(err)
	}
	for _, name := range f.set.Names() {
		info, err := f.root.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return f.failedAt(name, err)
		case info.IsDir():
			return f.failedAt(name, errors.New("a folder has the name of a file: remove it or choose another target"))
		case os.SameFile(info, source):
			return f.failedAt(name, errors.New("it is the library that is unpacked: choose another target"))
		}
	}
	if name, err := f.set.Commit(); err != nil {
		return f.failedAt(name, err)
	}
	f.made = false // close keeps the folder
	return nil
}

// close removes what was not published.
func (f *folder) close() {
	if f.set != nil {
		f.set.Discard()
	}
	if f.root != nil {
		f.root.Close()
	}
	if f.made {
		os.Remove(f.path)
	}
}

func (f *folder) failed(err error) error {
	return fmt.Errorf("to %s: %w", f.path, withCure(err))
}

func (f *folder) failedAt(name string, err error) error {
	return fmt.Errorf("to %s: %s: %w", f.path, name, withCure(err))
}

// withCure returns the cause of a file error with a remedy.
func withCure(err error) error {
	err = atomicfile.Cause(err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("there is no such folder: create the one around it")
	case atomicfile.NotAllowed(err):
		return fmt.Errorf("%w: choose a folder that you may write to", err)
	case atomicfile.NoSpace(err):
		return fmt.Errorf("%w: free some space or choose a folder on another disk", err)
	}
	return err
}
