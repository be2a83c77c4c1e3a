package memory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
)

// File returns the content of a regular file, which the caller releases with Free. A file of the operating system is
// mapped, as Map does; a file of another file system is read into memory of Make, and mapped is false. The content of
// an empty file is nil.
func File(fsys fs.FS, name string, writable bool) (data []byte, mapped bool, err error) {
	info, err := fs.Stat(fsys, name) // opening a pipe would wait
	if err != nil {
		return nil, false, err
	}
	if !info.Mode().IsRegular() {
		return nil, false, fmt.Errorf("%s is not a regular file: copy it to one", name)
	}
	opened, err := fsys.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer opened.Close()
	if info, err = opened.Stat(); err != nil {
		return nil, false, err
	}
	size := info.Size()
	switch {
	case size > math.MaxInt-1<<20:
		return nil, false, fmt.Errorf("%s has %d bytes, more than this process can map", name, size)
	case size == 0:
		return nil, false, nil
	}
	if f, ok := opened.(*os.File); ok {
		data, err := Map(f, size, writable)
		if err == nil {
			return data, true, nil
		}
		if errors.Is(err, outOfMemory) {
			return nil, false, fmt.Errorf("map %s (%s): %w", name, Text(size), err)
		}
	}
	if data, err = Make(size); err != nil {
		return nil, false, fmt.Errorf("read %s: %w", name, err)
	}
	if _, err := io.ReadFull(opened, data); err != nil {
		Free(data)
		return nil, false, fmt.Errorf("read %s: %w", name, err)
	}
	return data, false, nil
}
