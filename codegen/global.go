package codegen

import (
	"fmt"
	"path/filepath"
	"strings"

	"tvmgo/internal/atomicfile"
	"tvmgo/internal/globals"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/json"
	"tvmgo/tir/text"
)

// The interface for C: global functions that build programs, and modules of kind "tir" that hold programs.
const (
	globalBuild    = "codegen.Build"         // (program, target, …) → module
	globalVariants = "codegen.BuildVariants" // (target, program, target, program, …) → module
	globalKinds    = "codegen.Kinds"         // → names of the kinds that have a generator
	globalFromText = "tir.FromText"          // text → program
	globalFromJSON = "tir.FromJSON"          // JSON → program
	programKind    = "tir"
)

func init() {
	for name, body := range map[string]globals.Function{
		globalBuild:    func(args ...any) (any, error) { return buildForC(globalBuild, "", args) },
		globalVariants: buildVariantsForC,
		globalKinds:    listKinds,
		globalFromText: func(args ...any) (any, error) {
			return newProgram(globalFromText, args, parseText)
		},
		globalFromJSON:    func(args ...any) (any, error) { return newProgram(globalFromJSON, args, json.Unmarshal) },
		prefix + hostKind: func(args ...any) (any, error) { return buildForC(prefix+hostKind, hostKind, args) },
	} {
		if err := addGlobal(name, body); err != nil {
			panic(fmt.Sprintf("codegen: %v", err)) // out of memory
		}
	}
}

// registerGlobal makes a kind's generator a global function.
func registerGlobal(kind string) error {
	name := prefix + kind
	return addGlobal(name, func(args ...any) (any, error) { return buildForC(name, kind, args) })
}

// addGlobal makes a global function. If C has registered the name before Go runs, or registers it at its first use
// (capi/codegen.c), that function gets the body.
func addGlobal(name string, body globals.Function) error {
	globals.Set(name, body)
	if globals.Declared(name) {
		return nil
	}
	f, err := runtime.NewFunction(runtime.PackedFunc(body))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := runtime.RegisterGlobal(name, f, false); err != nil {
		known, missing := runtime.Global(name)
		if missing != nil {
			return err
		}
		return known.Close()
	}
	return nil
}

func listKinds(args ...any) (any, error) {
	if len(args) != 0 {
		return nil, wrongType("%s: expected no arguments, got %d", globalKinds, len(args))
	}
	var all []any
	for _, k := range Kinds() {
		all = append(all, k)
	}
	return all, nil
}

// buildForC is Build for C. Its arguments are a program, as text, JSON or a module of kind "tir", and targets. The
// function of a kind takes at most one, which may be omitted.
func buildForC(op, kind string, args []any) (any, error) {
	least := 2
	if kind != "" {
		least = 1
	}
	if len(args) < least || kind != "" && len(args) > 2 {
		return nil, wrongType("%s: expected a program and a target, got %d arguments", op, len(args))
	}
	m, err := programOf(op, 0, args[0])
	if err != nil {
		return nil, err
	}
	var targets []*target.Target
	for i := 1; i == 1 || i < len(args); i++ {
		t, err := targetFromC(op, kind, args, i)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	if t := targets[0]; kind != "" && t.Kind().Name() != kind {
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "%s: argument 1: the target is of kind %q: call %s%s, or %s, "+
			"which takes any", op, t.Kind(),
			prefix, t.Kind(), globalBuild)
	}
	out, err := Build(m, targets[0], targets[1:]...)
	if err != nil {
		return nil, withContext("%s: %w", op, err)
	}
	return globals.Owned{Value: out}, nil
}

// buildVariantsForC is BuildVariants for C.
func buildVariantsForC(args ...any) (any, error) {
	const op = globalVariants
	if len(args) == 0 || len(args)%2 != 0 {
		return nil, wrongType("%s: expected pairs of a target and a program, got %d arguments", op, len(args))
	}
	variants := make([]Variant, len(args)/2)
	for i := range variants {
		t, err := targetFromC(op, "", args, 2*i)
		if err != nil {
			return nil, err
		}
		m, err := programOf(op, 2*i+1, args[2*i+1])
		if err != nil {
			return nil, err
		}
		variants[i] = Variant{t, m}
	}
	out, err := BuildVariants(variants)
	if err != nil {
		return nil, withContext("%s: %w", op, err)
	}
	return globals.Owned{Value: out}, nil
}

