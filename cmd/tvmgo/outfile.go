package main

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

// outFiles are files that appear together when all of them are complete.
type outFiles struct {
	names   []string // as the user wrote the paths
	targets []string // the paths with links followed
}

// newOutFiles checks that every path can be written, before any work is done.
func newOutFiles(names []string) (*outFiles, error) {
	o := &outFiles{names: names}
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

// writeEach writes the files with a function. If one of them fails, none appears.
func (o *outFiles) writeEach(content func(i int, w io.Writer) error) error {
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
