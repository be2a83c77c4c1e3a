package target

import (
	"errors"

	"tvmgo/internal/jsonpos"
)

// MaxDepth is the maximum nesting of a target: objects and lists in JSON, maps and slices in Go.
const MaxDepth = 32

// MaxText is the maximum number of bytes of a target as text: far more than a target needs, so that other text is
// rejected early.
const MaxText = 1 << 20

// readJSON parses an object; its numbers stay json.Number.
func readJSON(text string) (map[string]any, error) {
	v, err := jsonpos.Parse(text, MaxDepth)
	if err != nil {
		return nil, notJSON(err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, &Error{Path: "$", Err: ErrType, Expected: "an object", Found: describe(v)}
	}
	return m, nil
}

// notJSON converts an error of package jsonpos to an error of this package.
func notJSON(err error) error {
	var e *jsonpos.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Kind {
	case jsonpos.TooDeep:
		return tooDeep(e.Path)
	case jsonpos.Duplicate:
		return wrong(e.Path, ErrDuplicate, "at byte %d (line %d): %s", e.Offset, e.Line, e.Msg)
	}
	return wrong(e.Path, ErrSyntax, "not JSON: at byte %d (line %d): %s", e.Offset, e.Line, e.Msg)
}

func tooDeep(path string) error {
	if len(path) > 80 {
		path = path[:80] + "…"
	}
	return wrong(path, ErrTooDeep, "nested more than %d deep, or a value that contains itself", MaxDepth)
}
