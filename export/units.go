package export

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tvmgo/include"
	"tvmgo/internal/diskcache"
	"tvmgo/runtime"
)

// unitsOf queries a module for its units. It returns none if the module must be one file: a system library registers
// functions object by object, and a CompileFunc gets one file for each module.
func (b *buildJob) unitsOf(m *runtime.Module, format string) ([][]byte, error) {
	suffix := filepath.Ext(b.out.path)
	if b.config.compile != nil || b.config.system || format == "o" && suffix != sharedSuffix {
		return nil, nil
	}
	v, err := query(m, UnitsQuery, format)
	if err != nil {
		return nil, err
	}
	list, _ := v.([]any)
	var units [][]byte
	for _, x := range list {
		switch x := x.(type) {
		case string:
			units = append(units, []byte(x))
		case []byte:
			units = append(units, x)
		default:
			return nil, invalid("its function %s returns a %T among its units: want strings or bytes", UnitsQuery, x)
		}
	}
	return units, nil
}

// unitName returns the file name of unit k of a source.
func unitName(source string, k int) string {
	ext := filepath.Ext(source)
	return fmt.Sprintf("%s_%d%s", strings.TrimSuffix(source, ext), k, ext)
}

// writeUnits writes the units of a source. The first unit gets the name of the source.
func (b *buildJob) writeUnits(name string, units [][]byte) error {
	for k, text := range units {
		file := name
		if k > 0 {
			file = unitName(name, k)
			b.units = append(b.units, file)
		}
		b.own[file] = true
		if err := os.WriteFile(filepath.Join(b.dir, file), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// report reports a file that was made since a time.
func (b *buildJob) report(file string, began time.Time, cached bool) {
	if b.config.report != nil {
		b.config.report(file, time.Since(began), cached)
	}
}

// objects caches the objects of compiled units.
const objectCache = diskcache.Cache("objects")

// cached compiles a source, unless it is a unit that was compiled before by the same compiler with the same arguments.
func (b *buildJob) cached(source, object string, args []string, compile func() error) error {
	key := ""
	if b.own[source] && !b.nvcc {
		key = b.cacheKey(source, object, args)
	}
	path := filepath.Join(b.dir, object)
	began := time.Now()
	if key != "" {
		if data := objectCache.Read(key); data != nil {
			err := os.WriteFile(path, data, 0o666)
			b.report(object, began, true)
			return err
		}
	}
	if err := compile(); err != nil {
		return err
	}
	if b.report(object, began, false); key == "" {
		return nil
	}
	if data, err := os.ReadFile(path); err == nil {
		_ = objectCache.Write(key, data) // the cache only makes the next build faster
	}
	return nil
}

// cacheKey returns a key for a compiled unit that covers everything on which the object depends; "" if that is not
// known.
func (b *buildJob) cacheKey(source, object string, args []string) string {
	id := b.identity()
	if id == "" || len(b.config.includes) > 0 {
		return ""
	}
	for _, a := range slices.Concat(b.command[1:], b.flags[source], b.config.flags) {
		if !knownFlag(a) {
			return ""
		}
	}
	text, err := os.ReadFile(filepath.Join(b.dir, source))
	if err != nil {
		return ""
	}
	parts := []string{"1", id, source, object, string(text), include.ID()}
	for _, a := range args {
		// the folder differs each time, and does not affect the object
		if !strings.Contains(a, b.dir) && !strings.HasPrefix(a, "-ffile-prefix-map=") {
			parts = append(parts, a)
		}
	}
	for _, name := range []string{"CPATH", "C_INCLUDE_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "TVMGO_CLANG"} {
		parts = append(parts, os.Getenv(name))
	}
	return diskcache.Key(parts...)
}

// knownFlag reports whether an argument of the compiler refers to no file and not to this machine (native).
func knownFlag(a string) bool {
	if strings.Contains(a, "native") || strings.Contains(a, "profile") || strings.Contains(a, "plugin") ||
		strings.Contains(a, "/") {
		return false
	}
	for _, prefix := range []string{"-m", "-O", "-f", "-D", "-U", "-W", "-std=", "-g", "-l", "--target="} {
		if strings.HasPrefix(a, prefix) {
			return true
		}
	}
	return false
}

// identity returns a text that identifies the compiler and changes with every update of it; "" if that is not known.
func (b *buildJob) identity() string {
	b.identified.Do(func() { b.id = b.identify() })
	return b.id
}

func (t *toolchain) identify() string {
	real, err := filepath.EvalSymlinks(t.command[0])
	if err != nil {
		return ""
	}
	info, err := os.Stat(real)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%q %s %d %d", t.command, real, info.Size(), info.ModTime().UnixNano())
}
