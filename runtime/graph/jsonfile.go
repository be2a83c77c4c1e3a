package graph

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"tvmgo/blob"
	"tvmgo/internal/datamodule"
	"tvmgo/internal/fault"
	"tvmgo/internal/globals"
	"tvmgo/internal/value"
	"tvmgo/runtime"
	"tvmgo/weights"
)

func init() {
	globals.Set("ffi.Module.load_from_file.json", func(args ...any) (any, error) {
		const op = "load graph"
		if err := value.CheckCount(op, args, 1, 2); err != nil {
			return nil, err
		}
		path, err := value.Text(op, args, 0)
		if err != nil {
			return nil, err
		}
		return owned(loadJSON(path))
	})
}

// besides are the files of a graph beside its JSON file, by how the names end, as TVM's users choose them.
var besides = []struct {
	json, params string
	libs         []string
}{
	{"_graph.json", "_param.params", []string{"_lib.so", "_lib.tar"}},
	{".json", ".params", []string{".so", ".tar"}},
}

// loadJSON makes a factory of a graph's file, the library of the same name, and, if there is one, the file with its
// parameters.
func loadJSON(path string) (*runtime.Module, error) {
	op := "load graph " + path
	text, err := datamodule.ReadFile(path)
	if err != nil {
		return nil, fault.Wrap(op, fault.KindOf(fault.CodeOf(err)), err)
	}
	// The text is checked before other files are opened: many files end with .json.
	m, err := newModel(op, string(text))
	if err != nil {
		return nil, err
	}
	var looked []string
	for _, b := range besides {
		base, ok := strings.CutSuffix(path, b.json)
		if !ok {
			continue
		}
		for _, suffix := range b.libs {
			lib, err := runtime.Load(context.Background(), base+suffix)
			if errors.Is(err, fs.ErrNotExist) {
				looked = append(looked, base+suffix)
				continue
			}
			if err != nil {
				return nil, fault.Wrap(op, fault.KindOf(fault.CodeOf(err)), err)
			}
			defer lib.Close()
			return jsonFactory(op, m, lib, base+b.params)
		}
	}
	return nil, fault.New(op, runtime.ErrNotFound, "there is no library with the graph's functions beside it: looked "+
		"for %s", strings.Join(looked, ", "))
}

// jsonFactory makes the factory. The parameters are views of the file.
func jsonFactory(op string, m *model, lib *runtime.Module, params string) (*runtime.Module, error) {
	of := &blob.GraphFactory{Graph: m.text, Module: defaultName}
	set, err := weights.Open(params)
	switch {
	case err == nil:
		of.Names, of.Tensors, err = viewsOf(set)
		if err != nil {
			return nil, errors.Join(fault.Wrap(op, runtime.ErrFailed, err), set.Close())
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, weightsError(op, err)
	}
	f, err := factoryOf(op, m, of, nil)
	if err != nil {
		if set != nil {
			set.Close()
		}
		return nil, err
	}
	if set != nil {
		f.weights.file = runtime.NewWeights(set)
	}
	return importing(f, []*runtime.Module{lib})
}
