package inspect

import (
	"bytes"
	"io"
)

// magics are the beginnings of files that are often mistaken for libraries.
var magics = []struct{ magic, what string }{
	{"!<arch>\n", "a static library: link it first, with cc -shared -Wl,--whole-archive"},
	{"\xcf\xfa\xed\xfe", "a Mach-O file for macOS: export it for Linux"},
	{"\xca\xfe\xba\xbe", "a universal Mach-O file for macOS: export it for Linux"},
	{"MZ", "a Windows library: export it for Linux"},
	{"BC\xc0\xde", "LLVM bitcode: compile it and link it with cc -shared"},
	{"\x1f\x8b", "gzip data: unpack it first"},
	{"PK\x03\x04", "a zip archive: unpack it first"},
	{"\x28\xb5\x2f\xfd", "zstd data: unpack it first"},
	{"\x93NUMPY", "an array in NumPy's format: give the module, not its data"},
	{"\x1d\x15\x42\x2f\xde\x25\xd2", "a Relax executable without its functions: give the library (.so) that contains it"},
	{"\x1e\x15\x42\x2f\xde\x25\xd2", "a Relax executable without its functions: give the library (.so) that contains it"},
	{"#!", "a script: give the shared library (.so)"},
}

// looksLike describes the type of a file that is not ELF, with a remedy.
func looksLike(r io.ReaderAt, size int64) string {
	if size == 0 {
		return "an empty file: " + exportAgain
	}
	head := make([]byte, min(size, 512))
	n, _ := r.ReadAt(head, 0)
	head = head[:n]
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.what
		}
	}
	if len(head) >= 262 && string(head[257:262]) == "ustar" {
		return "a tar archive: unpack it first"
	}
	if len(bytes.Trim(head, "\x00")) == 0 {
		return "only zeros, perhaps an unfinished copy: " + exportAgain
	}
	if bytes.IndexFunc(head, func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' && c != '\r' }) < 0 {
		return "text: give the shared library (.so)"
	}
	return "unknown data: give the shared library (.so)"
}
