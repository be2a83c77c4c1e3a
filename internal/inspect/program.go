package inspect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tvmgo/blob"
	"tvmgo/blob/vmcode"
	"tvmgo/internal/arguments"
	"tvmgo/internal/signature"
)

// Program describes an executable of the Relax virtual machine.
type Program struct {
	FileVersion int               `json:"file_version"`
	Functions   []ProgramFunction `json:"functions"`
	Calls       []string          `json:"calls"` // functions of other modules and builtins
	Constants   ProgramConstants  `json:"constants"`
}

// ProgramFunction is a function of the executable itself.
type ProgramFunction struct {
	Name         string      `json:"name"`
	Arity        int         `json:"arity"`
	Parameters   []Parameter `json:"parameters"` // those that have a name or whose type is known
	Result       Value       `json:"result"`
	Compiled     bool        `json:"compiled,omitempty"`     // it is code of an imported library, not instructions
	Instructions int         `json:"instructions,omitempty"` // their number
	Registers    int         `json:"registers"`
	Storages     []Storage   `json:"storages"` // its memory plan

	// Code has a line for each instruction, if [WithCode] was given.
	Code []string `json:"code,omitempty"`
}

// Storage is memory that a function allocates for tensors.
type Storage struct {
	Instruction int    `json:"instruction"` // counted from the function's first
	Bytes       *int64 `json:"bytes"`       // null if the size depends on the arguments' shapes
	Device      int64  `json:"device"`      // index of the devices that the model runs on; -1 is the host
	Scope       string `json:"scope,omitempty"`
	Tensors     int    `json:"tensors"` // that are placed in it
}

// ProgramConstants counts the constants of an executable.
type ProgramConstants struct {
	Count   int   `json:"count"`
	Tensors int   `json:"tensors"`
	Bytes   int64 `json:"bytes"` // of the tensors' data

	// List describes each constant, if [WithCode] was given.
	List []string `json:"list,omitempty"`
}

// programOf describes the payload of an executable. kernels are the functions of the library.
func programOf(payload []byte, layout blob.Layout, kernels []Function, code bool) (*Program, error) {
	e, err := vmcode.ParsePayload(payload, layout)
	if err != nil {
		return nil, err
	}
	p := &Program{FileVersion: e.Form.Version, Functions: []ProgramFunction{}, Calls: []string{},
		Constants: ProgramConstants{Count: len(e.Constants)}}
	for i := range e.Constants {
		c := &e.Constants[i]
		if c.Kind == vmcode.TensorConstant {
			p.Constants.Tensors++
			p.Constants.Bytes += int64(len(c.Tensor.Data))
		}
		if code {
			p.Constants.List = append(p.Constants.List, constantText(c))
		}
	}
	types := map[string][]string{}
	for _, k := range kernels {
		if k.Signature != "" {
			types[k.Name] = signature.Types(k.Signature)
		}
	}
	signatures := e.Signatures()
	for i := range e.Functions {
		f := &e.Functions[i]
		if f.Kind == vmcode.Packed {
			p.Calls = append(p.Calls, f.Name)
			continue
		}
		g := ProgramFunction{Name: f.Name, Compiled: f.Kind == vmcode.CompiledVM, Instructions: f.End - f.Begin,
			Registers: f.Registers, Arity: f.Arity, Parameters: parametersOf(f, &signatures[i]),
			Result: valueOf(signatures[i].Result.Name, signatures[i].Result), Storages: []Storage{}}
		addUses(e, f, g.Parameters, types)
		for _, s := range e.Storages(f) {
			t := Storage{Instruction: s.Instruction, Device: s.Device, Scope: s.Scope, Tensors: s.Tensors}
			if s.Bytes >= 0 {
				t.Bytes = &s.Bytes
			}
			g.Storages = append(g.Storages, t)
		}
		if code && !g.Compiled {
			for pc := f.Begin; pc < f.End; pc++ {
				g.Code = append(g.Code, e.InstructionText(&e.Code[pc]))
			}
		}
		p.Functions = append(p.Functions, g)
	}
	slices.Sort(p.Calls)
	return p, nil
}

