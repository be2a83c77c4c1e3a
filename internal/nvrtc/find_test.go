package nvrtc

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/dl"
	"tvmgo/internal/testing/must"
)

// fake compiles testdata/fake.c, a fake NVRTC, into a file. Without a C compiler the test is skipped; on CI it fails.
func fake(t *testing.T, path string, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil && os.Getenv("CI") == "" {
		t.Skipf("there is no C compiler: %v", err)
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	out, err := exec.Command("cc", append(flags, "-Wall", "-shared", "-fPIC", "-o", path,
		"testdata/fake.c")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// bare sets an environment in which only libraries in the folder that it returns are found, apart from those that the
// machine has in /usr/local.
func bare(t *testing.T) string {
	t.Helper()
	for _, v := range []string{Variable, "VIRTUAL_ENV", "CUDA_HOME", "CUDA_PATH"} {
		t.Setenv(v, "")
	}
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	cc := must.Get(exec.LookPath("cc"))(t)
	t.Setenv("PATH", dir+"/bin:"+filepath.Dir(cc)+":/usr/bin:/bin") // cc needs the others
	require.NoError(t, os.MkdirAll(dir+"/bin", 0o755))
	require.NoError(t, os.WriteFile(dir+"/bin/python3", []byte("#!/bin/sh\nexit 1\n"), 0o755))
	return dir
}

func requireMissing(t *testing.T, err error, wants ...string) {
	t.Helper()
	var missing *dl.MissingError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, "NVRTC", missing.API)
	for _, want := range wants {
		require.ErrorContains(t, err, want)
	}
}

// When there is no NVRTC, the error says where it was searched for and how to install it. A later search may find one.
func TestFind_None(t *testing.T) {
	// The test runs in its own process: where another test has loaded an NVRTC, the linker would find it.
	if os.Getenv("TVMGO_NVRTC_CHILD") == "" {
		c := exec.Command(os.Args[0], "-test.run=^TestFind_None$", "-test.v")
		c.Env = append(os.Environ(), "TVMGO_NVRTC_CHILD=1")
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		if strings.Contains(string(out), "--- SKIP") {
			t.Skip(string(out))
		}
		require.Contains(t, string(out), "--- PASS: TestFind_None")
		return
	}
	dir := bare(t)
	if c, err := search(purpose{}); err == nil {
		t.Skipf("this machine has %s", c.Path())
	}
	for range 2 {
		_, err := search(purpose{})
		requireMissing(t, err, "NVRTC is not usable",
			"no libnvrtc.so.13, libnvrtc.so.12, libnvrtc.so.11.2 on the dynamic linker's path",
			"install the CUDA toolkit or the wheel nvidia-cuda-nvrtc", "set TVMGO_NVRTC")
	}
	// The error names a file that is not a library.
	broken := filepath.Join(dir, "lib/python3.9/site-packages/nvidia/cu13/lib/libnvrtc.so.13")
	require.NoError(t, os.MkdirAll(filepath.Dir(broken), 0o755))
	require.NoError(t, os.WriteFile(broken, []byte("no library"), 0o644))
	_, err := search(purpose{})
	requireMissing(t, err, "these libraries cannot be used", broken, "install the CUDA toolkit")

	path := fake(t, filepath.Join(dir, "lib/python3.9/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"), "-DMAJOR=12",
		"-DMINOR=4")
	c := must.Get(search(purpose{}))(t)
	require.Equal(t, path, c.Path())
}

// FindArch opens the newest library that supports an architecture, or else the newest one.
func TestFindArch(t *testing.T) {
	dir := bare(t)
	for version, oldest := range map[string]string{"11.8": "35", "12.9": "50", "13.0": "75"} {
		major, minor, _ := strings.Cut(version, ".")
		fake(t, dir+"/all/libnvrtc.so."+version, "-DMAJOR="+major, "-DMINOR="+minor, "-DOLDEST="+oldest)
	}
	for arch, want := range map[int]string{80: "13.0", 75: "13.0", 50: "12.9", 35: "11.8", 60: "13.0", 0: "13.0"} {
		c, broken := best(purpose{arch: arch}, librariesIn(dir+"/all"))
		require.Empty(t, broken)
		require.Equal(t, "NVRTC "+want, c.String(), arch)
		require.Equal(t, arch != 60 && arch != 0, c.Supports(arch))
	}
}

// An NVRTC that does not know the option for the assembler's report compiles without it.
func TestResources_UnknownOption(t *testing.T) {
	path := fake(t, bare(t)+"/libnvrtc.so", `-DREFUSES="--ptxas-options=-v"`)
	c := must.Get(open(path))(t)
	s := Source{Name: "a.cu", Code: "text", Arch: "sm_80", Resources: true}
	r := must.Get(c.Compile(t.Context(), s))(t)
	require.Equal(t, "text", string(r.Image))
	require.Empty(t, r.Kernels)
	s.Options = []string{verbose}
	require.ErrorIs(t, must.Fail(c.Compile(t.Context(), s)), ErrInvalid, "the option is the request's own")
}

// Of several libraries, FindFor opens the newest one whose code the driver can run.
func TestFindFor_Driver(t *testing.T) {
	dir := bare(t)
	for _, v := range []string{"11.8", "12.2", "12.4", "12.8", "13.0"} {
		major, minor, _ := strings.Cut(v, ".")
		fake(t, dir+"/all/libnvrtc.so."+v, "-DMAJOR="+major, "-DMINOR="+minor)
	}
	for driver, want := range map[int]string{0: "13.0", 11080: "11.8", 12000: "11.8", 12020: "12.2", 12030: "12.2",
		12040: "12.4", 12090: "12.8", 13000: "13.0", 13020: "13.0"} {
		c, broken := best(purpose{driver: driver}, librariesIn(dir+"/all"))
		require.Empty(t, broken)
		require.Equal(t, "NVRTC "+want, c.String(), driver)
	}
	only := func(versions ...string) (list []string) {
		for _, v := range versions {
			list = append(list, dir+"/all/libnvrtc.so."+v)
		}
		return list
	}
	for _, c := range []struct {
		driver int
		files  []string
		want   string
	}{
		{12010, only("13.0", "12.8", "12.4"), "12.4"}, // of the driver's major version, the nearest
		{11020, only("12.2", "11.8", "12.8"), "11.8"},
		{11020, only("13.0", "12.2"), "12.2"},
	} {
		got, _ := best(purpose{driver: c.driver}, c.files)
		require.Equal(t, "NVRTC "+c.want, got.String())
	}
	env := t.TempDir()
	t.Setenv("VIRTUAL_ENV", env)
	newer := fake(t, env+"/lib/python3.9/site-packages/nvidia/cu13/lib/libnvrtc.so.99", "-DMAJOR=99", "-DMINOR=1")
	if c, err := search(purpose{driver: 12040}); err == nil {
		t.Skipf("this machine has %s", c.Path())
	}
	_, err := search(purpose{driver: 12040})
	requireMissing(t, err, newer+" is NVRTC 99.1, and the driver supports CUDA 12.4, which may not run its code",
		"install the wheel nvidia-cuda-nvrtc-cu12", "update the driver")
	t.Setenv(Variable, newer)
	c, err := search(purpose{driver: 12040})
	require.NoError(t, err, "the library that the variable names is opened")
	require.Equal(t, newer, c.Path())
	t.Setenv(Variable, dir+"/all")
	c = must.Get(FindFor(12040))(t)
	require.Equal(t, "NVRTC 12.4", c.String())
	t.Setenv(Variable, "")
	require.Same(t, c, must.Get(FindFor(12040))(t), "the result is cached")
}

// The library that the variable names is opened, and no other.
func TestFind_NamedWrongly(t *testing.T) {
	dir := bare(t)
	fake(t, filepath.Join(dir, "lib/python3.9/site-packages/nvidia/cu13/lib/libnvrtc.so.13"), "-DMAJOR=13", "-DMINOR=0")
	require.NoError(t, os.MkdirAll(dir+"/empty/lib64", 0o755))
	require.NoError(t, os.WriteFile(dir+"/empty/libnvrtc-builtins.so.13.0", nil, 0o644))
	require.NoError(t, os.WriteFile(dir+"/text", []byte("x"), 0o644))
	for named, want := range map[string]string{
		"libm.so.6":            "is not an NVRTC: it has no function nvrtcVersion",
		"/no/such/libnvrtc.so": "/no/such/libnvrtc.so: cannot open shared object file",
		"libnvrtc-no-such.so":  "libnvrtc-no-such.so: cannot open shared object file",
		dir + "/empty": "there is no libnvrtc.so in this folder, nor in the subfolders where toolkits and wheels " +
			"keep it",
		dir + "/text": "/text: ",
		fake(t, dir+"/old/libnvrtc.so", "-DMAJOR=10", "-DMINOR=2"): "is NVRTC 10.2, older than 11.2",
		fake(t, dir+"/fails/libnvrtc.so", "-DFAIL=1"):              "nvrtcVersion: FAKE_INTERNAL_ERROR",
	} {
		t.Setenv(Variable, named)
		_, err := search(purpose{})
		requireMissing(t, err, "TVMGO_NVRTC="+named+": ", want, "or unset it")
	}
}

// The variable may name a folder of any kind; the newest library in it is opened.
func TestFind_Folders(t *testing.T) {
	for _, c := range []struct{ named, library string }{
		{"f", "f/libnvrtc.so.12"},
		{"f", "f/libnvrtc.so"},
		{"cuda", "cuda/lib64/libnvrtc.so.11.2"},
		{"cuda", "cuda/targets/x86_64-linux/lib/libnvrtc.so.13"},
		{"venv", "venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13"},
		{"venv", "venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"},
		{"site-packages", "site-packages/nvidia/cu13/lib/libnvrtc.so.13"},
		{"nvidia", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"},
		{"cu13", "cu13/lib/libnvrtc.so.13"},
		{"odd[1]*", "odd[1]*/lib/libnvrtc.so.13"},
	} {
		t.Run(c.library, func(t *testing.T) {
			dir := bare(t)
			path := fake(t, filepath.Join(dir, c.library))
			t.Setenv(Variable, filepath.Join(dir, c.named))
			found := must.Get(search(purpose{}))(t)
			require.Equal(t, path, found.Path())
			t.Chdir(dir)
			t.Setenv(Variable, c.named) // a relative name
			found = must.Get(search(purpose{}))(t)
			require.True(t, filepath.IsAbs(found.Path()))
		})
	}
	dir := bare(t)
	for _, n := range []string{"9", "12", "13", "13.0.88"} {
		fake(t, dir+"/libnvrtc.so."+n)
	}
	fake(t, dir+"/libnvrtc.alt.so.14")
	t.Setenv(Variable, dir)
	c := must.Get(search(purpose{}))(t)
	require.Equal(t, dir+"/libnvrtc.so.13.0.88", c.Path())
}

// Without the variable, wheels are found in the virtual environment and in the folders of the python3 on the PATH,
// which is not run.
func TestFind_Wheels(t *testing.T) {
	for _, at := range []string{"lib/python3.9/site-packages", "lib/python3/dist-packages",
		"versions/3.9.1/lib/python3.9/site-packages", ".local/lib/python3.9/site-packages"} {
		dir := bare(t)
		path := fake(t, filepath.Join(dir, at, "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"))
		folders := usualFolders()
		require.Contains(t, folders, filepath.Dir(path))
		require.Equal(t, []string{path}, librariesIn(filepath.Dir(path)))
		env := t.TempDir()
		t.Setenv("VIRTUAL_ENV", env)
		first := filepath.Dir(fake(t, env+"/lib/python3.9/site-packages/nvidia/cu13/lib/libnvrtc.so.13"))
		folders = usualFolders()
		require.Less(t, slices.Index(folders, first), slices.Index(folders, filepath.Dir(path)))
		require.GreaterOrEqual(t, slices.Index(folders, first), 0)
	}
}

func TestCompareNatural(t *testing.T) {
	list := []string{"cuda-9", "cuda-13.0", "cuda", "cuda-12.10", "cuda-12.9", "cuda-012.9"}
	slices.SortStableFunc(list, compareNatural)
	require.Equal(t, []string{"cuda", "cuda-9", "cuda-12.9", "cuda-012.9", "cuda-12.10", "cuda-13.0"}, list)
}

// The headers beside the library come first, then those of CUDA_HOME and CUDA_PATH.
func TestIncludeDirs(t *testing.T) {
	for _, c := range []struct {
		library string
		headers []string
		want    []string
	}{
		{"cu13/lib/l", []string{"cu13/include/cuda_fp16.h", "cu13/include/cccl/cuda/std/cstdint"}, []string{"cu13/include",
			"cu13/include/cccl"}},
		{"cuda_nvrtc/lib/l", []string{"cuda_runtime/include/cuda_fp16.h", "cuda_nvcc/include/crt/mma.h",
			"cuda_cccl/include/cuda/std/cstdint"},
			[]string{"cuda_runtime/include", "cuda_nvcc/include", "cuda_cccl/include"}},
		{"t/lib64/l", []string{"t/include/cuda_fp16.h", "t/include/cuda/std/cstdint", "home/include/cuda_fp16.h"},
			[]string{"t/include"}},
		{"lib/l", []string{"home/include/cuda_fp16.h", "path/include/cuda_fp16.h"}, []string{"home/include"}},
		{"lib/l", []string{"path/include/cuda_fp16.h"}, []string{"path/include"}},
	} {
		dir := bare(t)
		t.Setenv("CUDA_HOME", dir+"/home")
		t.Setenv("CUDA_PATH", dir+"/path")
		for _, h := range append(c.headers, c.library) {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, h)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, h), nil, 0o644))
		}
		var got []string
		for _, d := range includeDirs(filepath.Join(dir, c.library)) {
			if rel, ok := strings.CutPrefix(d, dir+"/"); ok { // the others are folders of this machine
				got = append(got, rel)
			}
		}
		require.Equal(t, c.want, got)
	}
}

