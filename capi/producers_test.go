package main_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
)

// linkings are ways to link the object of a module. The first word can name a linker that this machine may lack.
var linkings = []string{
	"", "-fuse-ld=bfd", "-fuse-ld=gold", "-fuse-ld=lld", "-fuse-ld=mold", "-Wl,-z,relro,-z,now", "-Wl,-z,norelro",
	"-fuse-ld=lld -Wl,-z,relro,-z,now,--hash-style=sysv", "-fuse-ld=gold -Wl,-z,relro,-z,now,--hash-style=both",
	"-fuse-ld=mold -Wl,-z,relro,-z,now,--pack-dyn-relocs=relr", "-Wl,-z,pack-relative-relocs",
	"-Wl,--hash-style=sysv", "-Wl,--hash-style=gnu", "-Wl,--hash-style=both", "-s",
	"-g -Wl,--compress-debug-sections=zlib",
	"-g -fuse-ld=lld -Wl,--compress-debug-sections=zlib", "-Wl,-z,max-page-size=65536",
	"-Wl,-z,max-page-size=65536,-z,common-page-size=65536,-z,relro,-z,now",
	"-fuse-ld=lld -Wl,-z,max-page-size=65536,-z,relro,-z,now", "-fuse-ld=gold -Wl,-z,max-page-size=65536",
	"-Wl,-z,separate-code", "-Wl,-z,noseparate-code", "-fuse-ld=lld -Wl,--no-rosegment", "-Wl,-Bsymbolic",
	"-Wl,-z,nodelete",
	"-nostdlib", "-static-libgcc -Wl,--build-id=sha1,-O1,--sort-common", "-Wl,--emit-relocs", "-Wl,-soname,other.so.1",
}

// changes are ways to change a linked library.
var changes = [][]string{
	{"strip"}, {"strip", "--strip-unneeded"}, {"objcopy", "--strip-debug"}, {"objcopy", "--remove-section=.comment"},
	{"objcopy", "--add-section=.note.other=/etc/hostname"}, {"objcopy", "--compress-debug-sections"},
}

