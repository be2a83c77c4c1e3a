package wheelmodels

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tvmgo/internal/cpufeatures"
	"tvmgo/internal/testing/wheel"
)

//go:embed python/*.py
var scripts embed.FS

// known are the models of this process, which must not change: calls of Need get copies of the list.
var known struct {
	sync.Mutex
	models     []Model
	registered []string
}

// Need returns all models, and compiles them if no run before did. Without the wheels the test is skipped; on CI it
// fails. Values of the models must not be changed.
func Need(t testing.TB) []Model {
	t.Helper()
	known.Lock()
	defer known.Unlock()
	if known.models == nil {
		dir := compiled(t)
		models, registered, err := read(dir)
		if err != nil {
			t.Fatalf("read the models of %s: %v; remove the folder to compile them again", dir, err)
		}
		known.models, known.registered = models, registered
	}
	return append([]Model(nil), known.models...)
}

// Registered returns the names vm.builtin.* of the functions that the wheel has.
func Registered(t testing.TB) []string {
	t.Helper()
	Need(t)
	return append([]string(nil), known.registered...)
}

// compiled returns the folder with the models. Processes wait for each other: one compiles.
func compiled(t testing.TB) string {
	t.Helper()
	root := wheel.Root(t)
	versions, err := os.ReadFile(filepath.Join(root, "build", "scripts", "requirements.txt"))
	if err != nil {
		t.Fatal(err)
	}
	sources, err := source()
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %d %s", machine(), len(versions), versions)
	for _, s := range sources {
		fmt.Fprintf(hash, "%s %d %s", s.name, len(s.text), s.text)
	}
	parent := filepath.Join(root, "build", ".cache", "wheelmodels")
	dir := filepath.Join(parent, hex.EncodeToString(hash.Sum(nil))[:16])
	if err := os.MkdirAll(parent, 0o777); err != nil {
		t.Fatal(err)
	}
	unlock, err := lock(dir + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := os.Stat(filepath.Join(dir, "manifest.json")); err == nil {
		return dir
	} else if !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	partial := dir + ".partial" // what a killed process left is removed; the lock says that none is at work
	if err := compile(t, partial, sources); err != nil {
		t.Fatalf("compile models: %v", err)
	}
	if err := os.Rename(partial, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// script is a file of Python.
type script struct {
	name string
	text []byte
}

// source returns the scripts, sorted by name.
func source() (all []script, err error) {
	files, err := fs.ReadDir(scripts, "python")
	for _, f := range files {
		text, err := scripts.ReadFile("python/" + f.Name())
		if err != nil {
			return nil, err
		}
		all = append(all, script{f.Name(), text})
	}
	return all, err
}

// compile runs the scripts.
func compile(t testing.TB, dir string, sources []script) error {
	t.Helper()
	python := filepath.Join(dir, "python")
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(python, 0o777)); err != nil {
		return err
	}
	for _, s := range sources {
		if err := os.WriteFile(filepath.Join(python, s.name), s.text, 0o666); err != nil {
			return err
		}
	}
	cmd := wheel.Command(t, filepath.Join(python, "export.py"), dir)
	cmd.Env = append(os.Environ(), "WHEELMODELS_MACHINE="+machine())
	wheel.Output(t, cmd, nil)
	return nil
}

// machine names the machine of this process, for which the libraries are, as GNU does. The wheels may run on another.
func machine() string {
	arch, _, _ := strings.Cut(cpufeatures.HostTriple(), "-")
	return arch + "-linux-gnu"
}

// lock waits for the lock of a file, which ends with the process at the latest.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}

// manifest is the file that export.py writes.
type manifest struct {
	Registered []string
	Models     []struct {
		Model
		Cases []struct {
			Function string
			Inputs   []jsonValue
			Output   *jsonValue
			After    map[int]jsonValue
			Error    string
		}
	}
}

// read reads a folder of models.
func read(dir string) (models []Model, registered []string, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		return nil, nil, err
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, nil, err
	}
	for _, in := range m.Models {
		model := in.Model
		model.Path = filepath.Join(dir, model.Path)
		for _, c := range in.Cases {
			out := Case{Function: c.Function, Error: c.Error, After: map[int]Value{}}
			for _, v := range c.Inputs {
				out.Inputs = append(out.Inputs, v.value(dir, &err))
			}
			for i, v := range c.After {
				out.After[i] = v.value(dir, &err)
			}
			if c.Output != nil {
				out.Output = c.Output.value(dir, &err)
			}
			if err != nil {
				return nil, nil, fmt.Errorf("%s, function %s: %w", model.Name, c.Function, err)
			}
			model.Cases = append(model.Cases, out)
		}
		models = append(models, model)
	}
	return models, m.Registered, nil
}
