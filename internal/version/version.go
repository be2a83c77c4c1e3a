// Package version has the version of this project. It is only written in the file VERSION, which make, pkg-config and
// CMake read, too.
package version

import (
	_ "embed"
	"strings"
)

//go:embed VERSION
var text string

// Number returns the version, such as "1.2.3".
func Number() string { return strings.TrimSpace(text) }

// Builder returns the name under which libraries record their builder: "tvmgo 1.2.3".
func Builder() string { return "tvmgo " + Number() }