// action returns the kernel's struct sigaction for a signal in this process.
func action(t *testing.T, s syscall.Signal) [4]uint64 {
	t.Helper()
	var a [4]uint64
	_, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), 0, uintptr(unsafe.Pointer(&a)), 8, 0, 0)
	require.Zero(t, e)
	const hasRestorer = 0x04000000 // SA_RESTORER, without which the field means nothing
	if a[1]&hasRestorer == 0 {
		a[2] = 0
	}
	return a
}

func actions(t *testing.T) (list [][4]uint64) {
	for s := syscall.Signal(1); s < 65; s++ {
		list = append(list, action(t, s))
	}
	return list
}

func opened(t *testing.T, flags ...string) *Compiler {
	t.Helper()
	return must.Get(open(fake(t, filepath.Join(t.TempDir(), "libnvrtc.so"), flags...)))(t)
}

// A library that installs signal handlers does not keep them: the program's handlers are restored.
func TestSignals_Restored(t *testing.T) {
	before := actions(t)
	c := opened(t)
	require.Equal(t, before, actions(t), "loaded")
	must.Get(c.Compile(t.Context(), Source{Name: "f", Code: "code", Arch: "sm_80"}))(t)
	require.Equal(t, before, actions(t), "compiled")
}

// An NVRTC without the newer functions compiles.
func TestCompile_OldLibrary(t *testing.T) {
	c := opened(t, "-DNO_CUBIN", "-DNO_ARCHS")
	major, minor := c.Version()
	require.Equal(t, []int{11, 2}, []int{major, minor})
	require.Nil(t, c.Archs())
	s := Source{Name: "f", Code: "code", Arch: "sm_35", Names: []string{"a", "b"}}
	r := must.Get(c.Compile(t.Context(), s))(t)
	require.Equal(t, Result{Image: []byte("code"), Names: map[string]string{"a": "a", "b": "b"}}, r)
	s.Want = CUBIN
	_, err := c.Compile(t.Context(), s)
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, "this NVRTC cannot make cubins: request PTX")

	c = opened(t)
	require.Equal(t, []int{70, 80}, c.Archs())
	require.ErrorContains(t, must.Fail(c.Compile(t.Context(), s)),
		"this NVRTC does not support sm_35; it supports sm_70, sm_80")
}

