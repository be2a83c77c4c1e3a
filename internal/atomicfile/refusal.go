package atomicfile

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"
)

// NotAllowed reports whether the system refused to write because of permissions, or because all of the disk is
// read-only.
func NotAllowed(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || isOneOf(err, readOnly)
}

// NoSpace reports whether there is no space for a file: the disk or the user's part of it is full, or the file would be
// too large.
func NoSpace(err error) bool {
	return isOneOf(err, []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}) || isOneOf(err, full)
}

func isOneOf(err error, list []error) bool {
	return slices.ContainsFunc(list, func(e error) bool { return errors.Is(err, e) })
}
