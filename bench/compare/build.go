package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tvmgo/blob"
	"tvmgo/blob/vmcode"
	"tvmgo/export/pack"
)

// programs are the C programs of a comparison, built for both libraries.
type programs struct {
	ours, peer           string // bench/program
	oursStart, peerStart string // bench/program/start.c
	oursThrow, peerThrow string // bench/program/throw.cc
	open                 string // bench/program/open.c
	blob1K, blob64M      string // libraries that carry a blob
	vulkanSO             string // a library with the shader stepSPV
	fat                  string // a library with variants for several targets
	chain                string // a Relax executable, see buildChain
	oursWeights          string // bench/program/weights.c
	peerWeights          string
	weights              string // a Relax executable, see buildWeights
	hand                 string // bench/program/hand.c as a library
	model                string // bench/program/model.c
	oursLib              string
	peerLibs             []string // libtvm_ffi.so, libtvm_runtime.so
}

const (
	blobKind = "benchblob" // the loader is registered by bench/program/load.c
	small    = 1 << 10
	large    = 64 << 20
)

func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// peerLibraries finds the libraries of Apache TVM's wheels in a virtual environment.
func peerLibraries(venv string) ([]string, error) {
	var libs []string
	for _, name := range []string{"tvm_ffi/lib/libtvm_ffi.so", "tvm/lib/libtvm_runtime.so"} {
		found, err := wheelFiles(venv, name)
		if err != nil {
			return nil, err
		}
		path, err := filepath.Abs(found[0])
		if err != nil {
			return nil, err
		}
		libs = append(libs, path)
	}
	return libs, nil
}

