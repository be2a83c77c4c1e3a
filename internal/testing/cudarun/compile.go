package cudarun

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tvmgo/internal/testing/fakecuda"
)

//go:embed device engine
var sources embed.FS

// Options are the options of a compilation.
type Options struct {
	Arch    int      // __CUDA_ARCH__ / 10, such as 90; 0 for 90
	Defines []string // macros: "TILE=16"

	// Subgroup is the number of threads of a subgroup, 1 to 32, of a source in OpenCL C; 0 for CUDA C.
	Subgroup int
}

// flags of the engine and of kernels. A kernel's loads and stores call the engine's checks (engine/hooks.cpp).
var (
	always = []string{"-std=gnu++17", "-D_GNU_SOURCE", "-g1", "-fPIC", "-fvisibility=hidden", "-fno-exceptions",
		"-fno-rtti", "-fno-strict-aliasing", "-ffp-contract=off", "-fsigned-char"}
	checked = []string{"-O1", "-fsanitize=thread,alignment,bounds", "-fno-threadsafe-statics", "-fwrapv", "-w",
		"-fno-toplevel-reorder", "-fno-stack-protector", "-D__CUDACC__", "-D__CUDACC_RTC__", "-D__CUDACC_VER_MAJOR__=13",
		"-D__CUDACC_VER_MINOR__=0"}
)

// toolchain is the compiled engine and the precompiled header of kernels, in a folder of the cache.
type toolchain struct {
	compiler, dir string
	flags         []string
}

var prepared = sync.OnceValues(prepare)

// prepare compiles the engine, once for each version of it.
func prepare() (*toolchain, error) {
	compiler, err := exec.LookPath("g++")
	if err != nil {
		if compiler, err = exec.LookPath("clang++"); err != nil {
			return nil, errors.New("run CUDA C on the CPU: there is no g++ or clang++: install one")
		}
	}
	version, err := exec.Command(compiler, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("run CUDA C on the CPU: %s --version: %w", compiler, err)
	}
	texts := map[string][]byte{"fakecuda_kernel.h": []byte(fakecuda.KernelHeader)}
	err = fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			texts[path], err = sources.ReadFile(path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	parts := []string{string(version), strings.Join(always, " "), strings.Join(checked, " ")}
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		parts = append(parts, path, string(texts[path]))
	}
	tc := &toolchain{compiler: compiler, flags: append(append([]string(nil), always...), checked...)}
	if strings.Contains(string(version), "clang") {
		tc.flags = append(tc.flags, "-mllvm", "-tsan-instrument-func-entry-exit=0")
	} else {
		tc.flags = append(tc.flags, "--param=tsan-instrument-func-entry-exit=0")
	}
	tc.dir = filepath.Join(cacheDir(), "engine-"+hash(parts...))
	if _, err := os.Stat(filepath.Join(tc.dir, "hooks.o")); err == nil {
		return tc, nil
	}
	return tc, install(tc.dir, func(dir string) error {
		for path, text := range texts {
			file := filepath.Join(dir, filepath.FromSlash(path))
			if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
				return err
			}
			if err := os.WriteFile(file, text, 0o666); err != nil {
				return err
			}
		}
		// The engine is one library for all kernels; each library of kernels contains the hooks, whose names may also be
		// those of a sanitizer.
		units, err := filepath.Glob(filepath.Join(dir, "engine", "*.cpp"))
		if err != nil {
			return err
		}
		args := append(slices.Clone(always), "-O2", "-shared", "-Wl,-Bsymbolic", "-Wl,-soname,"+engineName(tc.dir), "-o",
			filepath.Join(dir, engineName(tc.dir)))
		for _, unit := range units {
			if filepath.Base(unit) != "hooks.cpp" {
				args = append(args, unit)
			}
		}
		if err := command(compiler, append(args, "-ldl", "-lpthread", "-lm")); err != nil {
			return err
		}
		return command(compiler, append(slices.Clone(always), "-O2", "-c", filepath.Join(dir, "engine", "hooks.cpp"), "-o",
			filepath.Join(dir, "hooks.o")))
	})
}

// engineName names the engine's library by its version: the linker does not open a second library with a name.
func engineName(dir string) string { return "lib" + filepath.Base(dir) + ".so" }

func hash(parts ...string) string {
	sum := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(sum, "%d\x00%s", len(p), p)
	}
	return hex.EncodeToString(sum.Sum(nil)[:10])
}

func command(name string, args []string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%.4000s", filepath.Base(name), err, out)
	}
	return nil
}

// install fills a folder and moves it into place; of several processes that do this, the first one wins.
func install(dir string, fill func(dir string) error) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return err
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), "part-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	if err := fill(part); err != nil {
		return err
	}
	if err := os.Rename(part, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		if _, gone := os.Stat(dir); gone != nil {
			return err
		}
	}
	return nil
}

// cacheDir returns build/.cache/cudarun of this module; outside of it, a folder for temporary files.
func cacheDir() string {
	root, err := filepath.Abs(".")
	for ; err == nil; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return filepath.Join(root, "build", ".cache", "cudarun")
		}
		if root == filepath.Dir(root) {
			break
		}
	}
	return filepath.Join(os.TempDir(), "cudarun")
}

// build compiles CUDA C to a library and returns its path. Equal sources share a file.
func build(source string, o Options) (string, error) {
	tc, err := prepared()
	if err != nil {
		return "", err
	}
	arch := o.Arch
	if arch == 0 {
		arch = 90
	}
	include, name := "device/builtin.h", "kernels.cu"
	if o.Subgroup > 0 {
		source = translateOpenCL(source)
		o.Defines = append([]string{fmt.Sprint("CUDARUN_SUBGROUP=", o.Subgroup)}, o.Defines...)
		include, name = "device/opencl.h", "kernels.cl"
	}
	code, err := translate(source)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cacheDir(), "kernels-"+hash(append([]string{tc.dir, fmt.Sprint(arch), code}, o.Defines...)...))
	library := filepath.Join(dir, "kernels.so")
	if _, err := os.Stat(library); err == nil {
		return library, nil
	}
	err = install(dir, func(part string) error {
		file := filepath.Join(part, "kernels.cpp")
		text := fmt.Sprintf("#include %q\n#line 1 %q\n%s", include, name, code)
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			return err
		}
		args := append(append([]string(nil), tc.flags...), "-I", tc.dir, "-I", filepath.Join(tc.dir, "device"),
			fmt.Sprintf("-D__CUDA_ARCH__=%d", 10*arch))
		for _, d := range o.Defines {
			args = append(args, "-D"+d)
		}
		object := filepath.Join(part, "kernels.o")
		if err := command(tc.compiler, append(args, "-c", file, "-o", object)); err != nil {
			return fmt.Errorf("compile %s for the CPU: %w", name, err)
		}
		return command(tc.compiler, []string{"-shared", "-Wl,-Bsymbolic", "-o", filepath.Join(part, "kernels.so"), object,
			filepath.Join(tc.dir, "hooks.o"), filepath.Join(tc.dir, engineName(tc.dir)), "-Wl,-rpath," + tc.dir, "-lm"})
	})
	return library, err
}
