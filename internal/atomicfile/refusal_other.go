//go:build !windows

package atomicfile

var readOnly, full []error
