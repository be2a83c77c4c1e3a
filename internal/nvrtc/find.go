package nvrtc

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tvmgo/internal/cudaimage"
	"tvmgo/internal/dl"
	"tvmgo/internal/sorting"
)

// Variable is the environment variable that names the library to use, or a folder that contains it.
const Variable = "TVMGO_NVRTC"

// sonames are the names that the dynamic linker is asked for. All versions of CUDA 11 from 11.2 on have the name .11.2.
var sonames = []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"}

var found struct {
	sync.Mutex
	compilers map[purpose]*Compiler
}

// purpose is what a compiler is for; the zero value is any.
type purpose struct {
	driver int // the version of CUDA of the driver that runs its code
	arch   int // the architecture that it compiles for: 90
}

// Find opens the newest NVRTC on this machine. Later calls return the same Compiler, even when the environment changes;
// the library is never closed. When there is none, the error is a *dl.MissingError, and the next call searches again.
// Goroutines may call Find concurrently.
func Find() (*Compiler, error) { return FindFor(0) }

// FindFor is Find for code that is to run on a driver, which is given by its CUDA version: 12040 for 12.4. It opens the
// newest NVRTC that is not newer than the driver. Where all are newer, it opens one of the driver's major version,
// because the driver runs its machine code. An NVRTC of a newer major version is an error, unless TVMGO_NVRTC names it.
func FindFor(driver int) (*Compiler, error) { return find(purpose{driver: driver}) }

// FindArch is Find for code for an architecture, as 90 for sm_90: newer versions of NVRTC do not support old ones. It
// opens the newest NVRTC that supports it. If none does, it returns the newest one, whose Compile returns an error.
func FindArch(arch int) (*Compiler, error) { return find(purpose{arch: arch}) }

func find(p purpose) (*Compiler, error) {
	found.Lock()
	defer found.Unlock()
	if c := found.compilers[p]; c != nil {
		return c, nil
	}
	c, err := search(p)
	if err != nil {
		return nil, err
	}
	if found.compilers == nil {
		found.compilers = map[purpose]*Compiler{}
	}
	found.compilers[p] = c
	return c, nil
}

func missing(cure, format string, args ...any) error {
	return &dl.MissingError{API: "NVRTC", Cause: fmt.Sprintf(format, args...), Cure: cure}
}

// How well an NVRTC suits a driver; a larger value is better.
const (
	tooNew    = iota // the driver may run neither its PTX nor its machine code
	sameMajor        // the driver runs its machine code, because minor versions are compatible
	suits            // the driver runs its PTX and its machine code
)

func suitability(driver, major, minor int) int {
	switch version := 1000*major + 10*minor; {
	case driver == 0 || version <= driver:
		return suits
	case major == driver/1000:
		return sameMajor
	}
	return tooNew
}

// Supports reports whether this NVRTC compiles for an architecture, as 90. It is true if the library does not report
// what it supports.
func (c *Compiler) Supports(arch int) bool { return c.archs == nil || slices.Contains(c.archs, arch) }

// better reports whether c suits a purpose better than another NVRTC, which may be nil.
func (c *Compiler) better(than *Compiler, p purpose) bool {
	if than == nil {
		return true
	}
	if p.arch != 0 && c.Supports(p.arch) != than.Supports(p.arch) {
		return c.Supports(p.arch)
	}
	a, b := suitability(p.driver, c.major, c.minor), suitability(p.driver, than.major, than.minor)
	newer := cmp.Or(cmp.Compare(c.major, than.major), cmp.Compare(c.minor, than.minor))
	if a == b && a != suits {
		newer = -newer // of those that are newer than the driver, the oldest is closest to it
	}
	return a > b || a == b && newer > 0
}

// best opens libraries and returns the one that suits a purpose best, the first among equals. broken has the errors of
// libraries that exist but cannot be opened.
func best(p purpose, names []string) (best *Compiler, broken []string) {
	for _, name := range names {
		c, err := open(name)
		switch {
		case err != nil:
			if !slices.Contains(sonames, name) || !strings.Contains(err.Error(), "No such file") {
				broken = append(broken, err.Error())
			}
		case c.better(best, p):
			best.close()
			best = c
		default:
			c.close()
		}
	}
	return best, broken
}

// search is find without the cached result.
func search(p purpose) (*Compiler, error) {
	if named := os.Getenv(Variable); named != "" {
		return openNamed(p, named)
	}
	folders := usualFolders()
	names := slices.Clone(sonames)
	for _, f := range folders {
		names = append(names, librariesIn(f)...)
	}
	c, broken := best(p, names)
	switch {
	case c == nil:
		cause := fmt.Sprintf("there is no %s on the dynamic linker's path, and none in %s", strings.Join(sonames, ", "),
			shortList(folders))
		if len(broken) > 0 {
			cause = "these libraries cannot be used: " + shortList(broken) + "; " + cause
		}
		return nil, missing("install the CUDA toolkit or the wheel nvidia-cuda-nvrtc (nvidia-cuda-nvrtc-cu12 for drivers "+
			"of CUDA 12), or set "+Variable+" to the library or its folder", "%s", cause)
	case suitability(p.driver, c.major, c.minor) == tooNew:
		defer c.close()
		return nil, missing(fmt.Sprintf("install the wheel nvidia-cuda-nvrtc-cu%d or the CUDA toolkit %[1]d, update the "+
			"driver, or set %s to a library that is to be used anyway", p.driver/1000, Variable),
			"%s is %s, and the driver supports CUDA %d.%d, which may not run its code", c.path, c, p.driver/1000,
			p.driver%1000/10)
	}
	return c, nil
}

