package weights

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"tvmgo/internal/npyfile"
)

// readNPY reads a file with one array.
func (s *Set) readNPY(f *file, name string) error {
	s.format = NPY
	t := &Tensor{Name: name, file: f}
	if err := t.fromNPY(f.data); err != nil {
		return err
	}
	return s.append(t)
}

// fromNPY sets what a .npy file in memory says.
func (t *Tensor) fromNPY(data []byte) error {
	h, err := npyfile.Parse(data[:min(len(data), npyfile.MaxHeader)])
	if err != nil {
		return corruptf("%v", err)
	}
	if have := int64(len(data) - h.Begin); have != h.Size {
		return corruptf("%v%v takes %d bytes, %d follow the header: the file was cut or changed", h.DType, h.Shape, h.Size,
			have)
	}
	t.DType, t.Shape, t.Size, t.stored = h.DType, h.Shape, h.Size, data[h.Begin:]
	if !h.Plain() {
		t.Encoding = npyEncoding(h)
		t.decode = func(out, stored []byte) error {
			h.Convert(out, stored)
			return nil
		}
	}
	return nil
}

func npyEncoding(h npyfile.Header) string {
	if h.Swap > 1 {
		return "big-endian"
	}
	return "column-major"
}

// readNPZ reads an archive of arrays. Members that are stored are views; compressed ones are inflated when their data
// is asked for.
func (s *Set) readNPZ(f *file) error {
	s.format = NPZ
	r, err := zip.NewReader(bytes.NewReader(f.data), int64(len(f.data)))
	if err != nil {
		return corruptf("the .npz archive: %v: the file was cut or changed", err)
	}
	var spans []span
	for _, m := range r.File {
		if strings.HasSuffix(m.Name, "/data.pkl") {
			return corruptf("a checkpoint of PyTorch: save the tensors as safetensors")
		}
		if err := s.readMember(f, m, &spans); err != nil {
			return fmt.Errorf("member %.80q: %w", m.Name, err)
		}
	}
	return overlapping(spans)
}

func (s *Set) readMember(f *file, m *zip.File, spans *[]span) error {
	name, ok := strings.CutSuffix(m.Name, ".npy")
	begin, err := m.DataOffset()
	size := int64(m.CompressedSize64)
	switch {
	case !ok:
		return corruptf("its name does not end in .npy, so it is no array: remove it")
	case m.Flags&1 != 0:
		return corruptf("it is encrypted: save the archive without a password")
	case err != nil:
		return corruptf("%v: the file was cut or changed", err)
	case begin < 0 || begin > int64(len(f.data)) || size < 0 || size > int64(len(f.data))-begin:
		return corruptf("%d bytes at offset %d are not within the file: it was cut or changed", size, begin)
	}
	*spans = append(*spans, span{m.Name, begin, begin + size})
	t := &Tensor{Name: name, file: f}
	stored := f.data[begin : begin+size : begin+size]
	switch m.Method {
	case zip.Store:
		if m.UncompressedSize64 != m.CompressedSize64 {
			return corruptf("a stored member has two sizes, %d and %d", m.CompressedSize64, m.UncompressedSize64)
		}
		err = t.fromNPY(stored)
	case zip.Deflate:
		err = t.fromDeflated(m, stored)
	default:
		err = corruptf("the compression method %d is unknown: save it with numpy.savez", m.Method)
	}
	if err != nil {
		return err
	}
	return s.append(t)
}

// maxRatio is the most bytes that a byte of deflated data stands for.
const maxRatio = 1032

// fromDeflated reads the header of a compressed member.
func (t *Tensor) fromDeflated(m *zip.File, stored []byte) error {
	if m.UncompressedSize64/maxRatio > m.CompressedSize64 {
		return corruptf("%d bytes cannot be compressed to %d", m.UncompressedSize64, m.CompressedSize64)
	}
	begin := make([]byte, min(m.UncompressedSize64, npyfile.MaxHeader))
	if err := inflate(m, begin, nil); err != nil {
		return err
	}
	h, err := npyfile.Parse(begin)
	if err != nil {
		return corruptf("%v", err)
	}
	if uint64(h.Begin)+uint64(h.Size) != m.UncompressedSize64 {
		return corruptf("%v%v takes %d bytes behind a header of %d, the member has %d", h.DType, h.Shape, h.Size, h.Begin,
			m.UncompressedSize64)
	}
	t.DType, t.Shape, t.Size, t.stored, t.Encoding = h.DType, h.Shape, h.Size, stored, "deflate"
	t.decode = func(out, _ []byte) error {
		if h.Plain() {
			return inflate(m, make([]byte, h.Begin), out)
		}
		plain := make([]byte, len(out))
		if err := inflate(m, make([]byte, h.Begin), plain); err != nil {
			return err
		}
		h.Convert(out, plain)
		return nil
	}
	return nil
}

// inflate fills begin and then rest from a compressed member. With a rest, it checks that the member ends there and
// that its checksum is right.
func inflate(m *zip.File, begin, rest []byte) error {
	r, err := m.Open()
	if err != nil {
		return corruptf("%v", err)
	}
	defer r.Close()
	_, err = io.ReadFull(r, begin)
	if err == nil && rest != nil {
		if _, err = io.ReadFull(r, rest); err == nil {
			_, err = r.Read(make([]byte, 1)) // the end, where the checksum is compared
			if errors.Is(err, io.EOF) {
				err = nil
			} else if err == nil {
				err = errors.New("more bytes follow the array")
			}
		}
	}
	if err != nil {
		return corruptf("inflate: %v: the file was changed", err)
	}
	return nil
}
