package blob

import (
	"errors"
	"fmt"
)

// ErrCorrupt matches every error about corrupt bytes in errors.Is.
var ErrCorrupt = errors.New("blob: corrupt")

// FormatError is an error about corrupt bytes, with their position.
type FormatError struct {
	// in bytes from the start of the input of Parse, or of the payload's parser
	Offset  int64
	What    string // the piece that was being read
	Problem string
}

// Error returns the offset, the piece and the problem.
func (e *FormatError) Error() string {
	return fmt.Sprintf("blob: offset %d: %s: %s", e.Offset, e.What, e.Problem)
}

// Is reports true for [ErrCorrupt].
func (e *FormatError) Is(target error) bool { return target == ErrCorrupt }

// UnknownKindError is returned for a legacy blob that contains a module of a kind without a scanner: the end of its
// payload is unknown.
type UnknownKindError struct {
	Kind   string
	Offset int64  // of the payload, from the start of the blob
	Import string // the package to import for the kind; "" if this module has none
}

// Error names the kind and, if there is one, the package to import for it.
func (e *UnknownKindError) Error() string {
	way := "register a scanner for it with blob.Register"
	if e.Import != "" {
		way = "import " + e.Import
	}
	return fmt.Sprintf("blob: offset %d: module kind %q cannot be skipped in a legacy blob: %s", e.Offset, e.Kind, way)
}
