package target

import (
	"strings"

	"tvmgo/internal/nearest"
)

// outOfScope says where an option belongs that does not change the generated module; nil for any other name. The rule: a Target holds
// what changes the code, and the place where the code is linked or loaded holds the rest.
func outOfScope(path, name string) error {
	advice, ok := elsewhere[nearest.Plain(strings.TrimSpace(name))]
	if !ok {
		return nil
	}
	return &Error{Path: path, Err: ErrScope,
		Message: brief(name) + " is not part of a target, since it does not change the generated module: " + advice}
}

const (
	linking = "it is for linking: give it to export.Library (export.Flags, export.Libraries, export.Compiler, export.Sysroot), or to `tvmgo pack`"
	loading = "it is for running: choose it when the module is loaded or called"
)

// elsewhere has the names under which such options are known, as plain writes them.
var elsewhere = func() map[string]string {
	m := map[string]string{}
	for _, n := range strings.Fields(`cc cxx fcompile compiler linker ld ldflags link-flags link-options link-args lto flto
		link-time-optimization thinlto library-path libpath rpath soname sysroot output output-format format so-path shared static
		code-location section text-section linker-script strip pie fpie debug-info-file addons`) {
		m[n] = linking
	}
	for _, n := range strings.Fields(`runtime executor device-id stream num-threads threads thread-pool workspace-pool
		workspace-memory-pools constant-memory-pools load-options preload lazy-loading cache-dir pre-compiled-programs rpc tracker
		profiling validate log-level`) {
		m[n] = loading
	}
	return m
}()
