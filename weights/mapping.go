package weights

import (
	"io/fs"
	"os"

	"tvmgo/internal/memory"
)

// file is the content of a file.
type file struct {
	name   string // in the file system of the set
	data   []byte
	mapped bool // data is a mapping of the file
	owned  bool // data is memory of its own
}

func (f *file) close() {
	if f.mapped || f.owned {
		memory.Free(f.data)
	}
	f.data = nil
}

// add makes a file part of the set, which closes it.
func (s *Set) add(f *file) *file {
	s.files = append(s.files, f)
	return f
}

// openFile maps or reads a regular file. A mapping is private and writable: a function that updates its parameters
// changes its own copy of a page.
func (s *Set) openFile(fsys fs.FS, name string) (*file, error) {
	data, mapped, err := memory.File(fsys, name, true)
	if err != nil {
		return nil, err
	}
	return s.add(&file{name: name, data: data, mapped: mapped, owned: !mapped && data != nil}), nil
}

// drop releases the whole pages of a view of a mapped file; they are read again from the file when they are used again.
func (f *file) drop(view []byte) {
	if !f.mapped || len(view) == 0 {
		return
	}
	page := os.Getpagesize()
	begin := address(view) - address(f.data)
	end := begin + len(view)
	begin = (begin + page - 1) / page * page
	if end < len(f.data) { // the last page of a file has nothing behind it
		end = end / page * page
	}
	if begin < end {
		memory.Drop(f.data[begin:end])
	}
}

// arena is memory for copies, aligned to 64 bytes, that is freed at once.
type arena struct {
	blocks [][]byte
	rest   []byte // the rest of the last block for small copies
}

// smallBlock is the size of blocks that several copies share.
const smallBlock = 256 << 10

func (a *arena) take(n int64) ([]byte, error) {
	if n == 0 {
		return []byte{}, nil
	}
	if n > smallBlock/4 {
		b, err := memory.Make(n)
		if err == nil {
			a.blocks = append(a.blocks, b)
		}
		return b, err
	}
	if int64(len(a.rest)) < n {
		b, err := memory.Make(smallBlock)
		if err != nil {
			return nil, err
		}
		a.blocks, a.rest = append(a.blocks, b), b
	}
	b := a.rest[:n:n]
	a.rest = a.rest[min((n+63)/64*64, int64(len(a.rest))):]
	return b, nil
}

// giveBack frees the memory of the last take, if it is not a part of a block.
func (a *arena) giveBack(b []byte) {
	if last := len(a.blocks) - 1; len(b) > smallBlock/4 && address(a.blocks[last]) == address(b) {
		memory.Free(a.blocks[last])
		a.blocks = a.blocks[:last]
	}
}

func (a *arena) free() {
	for _, b := range a.blocks {
		memory.Free(b)
	}
	*a = arena{}
}
