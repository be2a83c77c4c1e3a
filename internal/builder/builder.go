// Package builder tells what a library was built by, for those who find one later.
package builder

import (
	"runtime/debug"
	"sync"
)

// modulePath is that of the module that this package is part of.
const modulePath = "tvmgo"

// Name is this module and its version, as the program that it is linked into was built: "tvmgo v1.2.0".
var Name = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return modulePath
	}
	return nameOf(info)
})

func nameOf(info *debug.BuildInfo) string {
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path != modulePath {
			continue
		}
		if m.Replace != nil && m.Replace.Version != "" {
			m = m.Replace
		}
		if m.Version != "" {
			return modulePath + " " + m.Version
		}
	}
	return modulePath
}
