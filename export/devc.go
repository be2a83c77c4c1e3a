package export

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"tvmgo/blob"
)

// blobSymbol is the name under which a library carries its block of modules.
func blobSymbol(layout blob.Layout, prefix string) string { return prefix + layout.Symbol() }

// registerFunction is the function that constructors call to add a symbol to the system library.
func registerFunction(layout blob.Layout) string {
	if layout == blob.Modern {
		return "TVMFFIEnvModRegisterSystemLibSymbol"
	}
	return "TVMBackendRegisterSystemLibSymbol"
}

// blobAlignment is the alignment of the block, so that readers need not copy it.
const blobAlignment = 16

// assemblerSource includes a file as read-only data. '%' instead of '@' before types is what every GNU assembler reads.
func assemblerSource(symbol, file string, size int64) string {
	return fmt.Sprintf(`	.section .rodata,"a",%%progbits
	.balign %d
	.globl %[2]s
	.type %[2]s, %%object
%[2]s:
	.incbin "%[3]s"
	.size %[2]s, %[4]d
	.section .note.GNU-stack,"",%%progbits
`, blobAlignment, symbol, file, size)
}

// writeC writes a C or C++ source that defines the bytes of r, size of them, and registers them with the system library
// on request.
func writeC(out io.Writer, symbol string, r io.Reader, size int64, register string) error {
	w := bufio.NewWriterSize(out, 1<<16)
	fmt.Fprintf(w, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n"+
		"extern __attribute__((visibility(\"default\"))) const unsigned char %[1]s[];\n"+
		"__attribute__((aligned(%[2]d))) const unsigned char %[1]s[%[3]d] = {\n", symbol, blobAlignment, size)
	const perLine = 24
	at := 0
	err := eachByte(r, func(b byte) {
		var text [4]byte
		s := append(decimal(text[:0], b), ',')
		if at++; at%perLine == 0 {
			s = append(s, '\n')
		}
		w.Write(s)
	})
	if err != nil {
		return err
	}
	if int64(at) != size {
		return fmt.Errorf("read %d bytes of %d", at, size)
	}
	fmt.Fprint(w, "\n};\n")
	if register != "" {
		fmt.Fprint(w, registration(register, []registered{{symbol, symbol}}))
	}
	fmt.Fprint(w, "#ifdef __cplusplus\n}\n#endif\n")
	return w.Flush()
}

// registered is a symbol of the system library: the name for look-ups, and the symbol's name in the object.
type registered struct{ name, symbol string }

// registration returns the C code of a constructor that registers symbols. Symbols that aren't functions are declared
// before it.
func registration(register string, symbols []registered) string {
	var b strings.Builder
	fmt.Fprintf(&b, "extern int %s(const char*, void*);\n", register)
	fmt.Fprintf(&b, "__attribute__((constructor)) static void tvmgo_register_%s(void) {\n", symbols[0].symbol)
	for _, s := range symbols {
		fmt.Fprintf(&b, "  (void)%s(\"%s\", (void*)%s);\n", register, s.name, s.symbol)
	}
	b.WriteString("}\n")
	return b.String()
}

// writeLLVM writes a module in LLVM IR that defines the bytes of r, size of them. An empty triple selects the
// compiler's default.
func writeLLVM(out io.Writer, symbol string, r io.Reader, size int64, register, triple string) error {
	w := bufio.NewWriterSize(out, 1<<16)
	fmt.Fprintf(w, "source_filename = \"devc\"\n")
	if triple != "" {
		fmt.Fprintf(w, "target triple = \"%s\"\n", triple)
	}
	fmt.Fprintf(w, "\n@%s = constant [%d x i8] c\"", symbol, size)
	const hexDigits = "0123456789ABCDEF"
	n := int64(0)
	err := eachByte(r, func(b byte) {
		n++
		if b < ' ' || b > '~' || b == '"' || b == '\\' {
			w.Write([]byte{'\\', hexDigits[b>>4], hexDigits[b&15]})
		} else {
			w.WriteByte(b)
		}
	})
	if err != nil {
		return err
	}
	if n != size {
		return fmt.Errorf("read %d bytes of %d", n, size)
	}
	fmt.Fprintf(w, "\", align %d\n", blobAlignment)
	if register != "" {
		fmt.Fprintf(w, `
@tvmgo.name = private constant [%[1]d x i8] c"%[2]s\00"
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }]
  [{ i32, ptr, ptr } { i32 65535, ptr @tvmgo.register, ptr null }]

declare i32 @%[3]s(ptr, ptr)

define internal void @tvmgo.register() {
  %%1 = call i32 @%[3]s(ptr @tvmgo.name, ptr @%[2]s)
  ret void
}
`, len(symbol)+1, symbol, register)
	}
	return w.Flush()
}

func eachByte(r io.Reader, f func(byte)) error {
	buf := make([]byte, 1<<16)
	for {
		n, err := r.Read(buf)
		for _, b := range buf[:n] {
			f(b)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func decimal(to []byte, b byte) []byte {
	if b >= 100 {
		to = append(to, '0'+b/100)
	}
	if b >= 10 {
		to = append(to, '0'+b/10%10)
	}
	return append(to, '0'+b%10)
}
