package vmcode

import (
	"fmt"

	"tvmgo/blob"
)

// undefinedArity is what files contain as the arity of a packed function.
const undefinedArity = -2

// Encode returns the bytes of an executable, which [Parse] reads, in a form. It is an error if [Executable.Check]
// fails, or if the form is version 1 and a constant has a memory scope, which only version 2 can express.
func (e *Executable) Encode(form Form) ([]byte, error) {
	var w blob.Writer
	if err := e.write(&w, form); err != nil {
		return nil, fmt.Errorf("write Relax executable: %w", err)
	}
	return w.Data(), nil
}

// EncodePayload returns the payload of a module, in the form of a layout: see [FormOf].
func (e *Executable) EncodePayload(layout blob.Layout) ([]byte, error) {
	program, err := e.Encode(FormOf(layout))
	if err != nil {
		return nil, err
	}
	var w blob.Writer
	w.Program(program, layout)
	return w.Data(), nil
}

func (e *Executable) write(w *blob.Writer, form Form) error {
	if tags[form.Numbering] == nil {
		return fmt.Errorf("unknown %s: give Modern, Version21 or Classic", form.Numbering)
	}
	if err := e.Check(); err != nil {
		return err
	}
	switch form.Version {
	case 1:
		w.U64(magic1)
	case 2:
		w.U64(magic2)
	default:
		return fmt.Errorf("file version %d: give 1 or 2", form.Version)
	}
	w.Str(bytecodeVersion)
	e.writeFunctions(w)
	if err := e.writeScopes(w, form.Version); err != nil {
		return err
	}
	if err := e.writeConstants(w, form.Numbering); err != nil {
		return err
	}
	e.writeCode(w)
	return nil
}

func (e *Executable) writeFunctions(w *blob.Writer) {
	w.Count(len(e.Functions))
	for i := range e.Functions {
		f := e.Functions[i]
		switch f.Kind {
		case Packed:
			f = Function{Kind: Packed, Name: f.Name, Arity: undefinedArity}
		case CompiledVM:
			f.Begin, f.End = 0, 0
		}
		w.I32(int32(f.Kind))
		w.Str(f.Name)
		for _, n := range []int{f.Begin, f.End, f.Arity, f.Registers} {
			w.I64(int64(n))
		}
		w.Strs(f.Parameters)
	}
}

func (e *Executable) writeScopes(w *blob.Writer, version int) error {
	scopes := e.scopedConstants()
	if version < 2 {
		if len(scopes) > 0 {
			return fmt.Errorf("constant %d has memory scope %s, which only file version 2 can express: write version 2",
				scopes[0], quoted(e.Constants[scopes[0]].Scope))
		}
		return nil
	}
	w.Count(len(scopes))
	for _, i := range scopes {
		w.I64(int64(i))
		w.Str(e.Constants[i].Scope)
	}
	return nil
}

// scopedConstants returns the constants with memory scopes: first those of the file in its order, then others.
func (e *Executable) scopedConstants() []int {
	var list []int
	seen := make([]bool, len(e.Constants))
	add := func(i int) {
		if i < len(seen) && !seen[i] && e.Constants[i].Scope != "" {
			seen[i], list = true, append(list, i)
		}
	}
	for _, i := range e.scoped {
		add(i)
	}
	for i := range seen {
		add(i)
	}
	return list
}

func (e *Executable) writeConstants(w *blob.Writer, n Numbering) error {
	w.Count(len(e.Constants))
	for i := range e.Constants {
		c := &e.Constants[i]
		w.I32(tags[n][c.Kind])
		switch c.Kind {
		case TensorConstant:
			if err := w.Tensor(c.Tensor); err != nil {
				return fmt.Errorf("constant %d: %w", i, err)
			}
		case DTypeConstant:
			w.DType(c.DType)
		case ShapeConstant:
			w.I64s(c.Shape)
		case StringConstant:
			w.Str(c.Text)
		case IntConstant:
			w.I64(c.Int)
		case FloatConstant:
			w.F64(c.Float)
		}
	}
	return nil
}

func (e *Executable) writeCode(w *blob.Writer) {
	w.Count(len(e.Code))
	words := 0
	for i := range e.Code {
		w.I64(int64(words))
		words += e.Code[i].size()
	}
	w.Count(words)
	for i := range e.Code {
		in := &e.Code[i]
		w.I64(int64(in.Op))
		switch in.Op {
		case Call:
			w.I64(int64(in.Dst))
			w.I64(int64(in.Callee))
			w.Count(len(in.Args))
			for _, a := range in.Args {
				w.I64(a.word())
			}
		case Ret:
			w.I64(int64(in.Source))
		case Goto:
			w.I64(int64(in.Jump))
		case If:
			w.I64(int64(in.Source))
			w.I64(int64(in.Jump))
		}
	}
}

// size returns the number of words of an instruction.
func (in *Instruction) size() int {
	switch in.Op {
	case Call:
		return callWords + len(in.Args)
	case If:
		return ifWords
	}
	return retWords
}
