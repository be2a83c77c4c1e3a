package atomicfile

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"

	"tvmgo/internal/unfinished"
)

// Set is several files of one folder that appear together. Until Commit they are in a hidden folder inside it. A Set
// works through [os.Root], so that no name and no link leads out of the folder.
type Set struct {
	root  *os.Root // the folder
	stage string   // the hidden folder: its name in the folder
	temp  string   // the hidden folder: its path
	files *os.Root // the hidden folder
	names []string // of the files, in the order in which they were written
}

// NewSet begins a set of files for a folder. The caller keeps root, and closes it after Discard.
func NewSet(root *os.Root) (*Set, error) {
	s := &Set{root: root}
	var err error
	s.temp, err = hidden(filepath.Join(root.Name(), "set"), func(name string) error {
		s.stage = filepath.Base(name)
		return root.Mkdir(s.stage, 0o777)
	})
	if err != nil {
		return nil, Cause(err)
	}
	if s.files, err = root.OpenRoot(s.stage); err != nil {
		s.Discard()
		return nil, Cause(err)
	}
	return s, nil
}

// Write adds a file with the concatenated parts. Each name can be written once.
func (s *Set) Write(name string, parts [][]byte) error {
	file, err := s.files.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return Cause(err)
	}
	w := bufio.NewWriter(file)
	for _, p := range parts {
		if _, err = w.Write(p); err != nil {
			break
		}
	}
	if err := errors.Join(err, w.Flush()); err != nil {
		file.Close()
		return Cause(err)
	}
	if err := file.Close(); err != nil {
		return Cause(err)
	}
	s.names = append(s.names, name)
	return nil
}

// Names returns the names of the files, in the order in which they were written.
func (s *Set) Names() []string { return s.names }

// Commit moves the files to the folder, in the order in which they were written, and replaces files and links with the
// same names. If one cannot be moved, it removes those before it, and returns the name with the error.
func (s *Set) Commit() (failed string, err error) {
	for i, name := range s.names {
		if err := s.root.Rename(s.stage+"/"+name, name); err != nil {
			for _, moved := range s.names[:i] {
				s.root.Remove(moved)
			}
			return name, Cause(err)
		}
	}
	return "", nil
}

// Discard removes the files that Commit has not moved. Call it after Commit, too.
func (s *Set) Discard() {
	if s.files != nil {
		s.files.Close()
	}
	s.root.RemoveAll(s.stage)
	unfinished.Forget(s.temp)
}
