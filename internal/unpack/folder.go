package unpack

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"tvmgo/internal/unfinished"
)

// folder collects files in a folder of its own inside the target, and moves them in place when all are whole. It works through
// [os.Root], so that no name and no link leads out of the target.
type folder struct {
	path  string
	root  *os.Root
	made  bool   // the target did not exist
	stage string // its folder inside the target
	files *os.Root
	names []string
}

// openFolder makes or takes the target. One that has something in it needs force.
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
	case errors.Is(err, fs.ErrNotExist): // it is there, by Mkdir
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
	for i := range 1000 {
		stage := fmt.Sprintf(".unpack.%d-%d", os.Getpid(), i)
		if err = unfinished.Add(filepath.Join(f.path, stage), func() error { return f.root.Mkdir(stage, 0o777) }); err == nil {
			f.stage = stage
			f.files, err = f.root.OpenRoot(stage)
			return err
		} else if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return errors.New("it is full of unfinished folders: remove them")
}

func (f *folder) requireEmpty() error {
	dir, err := f.root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	if names, _ := dir.Readdirnames(1); len(names) > 0 {
		return fmt.Errorf("not empty (it has %q): choose a new or empty folder, or give --force to replace files in it", names[0])
	}
	return nil
}

// write makes one file of the parts.
func (f *folder) write(name string, parts [][]byte) error {
	file, err := f.files.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return f.failedAt(name, err)
	}
	w := bufio.NewWriter(file)
	for _, p := range parts {
		if _, err = w.Write(p); err != nil {
			break
		}
	}
	if err := errors.Join(err, w.Flush()); err != nil {
		file.Close()
		return f.failedAt(name, err)
	}
	if err := file.Close(); err != nil {
		return f.failedAt(name, err)
	}
	f.names = append(f.names, name)
	return nil
}

// publish moves the files in place, in the order in which they were written. What has the name of one of them is replaced, a link
// too, but for folders and the library itself.
func (f *folder) publish(library string) error {
	source, err := os.Stat(library)
	if err != nil {
		return f.failed(err)
	}
	for _, name := range f.names {
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
	for i, name := range f.names {
		if err := f.root.Rename(f.stage+"/"+name, name); err != nil {
			for _, moved := range f.names[:i] {
				f.root.Remove(moved)
			}
			return f.failedAt(name, err)
		}
	}
	f.made = false // it stays
	return nil
}

// close removes what was not published.
func (f *folder) close() {
	if f.files != nil {
		f.files.Close()
	}
	if f.root != nil {
		if f.stage != "" {
			f.root.RemoveAll(f.stage)
			unfinished.Forget(filepath.Join(f.path, f.stage))
		}
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

// withCure is the cause of a file error with the way out.
func withCure(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		err = link.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("there is no such folder: create the one around it")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: choose a folder that you may write to", err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return fmt.Errorf("%w: make room or choose a folder on another disk", err)
	}
	return err
}
