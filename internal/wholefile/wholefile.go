// Package wholefile writes files that are there whole or not at all, in the place of what was there.
//
// Until it is whole, a file has no name, where the file system can do that; so not even a process that is killed leaves one behind.
// Symbolic links are followed.
package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"tvmgo/internal/links"
	"tvmgo/internal/unfinished"
)

// File is a file that does not have its name yet.
type File struct {
	*os.File
	path string // that it will have, with links followed
	temp string // that it has meanwhile; "" for none
}

// Create makes a file that will be at a path, with the permissions that the user's umask gives to files. Whoever calls it ends it by Publish or Discard.
func Create(path string) (*File, error) {
	path, err := links.Follow(path)
	if err != nil {
		return nil, err
	}
	f := &File{path: path}
	if f.File, err = nameless(filepath.Dir(path)); err != nil {
		f.temp, err = beside(path, func(name string) error {
			f.File, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
			return err
		})
	}
	if err != nil {
		return nil, Bare(err)
	}
	return f, nil
}

// Write writes a whole file.
func Write(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	if _, err := f.File.Write(data); err != nil {
		f.Discard()
		return Bare(err)
	}
	return f.Publish(0)
}

// Path is where the file will be: what links lead to.
func (f *File) Path() string { return f.path }

// Discard gives the file up. After Publish it does nothing.
func (f *File) Discard() {
	f.File.Close()
	if f.temp != "" {
		_ = unfinished.Remove(f.temp)
		f.temp = ""
	}
}

// Publish gives the file its name, and closes it. A mode that is not 0 replaces its permissions.
func (f *File) Publish(mode fs.FileMode) error {
	defer f.Discard()
	if mode != 0 {
		if err := f.Chmod(mode); err != nil {
			return Bare(err)
		}
	}
	if f.temp == "" {
		return Bare(f.link())
	}
	if err := f.File.Close(); err != nil { // file systems of networks write late
		return Bare(err)
	}
	return Bare(f.rename())
}

// link names a nameless file. A name that is taken can't be given again in one step: the file gets another name for as long as that takes.
func (f *File) link() error {
	err := f.linkAt(f.path)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if f.temp, err = beside(f.path, f.linkAt); err != nil {
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

// Of Linux, for which package syscall has no names.
const (
	oTmpfile        = 0o20000000 | syscall.O_DIRECTORY
	atFDCWD         = -100
	atSymlinkFollow = 0x400
)

// nameless makes a file without a name in a folder.
func nameless(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_WRONLY|oTmpfile, 0o666)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(descriptor(f)); err != nil { // without /proc it would never get a name
		f.Close()
		return nil, err
	}
	return f, nil
}

func descriptor(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

func (f *File) linkAt(name string) error {
	from, err := syscall.BytePtrFromString(descriptor(f.File))
	if err != nil {
		return err
	}
	to, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	at := atFDCWD
	_, _, errno := syscall.Syscall6(syscall.SYS_LINKAT, uintptr(at), uintptr(unsafe.Pointer(from)), uintptr(at), uintptr(unsafe.Pointer(to)), atSymlinkFollow, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// ErrFull says that a folder has too many files of processes that were killed.
var ErrFull = errors.New("the folder is full of unfinished files: remove them")

// beside makes something under a name beside a path that nothing has.
func beside(path string, create func(name string) error) (string, error) {
	dir, base := filepath.Split(path)
	base = links.Shortened(base)
	for i := range 1000 {
		name := fmt.Sprintf("%s.%s.%d-%d", dir, base, os.Getpid(), i)
		err := unfinished.Add(name, func() error { return create(name) })
		if !errors.Is(err, fs.ErrExist) {
			return name, err
		}
	}
	return "", ErrFull
}

// Bare is the cause of an error of a file, whose path the caller names.
func Bare(err error) error {
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