// A running compilation is cancelled when its context is cancelled.
func TestCompile_CancelledWhileRunning(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	flow := "-DFLOW=\"" + pipe + "\""
	c := opened(t, flow)
	ctx, cancel := context.WithCancel(t.Context())
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err = c.Compile(ctx, Source{Name: "f", Code: "code", Arch: "sm_80"})
	}()
	must.Get(os.ReadFile(pipe))(t)
	cancel()
	<-done
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "compile f for sm_80 with NVRTC 11.2: context canceled")
	_, err = opened(t, flow, "-DFAIL=9").Compile(t.Context(), Source{Name: "f", Code: "code", Arch: "sm_80"})
	require.ErrorContains(t, err, "nvrtcSetFlowCallback: FAKE")
}

// open also opens libnvrtc-builtins in the same folder, which compilation needs.
func TestOpen_Builtins(t *testing.T) {
	dir := t.TempDir()
	library := fake(t, dir+"/libnvrtc.so", "-DNEEDS=\"fakebuiltins\"")
	c := must.Get(open(library))(t)
	s := Source{Name: "f", Code: "code", Arch: "sm_80"}
	require.ErrorContains(t, must.Fail(c.Compile(t.Context(), s)), "nvrtcCompileProgram: FAKE_OTHER")
	builtins := dir + "/libnvrtc-builtins.so.11.2"
	require.NoError(t, os.WriteFile(builtins, []byte("no library"), 0o644))
	require.ErrorContains(t, must.Fail(open(library)), "cannot be used without the library beside it: "+builtins)
	fake(t, builtins, "-Wl,-soname,fakebuiltins")
	c = must.Get(open(library))(t)
	must.Get(c.Compile(t.Context(), s))(t)
}

// For each function of NVRTC that can fail, the error names the function.
func TestCompile_EveryCallFails(t *testing.T) {
	s := Source{Name: "f", Code: "code", Arch: "sm_80", Names: []string{"a", "b"}}
	for flag, want := range map[string]string{
		"-DFAIL=2": "nvrtcCreateProgram: FAKE_INTERNAL_ERROR", "-DFAIL=3": "nvrtcCompileProgram: FAKE",
		"-DFAIL=4": "the result contains no ptx",
		"-DFAIL=5": "nvrtcGetPTXSize: FAKE", "-DFAIL=6": "nvrtcGetPTX: FAKE", "-DFAIL=7": "nvrtcAddNameExpression: FAKE",
		"-DFAIL=8": "nvrtcGetLoweredName: FAKE",
	} {
		c := opened(t, flag)
		for range 3 {
			_, err := c.Compile(t.Context(), s)
			require.ErrorContains(t, err, "compile f for sm_80 with NVRTC 11.2: "+want)
			require.False(t, errors.Is(err, ErrCompile) || errors.Is(err, fs.ErrNotExist))
		}
	}
}
