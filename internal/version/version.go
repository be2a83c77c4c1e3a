// Package version has the version of this project, which is written only in its file VERSION: make, pkg-config and
// CMake read the same file.
package version

import (
	_ "embed"
	"strings"
)

//go:embed VERSION
var text string

// Number is the version, "1.2.3".
func Number() string { return strings.TrimSpace(text) }

// Builder is what libraries say that they were built by: "tvmgo 1.2.3".
func Builder() string { return "tvmgo " + Number() }
