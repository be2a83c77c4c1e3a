package weights

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"tvmgo/dlpack"
	"tvmgo/internal/npyfile"
	"tvmgo/internal/sorting"
)

// encodeSafetensors writes a file. The header lists the tensors in their order. The elements of tensors whose sizes are
// multiples of 64 come first, then those of smaller powers of two, so that as many as possible are aligned; the header
// is padded with spaces so that they begin at a multiple of 64.
func encodeSafetensors(w *writer, arrays []Array, metadata map[string]string) error {
	order := make([]int, len(arrays))
	for i := range order {
		order[i] = i
	}
	sorting.By(order, func(a, b int) int {
		return int(multiple(len(arrays[b].Data)) - multiple(len(arrays[a].Data)))
	})
	begins := make([]int64, len(arrays))
	at := int64(0)
	for _, i := range order {
		begins[i] = at
		at += int64(len(arrays[i].Data))
	}
	header, err := safetensorsHeader(arrays, begins, metadata)
	if err != nil {
		return err
	}
	w.write(binary.LittleEndian.AppendUint64(nil, uint64(len(header))))
	w.write(header)
	for _, i := range order {
		w.write(arrays[i].Data)
	}
	return nil
}

// multiple returns the largest power of two up to 64 that divides n.
func multiple(n int) int { return (n | 64) & -(n | 64) }

func safetensorsHeader(arrays []Array, begins []int64, metadata map[string]string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	member := func(name string, v any) error {
		if !utf8.ValidString(name) {
			return fmt.Errorf("tensor %q: the name is not valid UTF-8", name)
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(name); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1)
		b.WriteByte(':')
		err := e.Encode(v)
		b.Truncate(b.Len() - 1)
		return err
	}
	if len(metadata) > 0 {
		if err := member("__metadata__", metadata); err != nil {
			return nil, err
		}
	}
	for i, a := range arrays {
		t := slices.IndexFunc(safetensorsTypes, func(s safetensorsType) bool { return s.dtype == a.DType })
		n, _ := dlpack.NumElements(a.Shape)
		switch {
		case a.Name == "__metadata__":
			return nil, fmt.Errorf("tensor %q: safetensors reserve this name: rename it", a.Name)
		case t < 0:
			return nil, fmt.Errorf("tensor %q: safetensors have no type for %v: write .params", a.Name, a.DType)
		case a.DType != dlpack.ClassicBool && n%8*int64(a.DType.Bits)%8 != 0:
			return nil, fmt.Errorf("tensor %q: %d elements of %v do not fill whole bytes", a.Name, n, a.DType)
		}
		err := member(a.Name, struct {
			DType   string   `json:"dtype"`
			Shape   []int64  `json:"shape"`
			Offsets [2]int64 `json:"data_offsets"`
		}{safetensorsTypes[t].name, append([]int64{}, a.Shape...), [2]int64{begins[i], begins[i] + int64(len(a.Data))}})
		if err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	b.WriteString(strings.Repeat(" ", int(padding(int64(8+b.Len())))))
	if b.Len() > maxHeader {
		return nil, fmt.Errorf("the safetensors header would have %d bytes: at most %d are allowed: write shards", b.Len(),
			maxHeader)
	}
	return b.Bytes(), nil
}

const (
	zipLocalHeader = 30      // bytes of a member's header without its name and extra field
	zipPadding     = 0xD935  // the id of an extra field that only aligns; Android's zipalign introduced it
	zipUTF8        = 1 << 11 // the flag of names in UTF-8
	zip64Field     = 1       // the id of the extra field with sizes of 64 bits
)

// encodeNPZ writes an archive of stored arrays. A part of each member's extra field pads the elements to a multiple of
// 64 bytes.
func encodeNPZ(w *writer, arrays []Array) error {
	z := zip.NewWriter(w)
	for i := range arrays {
		a := &arrays[i]
		if npyfile.Descr(a.DType) == "" {
			return fmt.Errorf("tensor %q: NumPy has no type for %v: write safetensors", a.Name, a.DType)
		}
		var begin bytes.Buffer
		if err := npyfile.WriteHeader(&begin, a.DType, a.Shape); err != nil {
			return err
		}
		sum := crc32.Update(crc32.ChecksumIEEE(begin.Bytes()), crc32.IEEETable, a.Data)
		size := uint64(begin.Len() + len(a.Data))
		if err := z.Flush(); err != nil { // so that w.n is the offset of the member
			return err
		}
		h := &zip.FileHeader{Name: a.Name + ".npy", Method: zip.Store, CRC32: sum,
			CompressedSize64: size, UncompressedSize64: size}
		if !utf8.ValidString(a.Name) || len(h.Name) > math.MaxUint16 {
			return fmt.Errorf("tensor %.80q: the name is too long or not valid UTF-8", a.Name)
		}
		if strings.IndexFunc(a.Name, func(c rune) bool { return c >= utf8.RuneSelf }) >= 0 {
			h.Flags = zipUTF8
		}
		h.Extra = zipExtra(w.n+zipLocalHeader+int64(len(h.Name)), size)
		member, err := z.CreateRaw(h)
		if err != nil {
			return err
		}
		h.Extra = nil // the directory at the end has extra fields of its own
		if _, err := member.Write(begin.Bytes()); err != nil {
			return err
		}
		if _, err := member.Write(a.Data); err != nil {
			return err
		}
	}
	return z.Close()
}

// zipExtra returns the extra field of a member's header at an offset, after which the member begins.
func zipExtra(offset int64, size uint64) []byte {
	var extra []byte
	if size >= math.MaxUint32 {
		extra = binary.LittleEndian.AppendUint16(extra, zip64Field)
		extra = binary.LittleEndian.AppendUint16(extra, 16)
		extra = binary.LittleEndian.AppendUint64(extra, size)
		extra = binary.LittleEndian.AppendUint64(extra, size)
	}
	fill := padding(offset + int64(len(extra)) + 4)
	extra = binary.LittleEndian.AppendUint16(extra, zipPadding)
	extra = binary.LittleEndian.AppendUint16(extra, uint16(fill))
	return append(extra, make([]byte, fill)...)
}
