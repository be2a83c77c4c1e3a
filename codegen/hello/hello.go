// Package hello is a minimal code generator, a template for new ones. Its target kind is "hello", its code is that of
// kind c with a line before it, and its functions print that code.
package hello

import (
	"fmt"
	"io"
	"os"
	"strings"

	"tvmgo/codegen"
	"tvmgo/codegen/c"
	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

// Output is the destination of what functions print.
var Output io.Writer = os.Stdout

// Emitter writes hello code: C, except for the hooks that New sets.
type Emitter struct{ c.Emitter }

// New makes an emitter.
func New() *Emitter {
	e := &Emitter{}
	e.Finish = func(code string) string { return "// hello tvm backend!\n" + code }
	return e
}

// module is the result of Build. Queries that it does not implement return ErrNotSupported.
type module struct {
	runtime.ModuleBase
	code string
}

func (m *module) Function(name string) (*runtime.Function, error) {
	return runtime.NewFunction(func(...any) (any, error) {
		_, err := io.Copy(Output, strings.NewReader(m.code))
		return nil, err
	})
}

func (m *module) GetSource(string) (string, error) { return m.code, nil }

// Build is target.build.hello.
func Build(m *tir.IRModule, t *target.Target) (*runtime.Module, error) {
	code, err := New().Emit(m, t)
	if err != nil {
		return nil, err
	}
	return runtime.NewModule("hello", runtime.Runnable, &module{code: code})
}

func init() {
	_, err := target.RegisterKind("hello", dlpack.CPU, target.DefaultKeys("cpu"))
	if err == nil {
		err = codegen.Register("hello", Build)
	}
	if err != nil {
		panic(fmt.Sprintf("hello: %v", err)) // another package has taken the name
	}
}
