package arguments

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Input is the value of an --in for a function of a model.
type Input struct {
	Text  string // as the user wrote it
	Name  string // of the parameter, or a field of a tuple: "x", "%0", "state.1"; "" for the next parameter
	Value any    // int64, uint64 from 2⁶³ on, float64, bool, string, Shape or File
}

// Shape is an argument: a shape, written shape:2,3.
type Shape []int64

// kinds are the prefixes of arguments that are no files.
var kinds = map[string]bool{"i": true, "f": true, "b": true, "s": true, "o": true, "shape": true}

// ParseInput reads the value of an --in for a function of a model: one of [Parse] except for o:1, b:true, or shape:2,3,
// with or without a name, as in x=x.npy. Whatever stands before the first = is a name, except in s:a=b.
func ParseInput(text string) (Input, error) {
	in := Input{Text: text}
	value := text
	if kind, _, found := strings.Cut(text, ":"); !found || !kinds[kind] {
		if name, rest, named := strings.Cut(text, "="); named {
			in.Name, value = name, rest
			if name == "" || rest == "" {
				return in, fmt.Errorf("--in %s: write NAME=FILE.npy", text)
			}
		}
	}
	var err error
	kind, rest, _ := strings.Cut(value, ":")
	switch kind {
	case "b":
		if in.Value, err = strconv.ParseBool(rest); err != nil {
			err = fmt.Errorf("%q is not a boolean: write b:true or b:false", rest)
		}
	case "shape":
		in.Value, err = parseShape(rest)
	default:
		if in.Value, err = Parse(value); err != nil {
			return in, err
		}
		if _, is := in.Value.(Output); is {
			err = errors.New("there are 0 --out with a --like: only functions that write into arrays have such arguments")
		}
	}
	if err != nil {
		return in, fmt.Errorf("--in %s: %w", text, err)
	}
	return in, nil
}

// parseShape reads dimensions, "2,3"; "" is the shape of a scalar.
func parseShape(text string) (Shape, error) {
	shape := Shape{}
	if text == "" {
		return shape, nil
	}
	for _, d := range strings.Split(text, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(d), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a dimension: write shape:2,3", d)
		}
		shape = append(shape, n)
	}
	return shape, nil
}

// ParseOutput reads the value of an --out of a model: a path, with or without the name of a result before it. Whatever
// stands before the first = is a name.
func ParseOutput(text string) (name, path string, err error) {
	name, path, named := strings.Cut(text, "=")
	if !named {
		return "", text, nil
	}
	if name == "" || path == "" {
		return "", "", fmt.Errorf("--out %s: write NAME=FILE.npy", text)
	}
	return name, path, nil
}
