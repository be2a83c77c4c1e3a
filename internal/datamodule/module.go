// Package datamodule implements the module kinds that need no device: modules that are data until they are exported, or
// until they are loaded where their device is enabled. It makes them from payloads and arguments, lists their
// functions, and saves them. Package runtime wraps them in objects of the core, and sets [Host]. This package does not
// depend on C code.
package datamodule

import (
	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/fault"
)

// Module is what package runtime wraps in a module object: its methods are those of runtime.ModuleImpl and
// runtime.FormatLister. Goroutines may call them concurrently. A Module may also be a runtime.LayoutSaver, and may have
// the method SetModule(uintptr), which gets the module's object.
type Module interface {
	Function(name string) (Function, error)
	Functions() []string
	Metadata(function string) (string, error)
	Doc(function string) (string, error)
	SaveToFile(path, format string) error
	WriteFormats() []string
	SaveToBinary() ([]byte, error)
	GetSource(format string) (string, error)
	Close() error
}

// Payload is a saved module in a file.
type Payload struct {
	Kind   string
	Data   []byte // a view of the file: read-only, valid as long as the module made from it lives
	Layout blob.Layout
}

// Function is a *runtime.Function.
type Function interface {
	Call(args ...any) (any, error)
	Close() error
}

// Tensor is a *runtime.Tensor.
type Tensor interface {
	DType() dlpack.DataType
	Shape() []int64
	Size() int64
	CopyToBytes(data []byte) error
	Close() error
}

// Host has the functions of package runtime that modules need. Package runtime sets it when it is initialised.
var Host struct {
	NewFunction func(f func(args ...any) (any, error)) (Function, error)
	NewTensor   func(t blob.Tensor) (Tensor, error)                 // on the CPU
	Share       func(op string, t Tensor) (Tensor, error)           // another reference to a tensor
	Imported    func(module uintptr, name string) (Function, error) // nil if no imported module has it
	NoDevice    func(kind string) string                            // why the kind's device does not work, if known
}

// Base is embedded by modules. Its methods return an error or nothing.
type Base struct{}

func (Base) Functions() []string                      { return nil }
func (Base) Metadata(function string) (string, error) { return "", nil }
func (Base) Doc(function string) (string, error)      { return "", nil }
func (Base) WriteFormats() []string                   { return nil }
func (Base) Close() error                             { return nil }

func (Base) SaveToFile(path, format string) error {
	return fault.New("save module", fault.NotSupported, "modules of this kind are not saved to files")
}

func (Base) SaveToBinary() ([]byte, error) {
	return nil, fault.New("save module", fault.NotSupported, "modules of this kind are not saved as bytes")
}

func (Base) GetSource(format string) (string, error) {
	return "", fault.New("get source", fault.NotSupported, "modules of this kind have no source")
}

// answer makes a function without arguments that returns the result of the given function.
func answer(name string, answer func() (any, error)) (Function, error) {
	return Host.NewFunction(func(args ...any) (any, error) {
		if len(args) != 0 {
			return nil, fault.New(name, fault.InvalidArgument, "it takes no arguments, got %d", len(args))
		}
		return answer()
	})
}

// checkNames rejects names that are empty or occur twice.
func checkNames(op, what string, names []string) error {
	seen := make(map[string]bool, len(names))
	for i, s := range names {
		if s == "" {
			return fault.New(op, fault.InvalidArgument, "%s %d has an empty name", what, i)
		}
		if seen[s] {
			return fault.New(op, fault.InvalidArgument, "%s %q occurs twice", what, s)
		}
		seen[s] = true
	}
	return nil
}

// notLinked is the error of looking up a function whose code is not part of a program yet.
func notLinked(kind, name, what string) error {
	return fault.New("get function", fault.NotSupported, "%q is in a module of kind %q, which is %s: "+
		"export it into a shared library and load that", name, kind, what)
}
