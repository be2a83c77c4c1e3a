package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tvmgo/internal/links"
)

// outFiles are files that appear together: each is written beside its place and moved there when all are whole.
type outFiles struct {
	names   []string // as the user wrote them
	targets []string // with links followed
}

// newOutFiles checks that every path can be written, before any work is done.
func newOutFiles(names []string) (*outFiles, error) {
	o := &outFiles{names: names}
	seen := map[string]bool{}
	for _, name := range names {
		target, err := links.Follow(name)
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
		return bare(err)
	case info.IsDir():
		return errors.New("it is a directory: name a file in it")
	case !info.Mode().IsRegular():
		return errors.New("not a regular file: name one")
	default:
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return bare(err)
		}
		f.Close()
	}
	temp, err := createBeside(path)
	if err != nil {
		return err
	}
	temp.Close()
	return os.Remove(temp.Name())
}

// createBeside makes a new file in the folder of path, with the permissions that the user's umask gives.
func createBeside(path string) (*os.File, error) {
	dir, base := filepath.Split(path)
	base = links.Shortened(base)
	for i := range 1000 {
		f, err := os.OpenFile(fmt.Sprintf("%s.%s.%d-%d", dir, base, os.Getpid(), i), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		switch {
		case err == nil:
			return f, nil
		case errors.Is(err, fs.ErrNotExist):
			return nil, errors.New("there is no such folder: create it")
		case !errors.Is(err, fs.ErrExist):
			return nil, bare(err)
		}
	}
	return nil, errors.New("the folder is full of unfinished files: remove them")
}

// write puts the arrays in place, none of them unless all could be written.
func (o *outFiles) write(arrays []*array) error {
	return o.writeEach(func(i int, w io.Writer) error { return arrays[i].write(w) })
}

// writeEach is write of files that are filled by a function.
func (o *outFiles) writeEach(content func(i int, w io.Writer) error) error {
	var temps []string
	defer func() {
		for _, t := range temps {
			os.Remove(t) // those that were moved are gone already
		}
	}()
	for i := range o.targets {
		temp, err := createBeside(o.targets[i])
		if err == nil {
			temps = append(temps, temp.Name())
			err = fill(temp, func(w io.Writer) error { return content(i, w) })
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", o.names[i], err)
		}
	}
	for i, target := range o.targets {
		if err := os.Rename(temps[i], target); err != nil {
			return fmt.Errorf("write %s: %w", o.names[i], err)
		}
	}
	return nil
}

func fill(f *os.File, content func(w io.Writer) error) error {
	w := bufio.NewWriter(f)
	return bare(errors.Join(content(w), w.Flush(), f.Close()))
}
