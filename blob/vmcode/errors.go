package vmcode

import (
	"fmt"

	"tvmgo/blob"
)

// CodeError describes a function or an instruction that no machine can run. errors.Is(err, [blob.ErrCorrupt]) holds.
type CodeError struct {
	Function    string // "" if the instruction is in no function
	Instruction int    // counted from the function's first one, or from the first of all; -1: the whole function
	Brief       string // the operation and the function that it calls: "call matmul"; may be empty
	Problem     string
}

// Error names the function and the instruction.
func (e *CodeError) Error() string {
	text := ""
	if e.Function != "" || e.Instruction < 0 {
		text = "function " + quoted(e.Function)
	}
	if e.Instruction >= 0 {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("instruction %d", e.Instruction)
		if e.Brief != "" {
			text += " (" + e.Brief + ")"
		}
	}
	return text + ": " + e.Problem
}

// Is reports true for [blob.ErrCorrupt].
func (e *CodeError) Is(target error) bool { return target == blob.ErrCorrupt }

// VersionError describes bytecode that this package does not read.
type VersionError struct {
	Found string // "bytecode version "0.28"", "file version 3"
	Reads string // what this package reads instead
	Way   string // what the user can do
}

// Error says which version it is and what reads it.
func (e *VersionError) Error() string {
	return "read Relax executable: " + e.Found + ": this version reads " + e.Reads + ": " + e.Way
}

// quoted quotes a name from a file; long ones are cut.
func quoted(name string) string {
	if len(name) > longest {
		return fmt.Sprintf("%q…", name[:longest])
	}
	return fmt.Sprintf("%q", name)
}

// ConstantError describes a constant that no machine can use. errors.Is(err, [blob.ErrCorrupt]) holds.
type ConstantError struct {
	Constant int // its index
	Problem  string
}

// Error names the constant.
func (e *ConstantError) Error() string { return fmt.Sprintf("constant %d: %s", e.Constant, e.Problem) }

// Is reports true for [blob.ErrCorrupt].
func (e *ConstantError) Is(target error) bool { return target == blob.ErrCorrupt }