// openNamed opens the library that the variable names, or, if it names a folder, the library in it that suits the
// purpose best. It does not search elsewhere.
func openNamed(p purpose, named string) (*Compiler, error) {
	cure := "set " + Variable + " to libnvrtc.so.13 or a folder that holds it, or unset it"
	files := []string{named}
	if info, err := os.Stat(named); err == nil && info.IsDir() {
		files = librariesBelow(named)
		if len(files) == 0 {
			return nil, missing(cure, "%s=%s: there is no libnvrtc.so in this folder, nor in the subfolders where toolkits "+
				"and wheels keep it", Variable, named)
		}
	}
	c, why := best(p, files)
	if c != nil {
		return c, nil
	}
	return nil, missing(cure, "%s=%s: %s", Variable, named, shortList(why))
}

// shortList joins the first few texts of a list, and the number of the others.
func shortList(list []string) string {
	const most = 8
	if len(list) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
	}
	return strings.Join(list, ", ")
}

// isLibraryName reports whether a file is one of NVRTC, such as libnvrtc.so.13, but not libnvrtc-builtins.so.
func isLibraryName(name string) bool {
	version, ok := strings.CutPrefix(name, "libnvrtc.so")
	for ok && version != "" {
		if ok = version[0] == '.'; ok {
			n := cudaimage.Digits(version[1:])
			version, ok = version[1+n:], n > 0
		}
	}
	return ok
}

// librariesIn lists the files of NVRTC in a folder, newest first.
func librariesIn(folder string) []string {
	var list []string
	for _, f := range glob(folder, "libnvrtc.so*") {
		if isLibraryName(filepath.Base(f)) {
			list = append(list, f)
		}
	}
	return list
}

// wheelFolders are the folders, below a folder of Python packages, where wheels install the library: those of CUDA 13,
// and older ones.
var wheelFolders = []string{"nvidia/cu[0-9]*/lib", "nvidia/cuda_nvrtc/lib"}

// librariesBelow lists the libraries in a folder and in its subfolders, where the folder may be a CUDA toolkit, a
// virtual environment, a folder of Python packages, or one of its packages.
func librariesBelow(folder string) []string {
	patterns := []string{"", "lib64", "lib", "targets/*/lib", "lib/*-linux-gnu", "cu[0-9]*/lib", "cuda_nvrtc/lib"}
	for _, w := range wheelFolders {
		patterns = append(patterns, w, "lib/python3*/site-packages/"+w)
	}
	var list []string
	for _, p := range patterns {
		for _, f := range glob(folder, p) {
			list = append(list, librariesIn(f)...)
		}
	}
	return list
}

// usualFolders lists the existing folders in which toolkits and wheels install the library.
func usualFolders() []string {
	list := slices.Concat(glob("/usr/local/cuda", "lib64"), glob("/usr/local", "cuda-*/lib64"), glob("/opt/cuda", "lib64"))
	for _, packages := range packageFolders() {
		for _, w := range wheelFolders {
			list = append(list, glob(packages, w)...)
		}
	}
	if len(list) == 0 {
		return []string{"/usr/local/cuda*/lib64", "the wheels of $VIRTUAL_ENV and python3"} // for the error
	}
	return list
}

// packageFolders lists the folders of Python packages of the virtual environment, of the python3 on the PATH, and of
// the user's home.
func packageFolders() []string {
	var list []string
	add := func(folder, pattern string) {
		for _, f := range glob(folder, pattern) {
			if !slices.Contains(list, f) {
				list = append(list, f)
			}
		}
	}
	if env := os.Getenv("VIRTUAL_ENV"); env != "" {
		add(env, "lib/python3*/site-packages")
	}
	if python, err := exec.LookPath("python3"); err == nil {
		prefixes := []string{filepath.Dir(filepath.Dir(python))}
		if real, err := filepath.EvalSymlinks(python); err == nil {
			prefixes = append(prefixes, filepath.Dir(filepath.Dir(real)))
		}
		for _, p := range prefixes {
			add(p, "lib/python3*/site-packages")
			add(p, "lib/python3*/dist-packages")
			add(p, "local/lib/python3*/dist-packages")
			add(p, "versions/*/lib/python3*/site-packages") // pyenv, whose python3 is a script
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		add(home, ".local/lib/python3*/site-packages")
	}
	return list
}

// glob lists the files and folders below a folder that match a pattern, newest version first. The folder's own name is
// not a pattern.
func glob(folder, pattern string) []string {
	quoted := strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(folder)
	list, _ := filepath.Glob(filepath.Join(quoted, pattern))
	sorting.By(list, func(a, b string) int { return compareNatural(b, a) })
	return list
}

// runs divides a name into numbers and what is between them.
func runs(name string) (list []string) {
	for name != "" {
		n := cudaimage.Digits(name)
		if n == 0 {
			if n = strings.IndexAny(name, "0123456789"); n < 0 {
				n = len(name)
			}
		}
		list = append(list, name[:n])
		name = name[n:]
	}
	return list
}

// compareNatural compares names, and the numbers in them by their values: cuda-9 comes before cuda-13.
func compareNatural(a, b string) int {
	return slices.CompareFunc(runs(a), runs(b), func(x, y string) int {
		if x[0] <= '9' && y[0] <= '9' && x[0] >= '0' && y[0] >= '0' {
			x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
			if c := cmp.Compare(len(x), len(y)); c != 0 {
				return c
			}
		}
		return cmp.Compare(x, y)
	})
}