// targetFromC returns the target that argument i holds, or that of a kind if there is no such argument.
func targetFromC(op, kind string, args []any, i int) (*target.Target, error) {
	var v any = kind
	if i < len(args) && args[i] != nil {
		v = args[i]
	}
	var t *target.Target
	var err error
	switch v := v.(type) {
	case *target.Target:
		return v, nil
	case string:
		if v == "" {
			return nil, runtime.Errorf(runtime.ErrInvalidArgument, "%s: argument %d: the target is empty: give one "+
				"that target.Target makes, or text such as \"c\"", op, i)
		}
		t, err = target.New(v)
	case *target.Kind:
		t, err = target.New(v.Name())
	default:
		return nil, wrongType("%s: argument %d: expected a target, as an object or as text, got %T", op, i, v)
	}
	if err != nil {
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "%s: argument %d: %w", op, i, err)
	}
	return t, nil
}

// programOf returns the program that argument i from C holds.
func programOf(op string, i int, v any) (*tir.IRModule, error) {
	var source []byte
	switch v := v.(type) {
	case string:
		source = []byte(v)
	case []byte:
		source = v
	case *runtime.Module:
		if v.Kind() != programKind {
			return nil, wrongType("%s: argument %d: expected a program, got a module of kind %q: %s and %s make one", op,
				i, v.Kind(),
				globalFromText, globalFromJSON)
		}
		s, err := v.GetSource("json")
		if err != nil {
			return nil, err
		}
		source = []byte(s)
	default:
		return nil, wrongType("%s: argument %d: expected a program, as text, as JSON, or as %s gives it, got %T", op,
			i, globalFromText, v)
	}
	var m *tir.IRModule
	var err error
	if strings.HasPrefix(strings.TrimSpace(string(source)), "{") {
		m, err = json.Unmarshal(source)
	} else {
		m, err = parseText(source)
	}
	if err != nil {
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "%s: argument %d: %w", op, i, err)
	}
	return m, nil
}

func parseText(source []byte) (*tir.IRModule, error) { return text.Parse(string(source)) }

// program is a module that holds a program. Its functions are built before they can be called.
type program struct {
	runtime.ModuleBase
	m *tir.IRModule
}

func newProgram(op string, args []any, parse func(source []byte) (*tir.IRModule, error)) (any, error) {
	if len(args) != 1 {
		return nil, wrongType("%s: expected 1 argument, got %d", op, len(args))
	}
	var source []byte
	switch v := args[0].(type) {
	case string:
		source = []byte(v)
	case []byte:
		source = v
	default:
		return nil, wrongType("%s: argument 0: expected text, got %T", op, v)
	}
	m, err := parse(source)
	if err == nil {
		err = tir.Check(m)
	}
	if err != nil {
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "%s: %w", op, err)
	}
	out, err := runtime.NewModule(programKind, 0, &program{m: m})
	if err != nil {
		return nil, err
	}
	return globals.Owned{Value: out}, nil
}

func (p *program) Functions() []string { return names(p.m.Funcs) }

func (p *program) Function(name string) (*runtime.Function, error) {
	if p.m.Func(name) == nil {
		return nil, runtime.ErrNotFound
	}
	return nil, runtime.Errorf(runtime.ErrNotSupported, "function %s is part of a program: build it by %s, and call it "+
		"in the built module", name,
		globalBuild)
}

func (p *program) GetSource(format string) (string, error) {
	switch format {
	case "", programKind:
		return p.m.String(), nil
	case "json":
		b, err := json.Marshal(p.m)
		return string(b), err
	}
	return "", runtime.Errorf(runtime.ErrNotSupported, "a program has no source in format %q: want tir or json", format)
}

func (p *program) WriteFormats() []string { return []string{programKind, "json"} }

func (p *program) SaveToFile(path, format string) error {
	if format == "" {
		format = strings.TrimPrefix(filepath.Ext(path), ".")
	}
	text, err := p.GetSource(format)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(path, []byte(text), 0o666, atomicfile.FollowLinks); err != nil {
		return runtime.Errorf(runtime.ErrFailed, "save the program to %s: %w", path, err)
	}
	return nil
}
