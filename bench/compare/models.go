package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tvmgo/graph/onnx/file"
)

// A model is compiled and compared with ONNX Runtime.
type model struct {
	name, what string
	light      string             // its file in ONNX's wheel, or
	write      func() *file.Model // the benchmark writes it
	limit      float64            // the target for the time of a run, relative to ONNX Runtime's
	exact      bool               // both sides have the same bits
}

var models = []model{
	{"resnet50", "resnet50", "light_resnet50.onnx", nil, 1.25, false},
	{"squeezenet", "squeezenet", "light_squeezenet.onnx", nil, 1.25, false},
	{"shufflenet", "shufflenet", "light_shufflenet.onnx", nil, 1.25, false},
	{"bert", "BERT-base encoder layer, sequence 128", "",
		func() *file.Model { return bertLayer(128, 12, 64, 3072) }, 1.1, false},
	{"mlp-1", "MLP 784-512-512-10, batch 1", "", func() *file.Model { return mlp(1, 784, 512, 512, 10) }, 1.1, false},
	{"mlp-64", "MLP 784-512-512-10, batch 64", "", func() *file.Model { return mlp(64, 784, 512, 512, 10) }, 1.1, false},
}

// modelRows returns the rows of compiled models, and their groups. Measures are "model.WHAT-NAME" and "ort.WHAT-NAME".
func modelRows() (rows []row, all []group) {
	for _, m := range models { // those of one operator have rows of their own
		r := row{"model-" + m.name, m.what + " (base: ONNX Runtime)", "model.run-" + m.name, "ort.run-" + m.name, m.limit,
			ratio}
		rows = append(rows, r)
		all = append(all, group{measures: []string{r.Ours, r.Base}, quiet: true})
	}
	const of = "-resnet50"
	rows = append(rows,
		row{"model-first", "resnet50: load to first result (base: ONNX Runtime)", "model.first" + of, "ort.first" + of, 0.5,
			ratio},
		row{"model-peak", "  most memory of a process with ten runs", "model.peak" + of, "ort.peak" + of, 0.8, ratio},
		row{"model-peak-more", "  without the memory before the model is loaded", "model.more" + of, "ort.more" + of, 0.8,
			ratio},
		row{"model-ship", "  library and model to ship, without weights", "model.ship" + of, "ort.ship" + of, 6e6, absolute},
		row{"model-compile", "  compile, without a cache", "model.compile" + of, "model.compile" + of, 90e9, absolute},
		row{"model-compile-cached", "  compile again", "model.cached" + of, "model.cached" + of, 3e9, absolute})
	return rows, append(all,
		group{measures: []string{"model.first" + of, "ort.first" + of}},
		group{measures: []string{"model.peak" + of, "ort.peak" + of, "model.more" + of, "ort.more" + of, "model.ship" + of,
			"ort.ship" + of}, few: true},
		group{measures: []string{"model.compile" + of, "model.cached" + of}, few: true})
}

func init() {
	rows, all := modelRows()
	table, groups = append(table, rows...), append(groups, all...)
}

// modelPrograms measures models. Its processes, and the files of a model, are made on first use.
type modelPrograms struct {
	list    []model
	lib     string // libtvmgo.so, in a folder beside that of the program tvmgo
	venv    string
	dir     string // an absolute path
	program string // bench/program/model.c
	sample  string
	ready   map[string]string // by the name of a model: the path of its files, without the suffix
	of      map[string]*program
}

func newModelPrograms(p *programs, c config, sample string) (modelPrograms, error) {
	dir, err := filepath.Abs(filepath.Join(c.dir, "models"))
	if err == nil {
		err = os.MkdirAll(dir, 0o777)
	}
	return modelPrograms{list: models, lib: p.oursLib, venv: c.venv, dir: dir, program: p.model, sample: sample,
		ready: map[string]string{}, of: map[string]*program{}}, err
}

// missing returns why models cannot be compared, or nil.
func (m *modelPrograms) missing() error {
	for _, pattern := range []string{ortLibraries, lightModels} {
		if _, err := wheelFiles(m.venv, pattern); err != nil {
			return err
		}
	}
	return nil
}

