package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tvmgo/blob"
	"tvmgo/blob/vmcode"
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
	Name         string         `json:"name"`
	Arity        int            `json:"arity"`
	Parameters   []string       `json:"parameters"`             // their names, which may be fewer
	Types        map[int]string `json:"types,omitempty"`        // of parameters, by number, as in TVM's scripts
	Result       string         `json:"result,omitempty"`       // its type, if it is known
	Compiled     bool           `json:"compiled,omitempty"`     // it is code of an imported library, not instructions
	Instructions int            `json:"instructions,omitempty"` // their number
	Registers    int            `json:"registers"`
	Storages     []Storage      `json:"storages"` // its memory plan
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
}

// programOf describes the payload of an executable.
func programOf(payload []byte, layout blob.Layout) (*Program, error) {
	e, err := vmcode.ParsePayload(payload, layout)
	if err != nil {
		return nil, err
	}
	p := &Program{FileVersion: e.Form.Version, Functions: []ProgramFunction{}, Calls: []string{},
		Constants: ProgramConstants{Count: len(e.Constants)}}
	for i := range e.Constants {
		if c := &e.Constants[i]; c.Kind == vmcode.TensorConstant {
			p.Constants.Tensors++
			p.Constants.Bytes += int64(len(c.Tensor.Data))
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
			Registers: f.Registers, Arity: f.Arity, Parameters: append([]string{}, f.Parameters...),
			Result: signatures[i].Result.Text, Storages: []Storage{}}
		for k, t := range signatures[i].Parameters {
			if g.Types == nil {
				g.Types = map[int]string{}
			}
			g.Types[k] = t.Text
		}
		for _, s := range e.Storages(f) {
			t := Storage{Instruction: s.Instruction, Device: s.Device, Scope: s.Scope, Tensors: s.Tensors}
			if s.Bytes >= 0 {
				t.Bytes = &s.Bytes
			}
			g.Storages = append(g.Storages, t)
		}
		p.Functions = append(p.Functions, g)
	}
	slices.Sort(p.Calls)
	return p, nil
}

// program prints an executable below its module.
func (p *printer) program(indent string, m *Program) {
	for i := range m.Functions {
		p.programFunction(indent, &m.Functions[i])
	}
	if c := m.Constants; c.Count > 0 {
		p.line("  %s    constants: %d, with %d bytes in %d tensors", indent, c.Count, c.Bytes, c.Tensors)
	}
	if len(m.Calls) > 0 {
		calls := make([]string, len(m.Calls))
		for i, name := range m.Calls {
			calls[i] = Shown(name)
		}
		p.line("  %s    calls: %s", indent, strings.Join(calls, ", "))
	}
}

func (p *printer) programFunction(indent string, f *ProgramFunction) {
	what := fmt.Sprintf("%d instructions", f.Instructions)
	if f.Compiled {
		what = "compiled"
	}
	p.line("  %s    %s(%s): %s, %d registers", indent, Shown(f.Name), f.parameters(), what, f.Registers)
	for _, i := range slices.Sorted(maps.Keys(f.Types)) {
		p.line("  %s      %s: %s", indent, f.parameter(i), Shown(f.Types[i]))
	}
	if f.Result != "" {
		p.line("  %s      result: %s", indent, Shown(f.Result))
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
}

// parameter returns the name of a parameter, or its register.
func (f *ProgramFunction) parameter(i int) string {
	if i < len(f.Parameters) && f.Parameters[i] != "" {
		return Shown(f.Parameters[i])
	}
	return fmt.Sprintf("%%%d", i)
}

// parameters lists the parameters. There may be many without names.
func (f *ProgramFunction) parameters() string {
	const most = 16
	var names []string
	for i := range f.Arity {
		if i >= len(f.Parameters) && i >= most {
			names = append(names, fmt.Sprintf("… %%%d", f.Arity-1))
			break
		}
		names = append(names, f.parameter(i))
	}
	return strings.Join(names, ", ")
}
