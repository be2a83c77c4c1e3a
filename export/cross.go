package export

import (
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tvmgo/internal/cc"
	"tvmgo/internal/clang"
	"tvmgo/runtime"
)

// machine is the machine of an object.
type machine struct {
	elf.Machine
	elf.Class
	elf.Data
}

// systems maps machines to their names in GCC and clang; the first one that is installed is used.
var systems = map[machine][]string{
	{elf.EM_X86_64, elf.ELFCLASS64, elf.ELFDATA2LSB}:    {"x86_64-linux-gnu"},
	{elf.EM_386, elf.ELFCLASS32, elf.ELFDATA2LSB}:       {"i686-linux-gnu"},
	{elf.EM_AARCH64, elf.ELFCLASS64, elf.ELFDATA2LSB}:   {"aarch64-linux-gnu"},
	{elf.EM_ARM, elf.ELFCLASS32, elf.ELFDATA2LSB}:       {"arm-linux-gnueabihf", "arm-linux-gnueabi"},
	{elf.EM_RISCV, elf.ELFCLASS64, elf.ELFDATA2LSB}:     {"riscv64-linux-gnu"},
	{elf.EM_PPC64, elf.ELFCLASS64, elf.ELFDATA2LSB}:     {"powerpc64le-linux-gnu"},
	{elf.EM_S390, elf.ELFCLASS64, elf.ELFDATA2MSB}:      {"s390x-linux-gnu"},
	{elf.EM_LOONGARCH, elf.ELFCLASS64, elf.ELFDATA2LSB}: {"loongarch64-linux-gnu"},
}

// findTools finds the compiler; for objects of another machine, one for that machine.
func (b *buildJob) findTools() ([]string, error) {
	for _, s := range b.sources {
		if filepath.Ext(s) == ".o" && isForeignFormat(filepath.Join(b.dir, s)) {
			return nil, runtime.Errorf(runtime.ErrNotSupported, "%s is for a system without ELF files: export it alone as an "+
				"object (.o), and link it there", s)
		}
	}
	object := b.foreignObject()
	if len(b.config.compiler) > 0 || object == "" {
		return findCompiler(b.config, b.lang)
	}
	m, err := machineOf(object)
	if err != nil {
		return nil, err
	}
	names := systems[m]
	if names == nil {
		return nil, runtime.Errorf(runtime.ErrNotSupported, "%s is for another machine (%v), and no linker for it is known "+
			"here: name one by the option Compiler, or "+
			"export the object (.o)", filepath.Base(object), m.Machine)
	}
	for _, name := range names {
		if path, err := cc.Tool(name + "-gcc"); err == nil {
			return []string{path}, nil
		}
	}
	_, lldErr := cc.Tool("ld.lld")
	c, clangErr := clang.Find(b.ctx)
	if cause := b.ctx.Err(); cause != nil {
		return nil, cause
	}
	if lldErr != nil || clangErr != nil {
		return nil, runtime.Errorf(runtime.ErrNotFound, "%s is for another machine (%v), and there is no linker for it: "+
			"install %[3]s-gcc (Debian: apt install gcc-%[4]s) "+
			"or clang and lld (apt install clang lld), name one by the option Compiler, or export the object (.o)",
			filepath.Base(object), m.Machine, names[0],
			strings.ReplaceAll(names[0], "_", "-"))
	}
	b.bare = true
	return c.Command("--target="+names[0], "-fuse-ld=lld", "-nostdlib", "-Wno-unused-command-line-argument"), nil
}

// foreignObject returns the file of a linked module that is an object for another machine; "" if there is none.
func (b *buildJob) foreignObject() string {
	for _, s := range b.sources {
		path := filepath.Join(b.dir, s)
		if filepath.Ext(s) == ".o" && !forThisMachine(path) {
			if _, err := machineOf(path); err == nil {
				return path
			}
		}
	}
	return ""
}

// isForeignFormat reports whether a file is an object for macOS or Windows.
func isForeignFormat(path string) bool {
	if f, err := macho.Open(path); err == nil {
		f.Close()
		return true
	}
	if f, err := pe.Open(path); err == nil {
		f.Close()
		return true
	}
	return false
}

func machineOf(path string) (machine, error) {
	f, err := elf.Open(path)
	if err != nil {
		return machine{}, err
	}
	defer f.Close()
	return machine{f.Machine, f.Class, f.Data}, nil
}

// stub replaces a library of another machine in a link, because that library is not installed.
type stub struct {
	file, soname string
	has          func(symbol string) bool
}

// stubs of glibc, and of the functions that GCC's code calls on 32-bit machines.
var stubs = []stub{
	{"m", "libm.so.6", isMath},
	{"c", "libc.so.6", func(s string) bool {
		return strings.Contains(" memchr memcmp memcpy memmove memset strcmp strlen strncmp snprintf vsnprintf printf puts "+
			"malloc free abort ", " "+s+" ")
	}},
	{"gcc_s", "libgcc_s.so.1", func(s string) bool {
		return strings.HasPrefix(s, "__aeabi_") || strings.HasPrefix(s, "__") &&
			(strings.HasSuffix(s, "di3") || strings.HasSuffix(s, "di2") ||
				strings.HasSuffix(s, "ti3") || strings.HasSuffix(s, "di") || strings.HasSuffix(s, "sf") ||
				strings.HasSuffix(s, "df") ||
				strings.HasSuffix(s, "hf2") || strings.HasSuffix(s, "sf2"))
	}},
}

// mathNames are functions of libm; their float variants end with f.
const mathNames = " acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2 expm1 " +
	"fabs fdim floor fma fmax fmin fmod frexp hypot ldexp lgamma log log10 log1p log2 logb lrint lround nearbyint " +
	"nextafter pow remainder rint round roundeven sin sincos sinh sqrt tan tanh tgamma trunc "

func isMath(s string) bool {
	names := strings.ReplaceAll(mathNames, "\n", " ")
	return strings.Contains(names, " "+s+" ") || strings.Contains(names, " "+strings.TrimSuffix(s, "f")+" ")
}

// stubArguments makes libraries with the names of the machine's libraries and with those of their functions that the
// objects use. It returns the arguments that link them. The file then needs these libraries, and the machine's loader
// finds the real ones.
func (b *buildJob) stubArguments() ([]string, error) {
	dir := filepath.Join(b.dir, "stubs")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, o := range b.objects {
		_, undefined, err := objectSymbols(filepath.Join(b.dir, o))
		if err != nil {
			return nil, err
		}
		for _, s := range undefined {
			used[s] = true
		}
	}
	args := []string{"-L" + dir, "-Wl,--as-needed"}
	for _, s := range stubs {
		var text strings.Builder
		for _, name := range slices.Sorted(maps.Keys(used)) {
			if s.has(name) {
				text.WriteString(".globl " + name + "\n.type " + name + ",%function\n" + name + ":\n")
			}
		}
		if text.Len() == 0 {
			continue
		}
		source := filepath.Join(dir, s.file+".s")
		if err := os.WriteFile(source, []byte(text.String()), 0o666); err != nil {
			return nil, err
		}
		if err := b.compiler("", "-shared", "-Wl,-soname,"+s.soname, source, "-o",
			filepath.Join(dir, "lib"+s.file+".so")); err != nil {
			return nil, err
		}
		args = append(args, "-l"+s.file)
	}
	return args, nil
}
