package inspect

import (
	"fmt"
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
	Name         string    `json:"name"`
	Parameters   []string  `json:"parameters"`             // "" for one without a name
	Compiled     bool      `json:"compiled,omitempty"`     // it is code of an imported library, not instructions
	Instructions int       `json:"instructions,omitempty"` // their number
	Registers    int       `json:"registers"`
	Storages     []Storage `json:"storages"` // its memory plan
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
	for i := range e.Functions {
		f := &e.Functions[i]
		if f.Kind == vmcode.Packed {
			p.Calls = append(p.Calls, f.Name)
			continue
		}
		g := ProgramFunction{Name: f.Name, Compiled: f.Kind == vmcode.CompiledVM, Instructions: f.End - f.Begin,
			Registers: f.Registers, Parameters: slices.Clone(f.Parameters), Storages: []Storage{}}
		for len(g.Parameters) < f.Arity {
			g.Parameters = append(g.Parameters, "")
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
	parameters := make([]string, len(f.Parameters))
	for i, name := range f.Parameters {
		parameters[i] = Shown(name)
		if name == "" {
			parameters[i] = fmt.Sprintf("%%%d", i)
		}
	}
	what := fmt.Sprintf("%d instructions", f.Instructions)
	if f.Compiled {
		what = "compiled"
	}
	p.line("  %s    %s(%s): %s, %d registers", indent, Shown(f.Name), strings.Join(parameters, ", "), what, f.Registers)
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
