// Package arguments reads the arguments of functions as command lines have them: i:3, f:0.5, s:text, o:1, the array in
// a .npy file, and the type and shape of an array, float32[8,8].
//
// Errors of Parse, Arrange and ParseLike are about the command line and name its flag; those of ReadNPY name the file.
package arguments

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/internal/nearest"
	"tvmgo/internal/npyfile"
)

// Parse reads the value of an --in: an int64, a float64, a string, an [Output] or a [File]. Integers from 2⁶³ on are a
// uint64.
func Parse(text string) (any, error) {
	kind, value, found := strings.Cut(text, ":")
	if !found {
		kind = ""
	}
	switch kind {
	case "i":
		n, err := strconv.ParseInt(value, 0, 64)
		if big, e := strconv.ParseUint(value, 0, 64); err != nil && e == nil {
			return big, nil
		}
		if err != nil {
			return nil, fmt.Errorf("--in %s: %q is not an integer of 64 bits", text, value)
		}
		return n, nil
	case "f":
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("--in %s: %q is not a number", text, value)
		}
		return n, nil
	case "s":
		return value, nil
	case "o":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("--in %s: write o:1 for the first --out", text)
		}
		return Output(n - 1), nil
	}
	return File(text), nil
}

// File is an argument: the array in a .npy file, given by its path.
type File string

// Output is an argument: the output with this index.
type Output int

// Arrange inserts the outputs into the arguments: each at its Output, and those without one at the end.
func Arrange(args []any, outputs []*Array) ([]any, error) {
	list := make([]any, 0, len(args)+len(outputs))
	placed := make([]bool, len(outputs))
	for _, v := range args {
		if p, ok := v.(Output); ok {
			if int(p) >= len(outputs) {
				return nil, fmt.Errorf("--in o:%d: there are %d --out", p+1, len(outputs))
			}
			if placed[p] {
				return nil, fmt.Errorf("--in o:%d: the output is used twice", p+1)
			}
			placed[p], v = true, outputs[p]
		}
		list = append(list, v)
	}
	for i, a := range outputs {
		if !placed[i] {
			list = append(list, a)
		}
	}
	return list, nil
}

// ParseLike reads the type and shape of an output, which a .npy file must be able to hold.
func ParseLike(text string) (*Array, error) {
	a, err := ParseType(text, LikeNames())
	if err == nil && npyfile.Descr(a.DType) == "" {
		err = fmt.Errorf("a .npy file cannot hold %v: choose one of %s", a.DType, npyfile.TypeNames)
	}
	if err != nil {
		return nil, fmt.Errorf("--like %s: %w", text, err)
	}
	return a, nil
}

// ParseType reads a type and a shape, "float32[8,8]"; "float32[]" is a scalar. The error for an unknown type names the
// most similar one of near, which have the bracket at their end.
func ParseType(text string, near []string) (*Array, error) {
	name, rest, found := strings.Cut(text, "[")
	dims, closed := strings.CutSuffix(rest, "]")
	if !found || !closed || name == "" {
		return nil, errors.New("write a type and a shape, for example float32[8,8]")
	}
	dtype, err := dlpack.ParseDataType(name)
	if err != nil {
		if n := nearest.Name(name+"[", near); n != "" {
			err = fmt.Errorf("%w; did you mean %q?", err, strings.TrimSuffix(n, "["))
		}
		return nil, err
	}
	a := &Array{DType: dtype, Shape: []int64{}}
	for _, d := range strings.Split(dims, ",") {
		if strings.TrimSpace(dims) == "" {
			break
		}
		n, err := strconv.ParseInt(strings.TrimSpace(d), 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q is not a dimension: write numbers from 0, with commas between", d)
		}
		a.Shape = append(a.Shape, n)
	}
	if _, err := dlpack.DataSize(a.Shape, dtype); err != nil {
		return nil, err
	}
	return a, nil
}

// LikeNames lists the types of ParseLike, with the bracket that begins the shape: "float32[".
func LikeNames() []string {
	var names []string
	for _, t := range npyfile.Types() {
		if t.DType.Code != dlpack.CodeComplex { // ParseLike has no name for it
			names = append(names, t.DType.String()+"[")
		}
	}
	return names
}
