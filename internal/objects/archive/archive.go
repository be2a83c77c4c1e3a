// Package archive reads archives of objects and sources, as Apache TVM exports them (.tar, also compressed).
package archive

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

const (
	maxMembers = 4096
	maxBytes   = 1 << 30 // a compressed archive may expand to this, plus 100 times its size
)

// Each calls visit for the files of an archive of size bytes, in order, with their names without folders. It fails for
// links and devices, for names that leave the archive or occur twice, for more than a few thousand files, and for a
// compressed archive that expands to more bytes than a library is likely to have.
func Each(r io.ReaderAt, size int64, visit func(name string, size int64, content io.Reader) error) error {
	in := io.Reader(bufio.NewReader(io.NewSectionReader(r, 0, size)))
	head, err := in.(*bufio.Reader).Peek(2)
	if err != nil {
		return errors.New("the archive is empty")
	}
	if string(head) == "\x1f\x8b" {
		zip, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("the archive is damaged: %w", err)
		}
		in = &bounded{zip, maxBytes + 100*size}
	}
	files, seen := tar.NewReader(in), map[string]bool{}
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("the archive is damaged: %w", err)
		}
		name := path.Base(h.Name)
		switch {
		case h.Typeflag == tar.TypeDir || h.Typeflag == tar.TypeXGlobalHeader:
			continue
		case h.Typeflag != tar.TypeReg:
			return fmt.Errorf("%.100q in the archive is not a regular file: links and devices are not accepted", h.Name)
		case path.IsAbs(h.Name) || path.Clean(h.Name) == ".." || strings.HasPrefix(path.Clean(h.Name), "../") ||
			strings.ContainsRune(h.Name, 0):
			return fmt.Errorf("the name %.100q leaves the archive", h.Name)
		case seen[name]:
			return fmt.Errorf("two files in the archive have the name %.100q", name)
		case len(seen) == maxMembers:
			return fmt.Errorf("the archive has more than %d files", maxMembers)
		}
		seen[name] = true
		if err := visit(name, h.Size, damaged{files}); err != nil {
			return err
		}
	}
	if len(seen) == 0 {
		return errors.New("the archive has no file")
	}
	return nil
}

// damaged is a reader that wraps errors of reading.
type damaged struct{ r io.Reader }

func (d damaged) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("the archive is damaged: %w", err)
	}
	return n, err
}

// bounded is a reader that fails if a compressed file expands to an implausible size.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("it unpacks to more than a library is likely to have: unpack it by hand, and link what is in it")
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