const (
	ortLibraries = "onnxruntime/capi/libonnxruntime.so*"
	lightModels  = "onnx/backend/test/data/light"
)

// compileModelProgram makes the program that runs our models.
func compileModelProgram(out, lib string) error {
	args := []string{"-std=gnu11", "-O2", "-Wall", "-Wextra", "-Iinclude", "-o", out, "bench/program/model.c"}
	return run("cc", append(args, linkWith(lib)...)...)
}

// ask measures something of a model: "model" is ours, and "ort" is ONNX Runtime.
func (m *modelPrograms) ask(who, row string) (float64, error) {
	what, name, _ := strings.Cut(row, "-")
	base, err := m.prepare(name)
	if err != nil {
		return 0, fmt.Errorf("model %s: %w", name, err)
	}
	switch what {
	case "run":
		s := m.of[who+name]
		if s == nil {
			program, args := m.command(who, "serve", base, m.sample)
			if s, err = startProgram(program, args...); err != nil {
				return 0, err
			}
			m.of[who+name] = s
		}
		return s.sample(row)
	case "ship":
		return m.shipped(who, base)
	case "compile":
		if err := os.RemoveAll(m.cache(base)); err != nil {
			return 0, err
		}
		return m.compile(base, m.cache(base))
	case "cached":
		if !exists(m.cache(base)) {
			if _, err := m.compile(base, m.cache(base)); err != nil {
				return 0, err
			}
		}
		return m.compile(base, m.cache(base))
	}
	program, args := m.command(who, what, base)
	return figure(1, program, args...)
}

func (m *modelPrograms) close() error {
	var err error
	for who, s := range m.of {
		err = errors.Join(err, s.close())
		delete(m.of, who)
	}
	return err
}

// command returns a call of the program of one side.
func (m *modelPrograms) command(who string, args ...string) (string, []string) {
	if who == "model" {
		return m.program, args
	}
	return filepath.Join(m.venv, "bin", "python"), append([]string{"bench/program/ort.py"}, args...)
}

// cache returns the folder for the cache of the measured compilations of a model.
func (m *modelPrograms) cache(base string) string { return base + ".cache" }

// tool returns the program tvmgo.
func (m *modelPrograms) tool() string {
	return filepath.Join(filepath.Dir(filepath.Dir(m.lib)), "bin", "tvmgo")
}

// compile compiles a model with further flags and returns the nanoseconds that the command took. The folder of its
// cache is the user's if cache is "".
func (m *modelPrograms) compile(base, cache string, flags ...string) (float64, error) {
	cmd := command(m.tool(), "compile", base+".onnx", "-o", base+".so", "--target", generatedFor)
	cmd.Args = append(cmd.Args, flags...)
	if cache != "" {
		cmd.Env = append(cmd.Env, "TVMGO_CACHE_DIR="+cache)
	}
	cmd.Stderr = nil
	from := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return float64(time.Since(from)), nil
}

// shipped returns the bytes of what a C program needs to run a model without its weights: the stripped library, and for
// ours the model's file. Our library is that of the runtime alone, if there is one.
func (m *modelPrograms) shipped(who, base string) (float64, error) {
	if who != "model" {
		libs, err := wheelFiles(m.venv, ortLibraries)
		if err != nil {
			return 0, err
		}
		return strippedSize(m.dir, libs...)
	}
	lib := m.lib
	if runtime := runtimeLibrary(m.lib); exists(runtime) {
		lib = runtime
	}
	apart := base + "-apart"
	if err := writeApart(base+".onnx", apart+".onnx"); err != nil {
		return 0, err
	}
	if _, err := m.compile(apart, "", "--params", apart+".safetensors"); err != nil {
		return 0, err
	}
	info, err := os.Stat(apart + ".so")
	if err != nil {
		return 0, err
	}
	size, err := strippedSize(m.dir, lib)
	return size + float64(info.Size()), err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
