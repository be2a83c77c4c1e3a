package unpack

import (
	"errors"
	"fmt"
	"io"

	"tvmgo/internal/inspect"
)

// segments compares the mapped bytes: always the machine code; the rest (data, tables, notes) only if there is no other
// difference, because any other difference changes these bytes, too.
func (d *Comparison) segments(a, b *inspect.Contents) error {
	quiet := len(d.Differences) == 0
	if err := d.segmentsOf("machine code", executable(a.Segments, true), executable(b.Segments, true)); err != nil {
		return err
	}
	if !quiet {
		return nil
	}
	return d.segmentsOf("data", executable(a.Segments, false), executable(b.Segments, false))
}

func executable(list []inspect.Segment, yes bool) (some []inspect.Segment) {
	for _, s := range list {
		if s.Executable == yes {
			some = append(some, s)
		}
	}
	return some
}

func (d *Comparison) segmentsOf(what string, a, b []inspect.Segment) error {
	if len(a) != len(b) {
		d.values(what, "", fmt.Sprintf("%d segments", len(a)), fmt.Sprintf("%d segments", len(b)))
		return nil
	}
	for i := range a {
		at, equal, err := compareReaders(a[i].Data, b[i].Data)
		if err != nil {
			return fmt.Errorf("compare %s with %s: %w", d.A, d.B, err)
		}
		textA, textB := mapped(&a[i]), mapped(&b[i])
		if textA == textB && equal {
			continue
		}
		if !equal {
			textA += fmt.Sprintf(", differs from %#x on", a[i].Address+uint64(at))
		}
		d.Differences = append(d.Differences, Difference{What: what, A: &textA, B: &textB})
	}
	return nil
}

func mapped(s *inspect.Segment) string {
	return fmt.Sprintf("%d bytes at %#x", s.Memory, s.Address)
}

// compareReaders returns the offset of the first byte that differs, or the length of the shorter one, and whether the
// contents are equal.
func compareReaders(a, b *io.SectionReader) (int64, bool, error) {
	var bufferA, bufferB [32 << 10]byte
	for at := int64(0); ; {
		n, errA := a.ReadAt(bufferA[:], at)
		m, errB := b.ReadAt(bufferB[:], at)
		for _, err := range []error{errA, errB} {
			if err != nil && !errors.Is(err, io.EOF) {
				return 0, false, err
			}
		}
		if first := firstDifference(bufferA[:n], bufferB[:m]); first < max(n, m) {
			return at + int64(first), false, nil
		}
		if at += int64(n); n < len(bufferA) {
			return at, true, nil
		}
	}
}
