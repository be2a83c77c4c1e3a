package blob

import (
	"errors"
	"fmt"
)

// ErrCorrupt is what errors.Is finds in every error about damaged bytes.
var ErrCorrupt = errors.New("blob: corrupt")

// FormatError says where bytes stop making sense.
type FormatError struct {
	// from the start of the bytes that were given to Parse, or of the payload that was given to its reader
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

// UnknownKindError says that a legacy blob contains a module of a kind without a scanner: where its payload ends is
// unknown.
type UnknownKindError struct {
	Kind   string
	Offset int64  // of the payload, from the start of the blob
	Import string // the package whose import brings the kind, "" if none of ours does
}

// Error names the kind and, if there is one, the package to import.
func (e *UnknownKindError) Error() string {
	way := "register a scanner for it with blob.Register"
	if e.Import != "" {
		way = "import " + e.Import
	}
	return fmt.Sprintf("blob: offset %d: module kind %q cannot be skipped in a legacy blob: %s", e.Offset, e.Kind, way)
}
