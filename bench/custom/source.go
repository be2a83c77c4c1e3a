package custom

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/export/pack"
	"tvmgo/internal/atomicfile"
	"tvmgo/runtime"
)

// source is a file with code for some devices.
type source interface {
	path() string
	// function returns the function's name.
	function() string
	// signature returns what the function takes; nil if the file does not say.
	signature() *pack.Signature
	// serves returns nil if the file may have code for a type of device, else an error with the reason. sure says that
	// it has.
	serves(t dlpack.DeviceType) (sure bool, err error)
	// open loads the function for a device.
	open(ctx context.Context, on *bench.Device, list []*argument) (*opened, error)
}

// opened is a function that was loaded for a device.
type opened struct {
	fn       *runtime.Function
	more     []any // integers behind the arguments: the sizes of the launch
	idle     bool  // a size of the launch is 0: there is nothing to do
	launched int   // arguments at the end that more has in its order
	sure     bool  // the file has code for the device
	classic  bool  // booleans have the type of the classic generation
	facts    bench.Facts
	close    []func() error
}

// Close frees what the function needs, the last one first.
func (o *opened) Close() (err error) {
	for i := len(o.close) - 1; i >= 0; i-- {
		err = errors.Join(err, o.close[i]())
	}
	o.close = nil
	return err
}

// suffixes are those of all files that this package reads, in the order of messages.
var suffixes = []string{".so", ".tir", ".json", ".cl", ".cu", ".ptx", ".cubin", ".fatbin", ".spv", ".c", ".o"}

// kernelDevices has the device for each suffix of a file with kernels.
var kernelDevices = map[string]dlpack.DeviceType{".cl": dlpack.OpenCL, ".cu": dlpack.CUDA, ".ptx": dlpack.CUDA,
	".cubin": dlpack.CUDA, ".fatbin": dlpack.CUDA, ".spv": dlpack.Vulkan, ".c": dlpack.CPU, ".o": dlpack.CPU}

// suffixOf returns the suffix that decides what a file is: ".so" also of "libadd.so.1".
func suffixOf(path string) string {
	if strings.Contains(filepath.Base(path), ".so.") {
		return ".so"
	}
	return filepath.Ext(path)
}

// checkFile returns an error if a path is no file that can be read, or of no known format.
func checkFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such file: check the path", path)
	case err != nil:
		return fmt.Errorf("%s: %w", path, atomicfile.Cause(err))
	case info.IsDir():
		return fmt.Errorf("%s is a directory: give the file in it", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file: copy it to one", path)
	case info.Size() == 0:
		return fmt.Errorf("%s is empty", path)
	}
	suffix := suffixOf(path)
	if slices.Contains(suffixes, suffix) {
		return nil
	}
	way := map[string]string{".comp": ": compile it to .spv, as by glslangValidator -V", ".glsl": ": compile it to .spv",
		".hlsl": ": compile it to .spv", ".metal": ": Metal has no device here", ".ll": ": build a library (.so) from it",
		".cc": ": give C (.c) or a library (.so)", ".cpp": ": give C (.c) or a library (.so)"}[suffix]
	return fmt.Errorf("%s: the suffix %q is unknown%s: files are %s", path, suffix, way, strings.Join(suffixes, ", "))
}

// notMeasured makes an error that is bench.ErrNotMeasured.
func notMeasured(format string, args ...any) error {
	return fmt.Errorf("%w: %s", bench.ErrNotMeasured, fmt.Sprintf(format, args...))
}

// deviceNames formats types of devices: "cpu and opencl".
func deviceNames(types []dlpack.DeviceType) string {
	var names []string
	for _, t := range types {
		names = append(names, t.String())
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}
