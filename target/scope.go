package target

import (
	"strings"

	"tvmgo/internal/nearest"
)

// outOfScope returns the error for an option that does not affect the generated module, which names where the option
// belongs; nil for other names. The rule: a Target contains what affects the code; linking and loading have options of
// their own.
func outOfScope(path, name string) error {
	name = strings.TrimSpace(name)
	advice, ok := elsewhere[nearest.Plain(strings.TrimLeft(name, "-"))]
	switch {
	case attached(strings.TrimLeft(name, "-")):
		advice = linking
	case !ok:
		return nil
	}
	return &Error{Path: path, Err: ErrScope,
		Message: brief(name) + " is not part of a target, since it does not affect the generated module: " + advice}
}

const (
	linking = "it is for linking: give it to export.Library (export.Flags, export.Libraries, export.Compiler, " +
		"export.Sysroot, export.KeepFiles), or to `tvmgo pack`"
	loading   = "it is for running: choose it when the module is loaded or called"
	executing = "it is for the executor that calls the generated functions: choose it where the model is compiled, or " +
		"when the module is loaded"
)

// elsewhere maps the names of such options, as plain returns them, to advice.
var elsewhere = func() map[string]string {
	m := map[string]string{}
	for _, n := range strings.Fields(`cc cxx fcompile compiler linker ld ldflags ldlibs link-flags link-options link-args
		lto flto fno-lto fuse-ld
		link-time-optimization thinlto library lib libraries library-path lib-path libs-path libpath rpath rpath-link soname
			install-name sysroot
		sdk toolchain output output-dir output-file output-format out o format so-path export export-library export-symbols
			version-script shared
		static static-lib static-libgcc static-libstdc++ rdynamic code-location section text-section linker-script strip pie
			fpie pic fpic
		no-pie pthread fopenmp nostdlib nodefaultlibs as-needed whole-archive cflags cxxflags cppflags compile-flags
			compile-options nvcc nvcc-options
		nvcc-flags include include-path keep keep-files save-temps temp-dir debug-info-file addons
		lm lc lpthread ldl lrt lz lstdc++ lgcc lgomp latomic lcuda lcudart lcublas lcudnn lnvrtc lopencl lvulkan`) {
		m[n] = linking
	}
	for _, n := range strings.Fields(`device-id device-index gpu-id stream streams num-streams num-threads omp-num-threads
		threads thread-pool
		num-workers affinity cpu-affinity thread-affinity workspace-size max-workspace memory-limit memory-pool memory-pools
			allocator priority timeout
		load-options preload lazy lazy-loading cache-dir pre-compiled-programs rpc rpc-server rpc-key tracker profile
			profiling trace verbose validate
		log-level`) {
		m[n] = loading
	}
	for _, n := range strings.Fields(`runtime executor relay-executor aot graph vm crt link-params unpacked-api
		interface-api usmp workspace-pool
		workspace-pools workspace-memory-pools constant-pools constant-memory-pools`) {
		m[n] = executing
	}
	return m
}()

// attached reports whether a name is a compiler flag with its argument in the same word: Wl,-rpath, L/usr/lib.
func attached(name string) bool {
	if name == "L" || name == "I" {
		return true
	}
	for _, p := range []string{"Wl,", "Xlinker", "L/", "L.", "I/", "I."} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