// Libraries of every linker are loaded twice, each copy with its own state, and inspected, also after tools changed
// them.
func TestProducers(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := newProducer(t, l)
	lld, _ := exec.LookPath("ld.lld")
	for _, flags := range linkings {
		words := strings.Fields(flags)
		if len(words) > 0 && strings.HasPrefix(flags, "-fuse-ld=") {
			if _, err := exec.LookPath("ld." + strings.TrimPrefix(words[0], "-fuse-ld=")); err != nil {
				t.Logf("%s: not installed", words[0])
				continue
			}
		}
		p.check(t, p.link(t, words...), flags)
	}
	for _, change := range changes {
		if _, err := exec.LookPath(change[0]); err != nil {
			t.Logf("%s: not installed", change[0])
			continue
		}
		file := p.link(t, "-g")
		out, err := exec.Command(change[0], append(change[1:len(change):len(change)], file)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		p.check(t, file, strings.Join(change, " "))
	}
	if lld != "" { // relative relocations without the mark that glibc wants
		file := p.link(t, "-fuse-ld=lld", "-Wl,--pack-dyn-relocs=relr")
		if r := p.load(t, file); r.out != "ok\n" {
			require.Contains(t, r.out, "link it with -Wl,-z,pack-relative-relocs, or without --pack-dyn-relocs")
		}
	}
}

// Files for other machines, of other formats and damaged ones are errors of one line that name the file and say what it
// is, whoever made them.
func TestProducers_Refused(t *testing.T) {
	machine.NeedX86(t)
	t.Parallel()
	l := newLab(t)
	p := newProducer(t, l)
	good := must.Get(os.ReadFile(p.link(t)))(t)
	file := l.path("bin", "refused.so")
	refuse := func(data []byte, says string) {
		t.Helper()
		require.NoError(t, os.WriteFile(file, data, 0o666))
		r := p.load(t, file)
		require.Zero(t, r.signal)
		require.True(t, strings.Contains(r.out, "Error: load "+file+": "), r.out)
		require.Contains(t, r.out, says)
		require.Equal(t, 1, strings.Count(strings.TrimSuffix(r.out, "\nexit status 1"), "\n"), r.out)
		r = p.tool(t, "inspect", file)
		require.Zero(t, r.signal)
		require.NotContains(t, r.out, "goroutine")
	}
	patched := func(change func(b []byte)) []byte {
		b := append([]byte(nil), good...)
		change(b)
		return b
	}
	machine := func(n uint16) []byte {
		return patched(func(b []byte) { binary.LittleEndian.PutUint16(b[18:], n) })
	}
	needed := 0 // what is behind the segments, such as section headers, is not loaded
	for _, s := range must.Get(elf.NewFile(bytes.NewReader(good)))(t).Progs {
		if s.Type == elf.PT_LOAD {
			needed = max(needed, int(s.Off+s.Filesz))
		}
	}
	for n := 0; n < needed; n += needed/16 + 1 {
		says := "truncated"
		switch {
		case n == 0:
			says = "the file is empty"
		case n < 64:
			says = "load "
		}
		refuse(good[:n], says)
	}
	refuse(machine(183), "built for aarch64, this machine is x86-64")
	refuse(machine(3), "built for x86 (32-bit)")
	refuse(machine(243), "built for riscv")
	refuse(machine(9999), "built for an unknown machine (ELF number 9999)")
	refuse(patched(func(b []byte) { b[4] = 1 }), "a 32-bit library")
	refuse(patched(func(b []byte) { b[5] = 2; b[18], b[19] = b[19], b[18] }), "a big-endian library")
	refuse([]byte("PK\x03\x04 weights of numpy"), "a zip archive: unpack it first")
	refuse(must.Get(os.ReadFile(p.object))(t), "an object file, not a shared library: link it with cc -shared")
}

// producer makes libraries of the object of a module, with a function "addone".
type producer struct {
	lab             *lab
	object, program string
	count           int
}

func newProducer(t *testing.T, l *lab) *producer {
	t.Helper()
	dir := t.TempDir()
	p := &producer{lab: l, object: filepath.Join(dir, "addone.o")}
	p.program = l.compile(t, "producers_test"+filepath.Base(filepath.Dir(dir)), "confined_test.c", l.linked()...)
	source := filepath.Join(dir, "addone.tir")
	require.NoError(t, os.WriteFile(source, []byte(addone), 0o666))
	r := p.tool(t, "build", source, "-o", p.object, "--target", "c")
	require.True(t, r.ok, r.out)
	return p
}

func (p *producer) tool(t *testing.T, args ...string) result {
	t.Helper()
	program := filepath.Join(p.lab.dist, "bin", "tvmgo")
	return p.lab.run(t, []string{"TVMGO_CACHE_DIR=off"}, append([]string{program}, args...)...)
}

func (p *producer) link(t *testing.T, flags ...string) string {
	t.Helper()
	p.count++
	file := filepath.Join(filepath.Dir(p.object), "m"+string(rune('a'+p.count%26))+".so")
	args := append([]string{"-shared", "-fPIC", "-o", file, p.object}, flags...)
	out, err := exec.Command("cc", args...).CombinedOutput()
	require.NoError(t, err, "%q: %s", args, out)
	return file
}

func (p *producer) load(t *testing.T, file string) result {
	t.Helper()
	return p.lab.run(t, nil, p.program, "2", file, p.lab.path("artifacts"), "addone")
}

func (p *producer) check(t *testing.T, file, how string) {
	t.Helper()
	require.Equal(t, "ok\n", p.load(t, file).out, how)
	r := p.tool(t, "inspect", file)
	require.True(t, r.ok && strings.Contains(r.out, "addone"), "%s: %s", how, r.out)
}
