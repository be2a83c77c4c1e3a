package suite

import (
	"bytes"
	"encoding/binary"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// chunk is the number of bytes that are written or compared at once.
const chunk = 4 << 20

// pattern has bytes that differ from seed to seed, and from position to position.
type pattern struct {
	seed   uint64
	negate bool // every bit is another one
	buffer []byte
}

// at returns the bytes from a position, which is a multiple of 8.
func (p *pattern) at(from, n int64) []byte {
	if int64(cap(p.buffer)) < n+8 {
		p.buffer = make([]byte, n+8)
	}
	b := p.buffer[:n+8]
	flip := uint64(0)
	if p.negate {
		flip = ^flip
	}
	words := b
	for v := uint64(from) + p.seed<<40 + 1; len(words) >= 8; v += 8 {
		x := v * 0x9E3779B97F4A7C15
		binary.LittleEndian.PutUint64(words, x^x>>29^flip)
		words = words[8:]
	}
	return b[:n]
}

// each calls f for parts of a tensor of bytes, in order.
func each(t *runtime.Tensor, f func(part *runtime.Tensor, from int64) error) error {
	for from := int64(0); from < t.Size(); from += chunk {
		part, err := t.View(dlpack.UInt8, []int64{min(chunk, t.Size()-from)}, nil, from)
		if err != nil {
			return err
		}
		err = f(part, from)
		part.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// write fills a tensor of bytes, and waits until that is done.
func (p *pattern) write(t *runtime.Tensor) error {
	return each(t, func(part *runtime.Tensor, from int64) error {
		return part.CopyFromBytes(p.at(from, part.Size()))
	})
}

// compare returns an ErrWrongResult that names the first byte that differs.
func (p *pattern) compare(t *runtime.Tensor) error {
	got := make([]byte, min(chunk, t.Size()))
	return each(t, func(part *runtime.Tensor, from int64) error {
		got = got[:part.Size()]
		if err := part.CopyToBytes(got); err != nil {
			return err
		}
		want := p.at(from, part.Size())
		if bytes.Equal(got, want) {
			return nil
		}
		for i := range want {
			if got[i] != want[i] {
				return wrong("byte %d of %d is %d instead of %d after a copy", from+int64(i), t.Size(), got[i], want[i])
			}
		}
		return nil
	})
}
