package main

import (
	"fmt"
	"strconv"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/internal/nearest"
	"tvmgo/internal/npyfile"
)

// parseArg reads the value of an --in: an int64, a float64, a string, an outputIndex or a file. Integers from 2⁶³ on
// are a uint64.
func parseArg(text string) (any, error) {
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
			return nil, wrongf("--in %s: %q is not an integer of 64 bits", text, value)
		}
		return n, nil
	case "f":
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, wrongf("--in %s: %q is not a number", text, value)
		}
		return n, nil
	case "s":
		return value, nil
	case "o":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return nil, wrongf("--in %s: write o:1 for the first --out", text)
		}
		return outputIndex(n - 1), nil
	}
	return file(text), nil
}

// file is an argument: the array in a .npy file, given by its path.
type file string

// outputIndex is an argument: the output with this index.
type outputIndex int

// arrange inserts the outputs into the arguments: each at its outputIndex, and those without one at the end.
func arrange(args []any, outputs []*array) ([]any, error) {
	list := make([]any, 0, len(args)+len(outputs))
	placed := make([]bool, len(outputs))
	for _, v := range args {
		if p, ok := v.(outputIndex); ok {
			if int(p) >= len(outputs) {
				return nil, wrongf("--in o:%d: there are %d --out", p+1, len(outputs))
			}
			if placed[p] {
				return nil, wrongf("--in o:%d: the output is used twice", p+1)
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

// parseLike reads the type and shape of an output, "float32[8,8]"; "float32[]" is a scalar.
func parseLike(text string) (*array, error) {
	fail := func(format string, args ...any) (*array, error) {
		return nil, wrongf("--like %s: %s", text, fmt.Sprintf(format, args...))
	}
	name, rest, found := strings.Cut(text, "[")
	dims, closed := strings.CutSuffix(rest, "]")
	if !found || !closed || name == "" {
		return fail("write a type and a shape, for example float32[8,8]")
	}
	dtype, err := dlpack.ParseDataType(name)
	if err != nil {
		if near := nearest.Name(name+"[", likeNames(nil)); near != "" {
			err = fmt.Errorf("%w; did you mean %q?", err, strings.TrimSuffix(near, "["))
		}
		return fail("%v", err)
	}
	if npyfile.Descr(dtype) == "" {
		return fail("a .npy file cannot hold %v: choose one of %s", dtype, npyTypeNames)
	}
	a := &array{dtype: dtype, shape: []int64{}}
	for _, d := range strings.Split(dims, ",") {
		if strings.TrimSpace(dims) == "" {
			break
		}
		n, err := strconv.ParseInt(strings.TrimSpace(d), 10, 64)
		if err != nil || n < 0 {
			return fail("%q is not a dimension: write numbers from 0, with commas between", d)
		}
		a.shape = append(a.shape, n)
	}
	if _, err := dlpack.DataSize(a.shape, dtype); err != nil {
		return fail("%v", err)
	}
	return a, nil
}
