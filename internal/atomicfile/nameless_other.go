//go:build !linux

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
)

// createNameless fails: only Linux has files without a name.
func createNameless(string, fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

func (f *File) linkAt(string) error { return errors.ErrUnsupported }
