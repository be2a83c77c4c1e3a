package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tvmgo/internal/unfinished"
)

// File is a file that does not have its name yet. Write to it through [os.File].
type File struct {
	*os.File
	path string // the target, with links followed
	temp string // the hidden name; "" if it has none
}

// Links says what happens to a symbolic link at the target.
type Links int

const (
	// FollowLinks keeps the link and writes the file that it leads to, which need not exist yet.
	FollowLinks Links = iota
	// ReplaceLinks replaces the link by the file.
	ReplaceLinks
)

// Create makes a file that Commit puts at path. Its permissions are perm without the bits of the umask; Chmod changes
// them before Commit. Call Commit or Discard in the end.
func Create(path string, perm fs.FileMode, links Links) (*File, error) {
	if links == FollowLinks {
		var err error
		if path, err = Follow(path); err != nil {
			return nil, err
		}
	}
	file, err := createNameless(filepath.Dir(path), perm)
	if err != nil {
		return createHidden(path, perm)
	}
	return &File{File: file, path: path}, nil
}

// Write writes a file that has data in it.
func Write(path string, data []byte, perm fs.FileMode, links Links) error {
	f, err := Create(path, perm, links)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(data); err != nil {
		return Cause(err)
	}
	return f.Commit()
}

// Path returns the final path, with links followed.
func (f *File) Path() string { return f.path }

// Discard closes and removes the file. After Commit it does nothing.
func (f *File) Discard() {
	f.File.Close()
	if f.temp != "" {
		_ = unfinished.Remove(f.temp)
		f.temp = ""
	}
}

// Finish reports a write error that the file system delays until the file is closed, as network file systems do. Commit
// calls it. If several files must appear together, call it for each of them before the first Commit. The file cannot be
// written or changed afterwards.
func (f *File) Finish() error {
	if f.temp == "" { // a file without a name must stay open, and is on a local file system
		return nil
	}
	if err := f.File.Close(); !errors.Is(err, fs.ErrClosed) {
		return Cause(err)
	}
	return nil
}

// Commit gives the file its name and closes it. On an error it removes the file, and what was at the path is unchanged.
func (f *File) Commit() error {
	defer f.Discard()
	if err := f.Finish(); err != nil {
		return err
	}
	if f.temp == "" {
		return Cause(f.link())
	}
	return Cause(f.rename())
}

// link names a file without a name. The system cannot replace an existing name by such a file in one step: if the name
// exists, the file first gets a hidden name, which then replaces the other.
func (f *File) link() error {
	err := f.linkAt(f.path)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if f.temp, err = hidden(f.path, f.linkAt); err != nil {
		return err
	}
	return f.rename()
}

func (f *File) rename() error {
	err := os.Rename(f.temp, f.path)
	if err == nil {
		unfinished.Forget(f.temp)
		f.temp = ""
	}
	return err
}

// createHidden makes a file under a hidden name.
func createHidden(path string, perm fs.FileMode) (*File, error) {
	f := &File{path: path}
	var err error
	f.temp, err = hidden(path, func(name string) (err error) {
		f.File, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		return err
	})
	if err != nil {
		return nil, Cause(err)
	}
	return f, nil
}

// ErrFull means that a folder has too many hidden files of processes that were killed.
var ErrFull = errors.New("the folder is full of unfinished files: remove them")

// hidden calls create with an unused hidden name beside path, and registers the name with package unfinished.
func hidden(path string, create func(name string) error) (string, error) {
	dir, base := filepath.Split(path)
	base = shortened(base)
	for i := range 1000 {
		name := fmt.Sprintf("%s.%s.%d-%d", dir, base, os.Getpid(), i)
		err := unfinished.Add(name, func() error { return create(name) })
		if err == nil {
			return name, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	return "", ErrFull
}

// shortened returns the start of a file name, so that the hidden name does not exceed the limit of file systems.
func shortened(base string) string {
	const most = 200
	if len(base) <= most {
		return base
	}
	return strings.ToValidUTF8(base[:most], "")
}

// Cause returns the error of the system call in an error about a file, without the operation and the path.
func Cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
