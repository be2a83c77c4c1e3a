package jit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tvmgo/export"
	"tvmgo/internal/diskcache"
	"tvmgo/runtime"
)

// Host is the common part of modules of generated C for the host. A module kind embeds it, and adds how the code is
// saved. Its functions are in a library, which is built when the first of them is looked up, is kept on disk for other
// processes, and finds functions of the module's imports.
type Host struct {
	Kind      string // of the module
	Code      string
	Names     []string // of the functions
	Libraries []string // libraries that the code calls, as for export.Libraries

	// CanRun returns an error if this process cannot run the code. nil: it can.
	CanRun func() error
	// Answer returns other functions of the module, mostly for exporters. It may return nil.
	Answer func(name string) (*runtime.Function, error)
	// Cache keeps libraries. Key lists what a library depends on, except the code and the names of libraries.
	Cache diskcache.Cache
	Key   func() []string
	// Options are those of the export that builds the library.
	Options []export.Option

	Source  *runtime.Module // of kind c with the code, owned
	writer  Writer
	library Library
}

// Writer is a module kind that embeds Host.
type Writer interface {
	runtime.ModuleImpl
	runtime.FormatLister
}

// New makes a module of the kind that embeds h. The caller closes it.
func (h *Host) New(kind Writer, properties int) (*runtime.Module, error) {
	var err error
	if h.Source, err = runtime.NewCSource(h.Code, "c", h.Names, nil); err != nil { // it checks the names
		return nil, err
	}
	h.writer, h.library.Make = kind, h.build
	m, err := runtime.NewModule(h.Kind, properties, kind)
	if err != nil {
		h.Source.Close()
	}
	return m, err
}

// build makes a library of the module.
func (h *Host) build() (*runtime.Module, error) {
	ctx := context.Background()
	key := diskcache.Key(slices.Concat([]string{"4", h.Code}, h.Key(), []string{"libraries"}, h.Libraries)...)
	m, err := Load(ctx, h.Cache, key, func(path string) error {
		whole, err := runtime.NewModule(h.Kind, runtime.Exportable, &exported{Writer: h.writer, host: h})
		if err != nil {
			return err
		}
		defer whole.Close()
		// The load reports what the check would find.
		return export.Library(ctx, whole, path, append(slices.Clone(h.Options), export.StaticCheck())...)
	})
	if errors.Is(err, runtime.ErrNotFound) { // a compiler or a library is missing, not the function
		err = runtime.Errorf(runtime.ErrNotSupported, "%v", err)
	}
	return m, err
}

// exported is the module for the export that builds its library. It has no functions and no imports of its own, and
// closing it does not close the module.
type exported struct {
	Writer
	host *Host
}

func (e *exported) Function(name string) (*runtime.Function, error) { return e.host.answer(name) }
func (e *exported) Close() error                                    { return nil }

// answer returns a function by which an exporter queries the module.
func (h *Host) answer(name string) (*runtime.Function, error) {
	if name == export.LibrariesQuery {
		return Texts(h.Libraries)
	}
	if f, err := h.Answer(name); f != nil || err != nil {
		return f, err
	}
	return h.Source.Function(name)
}

// Functions lists the names.
func (h *Host) Functions() []string { return slices.Clone(h.Names) }

// Function returns a function of the library, or one by which an exporter queries the module.
func (h *Host) Function(name string) (*runtime.Function, error) {
	if !slices.Contains(h.Names, name) {
		return h.answer(name)
	}
	err := h.canRun()
	if err == nil {
		var m *runtime.Module
		if m, err = h.library.Module(); err == nil {
			return m.Function(name)
		}
	}
	return nil, fmt.Errorf("function %s of a module of kind %s: %w", name, h.Kind, err)
}

func (h *Host) canRun() error {
	if h.CanRun == nil {
		return nil
	}
	return h.CanRun()
}

// ImportsChanged updates the imports of the library to those of the module.
func (h *Host) ImportsChanged(list func() ([]*runtime.Module, error)) { h.library.ImportsChanged(list) }

// Metadata returns the metadata of a function in the library; "" if this process cannot run it.
func (h *Host) Metadata(function string) (string, error) {
	return h.describe(function, h.library.Metadata)
}

// Doc returns the documentation of a function in the library; "" if this process cannot run it.
func (h *Host) Doc(function string) (string, error) { return h.describe(function, h.library.Doc) }

func (h *Host) describe(function string, ask func(string) (string, error)) (string, error) {
	if !slices.Contains(h.Names, function) || h.canRun() != nil {
		return "", nil
	}
	return ask(function)
}

// Close closes the library and the source.
func (h *Host) Close() error { return errors.Join(h.Source.Close(), h.library.Close()) }