// build compiles everything into dir. Call it in the root of the repository.
func build(dir, lib, venv string) (*programs, error) {
	lib, err := filepath.Abs(lib)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(lib); err != nil {
		return nil, fmt.Errorf("%w: run make dist", err)
	}
	peer, err := peerLibraries(venv)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	p := &programs{
		ours: in("program-ours"), peer: in("program-peer"),
		oursThrow: in("throw-ours.so"), peerThrow: in("throw-peer.so"),
		oursStart: in("start-ours"), peerStart: in("start-peer"), open: in("open"),
		blob1K: in("blob-1k.so"), blob64M: in("blob-64m.so"), vulkanSO: in("vulkan.so"), fat: in("fat.so"),
		chain: in("chain.so"), hand: in("hand.so"), model: in("model"),
		oursWeights: in("weights-ours"), peerWeights: in("weights-peer"), weights: in("weights.so"),
		oursLib: lib, peerLibs: peer,
	}
	var programSources []string
	for _, name := range []string{"main", "call", "lookup", "load", "runtime", "map", "text", "error", "driver",
		"opencl", "cuda", "vulkan", "vm", "pair", "parallel"} {
		programSources = append(programSources, "bench/program/"+name+".c")
	}
	compile := func(out string, sources []string, extra ...string) error {
		// Both sides have the same alignment: the time of a loop of three nanoseconds depends on its alignment.
		args := append([]string{"-std=gnu11", "-O2", "-falign-functions=64", "-falign-loops=64", "-Wall", "-Wextra",
			"-pthread", "-Iinclude", "-o", out}, sources...)
		return run("cc", append(args, extra...)...)
	}
	// Both sides use the same headers, because C++ programs contain their inline code.
	headers := filepath.Join(filepath.Dir(filepath.Dir(peer[0])), "include")
	throws := func(out, lib string) error {
		args := []string{"-std=c++17", "-O2", "-fPIC", "-shared", "-I" + headers, "-o", out, "bench/program/throw.cc"}
		return run("c++", append(args, linkWith(lib)...)...)
	}
	withOurs := append([]string{"-DBENCH_CLASSIC", "-DBENCH_OPENCL", "-DBENCH_CUDA", "-DBENCH_VULKAN", "-Ibuild/include",
		"-ldl"}, linkWith(lib)...)
	withPeer := append([]string{"-ldl"}, linkWith(peer[1], peer[0])...)
	for _, step := range []func() error{
		func() error { return compile(p.ours, programSources, withOurs...) },
		func() error { return compile(p.peer, programSources, withPeer...) },
		func() error { return throws(p.oursThrow, lib) },
		func() error { return throws(p.peerThrow, peer[0]) },
		func() error { return compile(p.oursStart, []string{"bench/program/start.c"}, linkWith(lib)...) },
		func() error { return compile(p.peerStart, []string{"bench/program/start.c"}, withPeer...) },
		func() error { return compile(p.open, []string{"bench/program/open.c"}, "-ldl") },
		func() error { return compile(p.oursWeights, []string{"bench/program/weights.c"}, linkWith(lib)...) },
		func() error { return compile(p.peerWeights, []string{"bench/program/weights.c"}, withPeer...) },
		func() error { return fakeDriver(dir) },
		func() error { return packShader(p.vulkanSO) },
		func() error { return buildFat(p.fat) },
		func() error { return compileHand(p.hand) },
		func() error { return compileModelProgram(p.model, lib) },
		func() error { return buildBlob(p.blob1K, itself, noise(small)) },
		func() error { return buildBlob(p.blob64M, itself, noise(large)) },
		func() error { return buildChain(p.chain) },
		func() error { return buildWeights(p.weights, weightBytes) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// packShader makes a library with the shader of the Vulkan rows.
func packShader(out string) error {
	return pack.Library(context.Background(), pack.Kernels{Inputs: []pack.Input{{Path: stepSPV}},
		Functions: []pack.Function{{Signature: "step(inout uint32[n], uint32, uint32) " +
			"launch blockIdx.x=ceildiv(n, 64), threadIdx.x=64"}}}, out)
}

// fakeDriver makes the CUDA rows use a driver that launches nothing (program/cudriver.c) on machines without a GPU: the
// time that the library adds to a launch is the same.
func fakeDriver(dir string) error {
	if _, err := os.Stat("/dev/nvidiactl"); err == nil || os.Getenv("TVMGO_CUDA_LIBRARY") != "" {
		return nil
	}
	if err := os.Setenv("FAKECUDA_VERSION", "13050"); err != nil { // supports the PTX version of the modules
		return err
	}
	for variable, folder := range map[string]string{"TVMGO_CUDA_LIBRARY": "driver", "FAKECUDA_KERNELS": "kernels"} {
		sources, err := filepath.Glob("internal/testing/fakecuda/" + folder + "/*.c")
		if err != nil {
			return err
		}
		out := filepath.Join(dir, "fakecuda-"+folder+".so")
		if folder == "driver" {
			sources = append(sources, "bench/program/cudriver.c", "-DcuLaunchKernel=fake_cuLaunchKernel",
				"-DcuCtxGetCurrent=fake_cuCtxGetCurrent", "-DcuCtxSetCurrent=fake_cuCtxSetCurrent")
		}
		args := append([]string{"-std=gnu11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-shared", "-fvisibility=hidden",
			"-Wl,-Bsymbolic", "-Iinternal/testing/fakecuda", "-o", out}, sources...)
		if err := run("cc", append(args, "-lpthread", "-ldl", "-lm")...); err != nil {
			return err
		}
		if err := os.Setenv(variable, out); err != nil {
			return err
		}
	}
	return nil
}

// linkWith returns the flags that link a program with libraries by path, even if the program does not use them.
func linkWith(libs ...string) []string {
	flags := []string{"-Wl,--no-as-needed"}
	for _, l := range libs {
		flags = append(flags, l, "-Wl,-rpath,"+filepath.Dir(l))
	}
	return flags
}

// text appends a string in the form of blobs.
func text(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

// noise returns the entry of a module of blobKind whose payload has size bytes.
func noise(size int) []byte {
	b := binary.LittleEndian.AppendUint64(text(nil, blobKind), uint64(size))
	for i := range size {
		b = append(b, byte(i*2654435761>>13))
	}
	return b
}

// itself is the entry of the library in its blob.
var itself = text(nil, "_lib")

// chainMoves is the number of instructions that a chain executes besides the first and the last.
const chainMoves = 1000

// buildChain makes a library with an executable whose function main moves its argument into tuples and out of them.
func buildChain(out string) error {
	const makeTuple, getItem = 1, 2
	of := func(kind vmcode.OperandKind, value int64) vmcode.Operand {
		return vmcode.Operand{Kind: kind, Value: value}
	}
	x, tuple, item := of(vmcode.InRegister, 0), of(vmcode.InRegister, 1), of(vmcode.InRegister, 2)
	call := func(dst vmcode.Operand, callee int, args ...vmcode.Operand) vmcode.Instruction {
		return vmcode.Instruction{Op: vmcode.Call, Dst: vmcode.Register(dst.Value), Callee: callee, Args: args}
	}
	code := []vmcode.Instruction{call(tuple, makeTuple, x)}
	for range chainMoves / 2 {
		code = append(code, call(item, getItem, tuple, of(vmcode.Immediate, 0)), call(tuple, makeTuple, item))
	}
	code = append(code, vmcode.Instruction{Op: vmcode.Ret, Source: vmcode.Register(item.Value)})
	e := &vmcode.Executable{Code: code, Functions: []vmcode.Function{
		{Kind: vmcode.Bytecode, Name: "main", End: len(code), Arity: 1, Registers: 3, Parameters: []string{"x"}},
		{Kind: vmcode.Packed, Name: "vm.builtin.make_tuple"}, {Kind: vmcode.Packed, Name: "vm.builtin.tuple_getitem"},
	}}
	payload, err := e.EncodePayload(blob.Modern)
	if err != nil {
		return err
	}
	return buildBlob(out, text(text(nil, "relax.VMExecutable"), string(payload)), itself)
}

// buildBlob links a library with a function, a context slot and a blob with the entries of two modules: the first
// imports the second.
func buildBlob(out string, first, second []byte) error {
	var b []byte
	for _, v := range []uint64{3, 0, 1, 1, 1, 1} { // import tree: rows 0,1,1; child 1
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = append(append(b, first...), second...)
	content := text(nil, string(b))
	base := strings.TrimSuffix(out, ".so")
	if err := os.WriteFile(base+".bin", content, 0o666); err != nil {
		return err
	}
	source := fmt.Sprintf(`	.section .note.GNU-stack,"",@progbits
	.section .rodata
	.balign 64
	.globl __tvm_ffi__library_bin
	.type __tvm_ffi__library_bin, @object
__tvm_ffi__library_bin:
	.incbin %q
	.size __tvm_ffi__library_bin, .-__tvm_ffi__library_bin
	.bss
	.balign 8
	.globl __tvm_ffi__library_ctx
	.type __tvm_ffi__library_ctx, @object
	.size __tvm_ffi__library_ctx, 8
__tvm_ffi__library_ctx:
	.zero 8
`, base+".bin")
	if err := os.WriteFile(base+".S", []byte(source), 0o666); err != nil {
		return err
	}
	code := "int __tvm_ffi_nothing(void* f, const void* args, int n, void* result) { return 0; }\n"
	if err := os.WriteFile(base+".c", []byte(code), 0o666); err != nil {
		return err
	}
	if err := run("cc", "-O2", "-fPIC", "-shared", "-o", out, base+".c", base+".S"); err != nil {
		return err
	}
	return os.Remove(base + ".bin")
}