// constantText describes a constant in a line.
func constantText(c *vmcode.Constant) string {
	const longest = 200 // characters of a string
	switch c.Kind {
	case vmcode.TensorConstant:
		text := fmt.Sprintf("tensor %s, %d bytes", arguments.TypeText(c.Tensor.DType, c.Tensor.Shape), len(c.Tensor.Data))
		if c.Scope != "" {
			text += " in " + Shown(c.Scope)
		}
		return text
	case vmcode.DTypeConstant:
		return fmt.Sprintf("dtype %v", c.DType)
	case vmcode.ShapeConstant:
		return fmt.Sprintf("shape %v", c.Shape)
	case vmcode.StringConstant:
		text := c.Text
		if len(text) > longest {
			text = strings.ToValidUTF8(text[:longest], "") + "…"
		}
		return "string " + strconv.Quote(text)
	case vmcode.IntConstant:
		return fmt.Sprintf("int %d", c.Int)
	}
	return fmt.Sprintf("float %v", c.Float)
}

// program prints an executable below its module.
func (p *printer) program(indent string, m *Program) {
	for i := range m.Functions {
		p.programFunction(indent, &m.Functions[i])
	}
	if c := m.Constants; c.Count > 0 {
		p.line("  %s    constants: %d, with %d bytes in %d tensors", indent, c.Count, c.Bytes, c.Tensors)
		for i, text := range c.List {
			p.line("  %s      c[%d] %s", indent, i, text)
		}
	}
	p.calls(indent, m.Calls)
}

// calls lists functions of other modules.
func (p *printer) calls(indent string, names []string) {
	if len(names) > 0 {
		shown := make([]string, len(names))
		for i, name := range names {
			shown[i] = Shown(name)
		}
		p.line("  %s    calls: %s", indent, strings.Join(shown, ", "))
	}
}

func (p *printer) programFunction(indent string, f *ProgramFunction) {
	what := fmt.Sprintf("%d instructions", f.Instructions)
	if f.Compiled {
		what = "compiled"
	}
	p.line("  %s    %s(%s): %s, %d registers", indent, Shown(f.Name), f.parameters(), what, f.Registers)
	for i := range f.Parameters {
		switch v := &f.Parameters[i]; {
		case v.Type != "":
			p.line("  %s      %s: %s", indent, v.title(), Shown(v.Type))
		case v.Use != nil:
			p.line("  %s      %s: not checked; %s takes %s", indent, v.title(), Shown(v.Use.Function), Shown(v.Use.Type))
		}
	}
	if f.Result.Type != "" {
		p.line("  %s      result%s: %s", indent, f.Result.resultNames(), Shown(f.Result.Type))
	}
	known, unknown := int64(0), 0
	for _, s := range f.Storages {
		size, device, scope := "size depends on shapes", fmt.Sprintf("device %d", s.Device), ""
		if s.Bytes == nil {
			unknown++
		} else {
			size = fmt.Sprintf("%d bytes", *s.Bytes)
			known += *s.Bytes
		}
		if s.Device < 0 {
			device = "the host"
		}
		if s.Scope != "" && s.Scope != "global" {
			scope = " " + Shown(s.Scope)
		}
		p.line("  %s      storage of instruction %d: %s on %s%s, tensors: %d", indent, s.Instruction, size, device, scope,
			s.Tensors)
	}
	if n := len(f.Storages); n > 1 {
		text := fmt.Sprintf("%d storages, %d bytes", n, known)
		if unknown > 0 {
			text += fmt.Sprintf(" and %d whose size depends on shapes", unknown)
		}
		p.line("  %s      memory: %s", indent, text)
	}
	p.code(indent, f.Code)
}

// code prints instructions or nodes with their numbers.
func (p *printer) code(indent string, lines []string) {
	for i, line := range lines {
		p.line("  %s      %4d  %s", indent, i, line)
	}
}
