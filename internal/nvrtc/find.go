package nvrtc

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"tvmgo/internal/dl"
)

// Variable names the library to use, or a folder with it.
const Variable = "TVMGO_NVRTC"

// sonames are looked for where the dynamic linker looks, newest first. All of CUDA 11 from 11.2 on is .11.2.
var sonames = []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"}

var found struct {
	sync.Mutex
	compiler *Compiler
}

// Find opens NVRTC. Once it was found, the answer stays the same, whatever becomes of the environment; the library is never
// closed. That there is none is a *dl.MissingError, and is looked for anew by the next call. Any goroutine.
func Find() (*Compiler, error) {
	found.Lock()
	defer found.Unlock()
	if found.compiler == nil {
		c, err := search()
		if err != nil {
			return nil, err
		}
		found.compiler = c
	}
	return found.compiler, nil
}

func missing(cure, format string, args ...any) error {
	return &dl.MissingError{API: "NVRTC", Cause: fmt.Sprintf(format, args...), Cure: cure}
}

// search is Find without memory.
func search() (*Compiler, error) {
	if named := os.Getenv(Variable); named != "" {
		return openNamed(named)
	}
	folders := usualFolders()
	var files []string
	for _, f := range folders {
		files = append(files, librariesIn(f)...)
	}
	var broken []string
	for _, name := range sonames {
		c, err := open(name)
		if err == nil {
			return c, nil
		}
		if !strings.Contains(err.Error(), "No such file") {
			broken = append(broken, err.Error())
		}
	}
	for _, f := range files {
		c, err := open(f)
		if err == nil {
			return c, nil
		}
		broken = append(broken, err.Error())
	}
	cause := fmt.Sprintf("there is no %s on the dynamic linker's path, and none in %s", strings.Join(sonames, ", "), shortList(folders))
	if len(broken) > 0 {
		cause = "what there is cannot be used: " + shortList(broken) + "; " + cause
	}
	return nil, missing("install CUDA's toolkit or the wheel nvidia-cuda-nvrtc (nvidia-cuda-nvrtc-cu12 for drivers of CUDA 12), "+
		"or set "+Variable+" to the library or its folder", "%s", cause)
}

// openNamed opens what the variable names, and nothing else.
func openNamed(named string) (*Compiler, error) {
	cure := "set " + Variable + " to libnvrtc.so.13 or a folder that holds it, or unset it"
	files := []string{named}
	if info, err := os.Stat(named); err == nil && info.IsDir() {
		files = librariesBelow(named)
		if len(files) == 0 {
			return nil, missing(cure, "%s=%s: there is no libnvrtc.so in this folder, nor where toolkits and wheels below it would have it", Variable, named)
		}
	}
	var why []string
	for _, f := range files {
		c, err := open(f)
		if err == nil {
			return c, nil
		}
		why = append(why, err.Error())
	}
	return nil, missing(cure, "%s=%s: %s", Variable, named, shortList(why))
}

// shortList shows the first few of a list.
func shortList(list []string) string {
	const most = 8
	if len(list) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
	}
	return strings.Join(list, ", ")
}

// Not the builtins beside it, nor the .alt of it.
var libraryName = regexp.MustCompile(`^libnvrtc\.so(\.[0-9]+)*$`)

// librariesIn lists the files of NVRTC in a folder, newest first.
func librariesIn(folder string) []string {
	var list []string
	for _, f := range glob(folder, "libnvrtc.so*") {
		if libraryName.MatchString(filepath.Base(f)) {
			list = append(list, f)
		}
	}
	return list
}

// wheelFolders is where wheels put the library, below a folder of Python packages: those of CUDA 13, and of older ones.
var wheelFolders = []string{"nvidia/cu[0-9]*/lib", "nvidia/cuda_nvrtc/lib"}

// librariesBelow looks in a folder for the library, and in those below it where a toolkit, a virtual environment, a folder of
// Python packages or one of its packages has it.
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

// usualFolders are those where a toolkit or a wheel may have put the library, and that are there.
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

// packageFolders are the folders of Python packages: of the virtual environment and of the python3 on the PATH.
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

// glob lists what is there below a folder, whose own name is no pattern, newest version first.
func glob(folder, pattern string) []string {
	quoted := regexp.MustCompile(`[*?\[\\]`).ReplaceAllString(folder, `\$0`)
	list, _ := filepath.Glob(filepath.Join(quoted, pattern))
	slices.SortStableFunc(list, func(a, b string) int { return compareNatural(b, a) })
	return list
}

var runs = regexp.MustCompile(`[0-9]+|[^0-9]+`)

// compareNatural orders names with the numbers in them as numbers: cuda-9 comes before cuda-13.
func compareNatural(a, b string) int {
	return slices.CompareFunc(runs.FindAllString(a, -1), runs.FindAllString(b, -1), func(x, y string) int {
		if x[0] <= '9' && y[0] <= '9' && x[0] >= '0' && y[0] >= '0' {
			x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
			if c := cmp.Compare(len(x), len(y)); c != 0 {
				return c
			}
		}
		return cmp.Compare(x, y)
	})
}
