package blob

// Program returns a reader of the executable in a payload of a virtual machine's kind (relax.VMExecutable): in the
// legacy layouts its length comes first, in the modern layout it is the whole payload. Package tvmgo/blob/vmcode reads
// the executable.
func (r *Reader) Program(layout Layout) *Reader {
	const what = "executable"
	if layout == Modern {
		return r.Sub(uint64(r.Len()), what)
	}
	return r.Sub(r.U64(what), what)
}

// Program writes an executable as the payload that [Reader.Program] reads.
func (w *Writer) Program(program []byte, layout Layout) {
	if layout == Modern {
		w.Raw(program)
		return
	}
	w.Bytes(program)
}
