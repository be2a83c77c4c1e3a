package include

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

var (
	ffiHeaders     = []string{"dlpack/dlpack.h", "tvm/ffi/c_api.h", "tvm/ffi/extra/c_env_api.h"}
	classicHeaders = []string{"tvm/runtime/c_runtime_api.h", "tvm/runtime/c_backend_api.h"}
	allHeaders     = slices.Concat(ffiHeaders, classicHeaders, []string{"tvmgo/device_api.h", "tvmgo/model.h",
		CPUNote})
	modelParts = []string{"tvmgo/model_inline.h", "tvmgo/model_signature.h"} // of tvmgo/model.h

	// the C++ classes; tvmgo.hpp includes the others
	classHeaders = []string{"tvmgo/tvmgo.hpp", "tvmgo/error.hpp", "tvmgo/data_type.hpp", "tvmgo/device.hpp",
		"tvmgo/stream.hpp", "tvmgo/ref.hpp", "tvmgo/tensor.hpp", "tvmgo/function.hpp", "tvmgo/module.hpp",
		"tvmgo/packed.hpp", "tvmgo/value.hpp", "tvmgo/call.hpp", "tvmgo/container.hpp", "tvmgo/model.hpp"}

	dialects = []struct{ compiler, language, std string }{
		{"cc", "c", "c99"}, {"cc", "c", "c11"}, {"c++", "c++", "c++11"}, {"c++", "c++", "c++17"},
	}
)

func TestHeaders_FilesHasEveryHeader(t *testing.T) {
	var got []string
	require.NoError(t, fs.WalkDir(Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			got = append(got, path)
		}
		return err
	}))
	require.ElementsMatch(t, slices.Concat(classHeaders, allHeaders, modelParts), got)
}

func TestHeaders_CPlusPlusClasses(t *testing.T) {
	for _, std := range []string{"c++17", "c++20"} {
		for _, program := range []string{
			includes(append(slices.Clone(classHeaders), allHeaders...)...),
			includes(append(slices.Clone(allHeaders), "tvmgo/tvmgo.hpp")...),
			"#define TVM_NO_HISTORIC_TYPE_CODES\n" + includes("tvmgo/tvmgo.hpp"),
		} {
			compile(t, "c++", "c++", std, program, ".", true, "-Wshadow", "-Wconversion")
		}
	}
}

// Each part includes what it needs, and tvmgo.hpp includes all parts.
func TestHeaders_CPlusPlusParts(t *testing.T) {
	all := includes("tvmgo/tvmgo.hpp")
	for _, header := range classHeaders {
		compile(t, "c++", "c++", "c++17", includes(header, header), ".", true, "-Wshadow", "-Wconversion")
		guard := strings.ToUpper(strings.NewReplacer("/", "_", ".", "_").Replace(header)) + "_"
		all += "#ifndef " + guard + "\n#error " + header + " is not included\n#endif\n"
	}
	compile(t, "c++", "c++", "c++17", all, ".", true)
}

func TestHeaders_AnyOrder(t *testing.T) {
	for i, first := range allHeaders {
		t.Run(filepath.Base(first), func(t *testing.T) {
			rest := slices.Concat(allHeaders[i+1:], allHeaders[:i])
			slices.Reverse(rest)
			compileAll(t, includes(first)+includes(rest...), ".")
		})
	}
}

func TestHeaders_Layout(t *testing.T) {
	t.Run("ffi", func(t *testing.T) { compileAll(t, ffiProgram(), ".") })
	t.Run("classic", func(t *testing.T) {
		compileAll(t, includes(classicHeaders...)+asserts(classicLayout, classicNumbers)+
			prototypeTypes+externC(classicPrototypes), ".")
	})
	t.Run("device", func(t *testing.T) {
		layout := maps.Clone(deviceLayout)
		for i, field := range deviceFields {
			layout["TVMGODeviceAPI."+field] = 8 * i
		}
		layout["TVMGODeviceAPI"] = 8 * len(deviceFields)
		compileAll(t, includes("tvmgo/device_api.h")+asserts(layout, deviceNumbers), ".")
	})
}

// A name in the historic table may clash with a name of the program; the macro avoids that.
func TestHeaders_HistoricNamesCanBeOff(t *testing.T) {
	program := "#define TVM_NO_HISTORIC_TYPE_CODES\n" + includes(classicHeaders...) + "enum { kStr = 1, kNull = 2, " +
		"kHandle = 9 };\n"
	compileAll(t, program, ".")
}

// A device table must be read according to its own size: a shorter one has fewer functions.
func TestHeaders_DeviceAPIHas(t *testing.T) {
	program := includes("tvmgo/device_api.h") + `
static int create(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle* out) {
  (void)api; (void)dev; (void)out; return 0;
}
int main(void) {
  static TVMGODeviceAPI api;
  api.create_stream = create;
  api.struct_size = sizeof(api);
  if (!TVMGODeviceAPIHas(&api, create_stream)) return 1;
  if (TVMGODeviceAPIHas(&api, free_stream)) return 2;
  api.struct_size = offsetof(TVMGODeviceAPI, create_stream);
  return TVMGODeviceAPIHas(&api, create_stream) ? 3 : 0;
}
`
	binary := filepath.Join(t.TempDir(), "has")
	cmd := exec.Command("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-I.", "-o", binary, "-xc", "-")
	cmd.Stdin = strings.NewReader(program)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, exec.Command(binary).Run())
}

func TestHeaders_SameAsTVMFFI(t *testing.T) {
	wheel := wheelInclude(t)

	t.Run("Layout", func(t *testing.T) {
		for _, d := range dialects {
			if d.std == "c11" || d.std == "c++17" {
				compile(t, d.compiler, d.language, d.std, ffiProgram(), wheel, false)
			}
		}
	})
	t.Run("Names", func(t *testing.T) {
		for _, header := range ffiHeaders {
			require.Equal(t, names(t, filepath.Join(wheel, header)), names(t, header), header)
		}
	})
	t.Run("TableIsComplete", func(t *testing.T) {
		for _, header := range ffiHeaders {
			for _, name := range names(t, filepath.Join(wheel, header)) {
				_, number := ffiNumbers[name]
				known := number || strings.Contains(ffiPrototypes, " "+name+"(") ||
					!regexp.MustCompile(`^(kDL|kTVM|TVMFFI\w+\()`).MatchString(name)
				require.True(t, known, "%s: add %s to the table", header, name)
			}
		}
	})
	t.Run("CPlusPlusProgram", func(t *testing.T) {
		program := "#include <tvm/ffi/tvm_ffi.h>\nint f(tvm::ffi::Any a) { return a.cast<int>(); }\n"
		compile(t, "c++", "c++", "c++17", program, ".", false, "-isystem", wheel)
	})
}

// names lists the enumerators, functions, types and macros of a header.
func names(t *testing.T, path string) []string {
	data := must.Get(os.ReadFile(path))(t)
	text := regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`).ReplaceAllString(string(data), "")
	found := map[string]bool{}
	for _, pattern := range []string{
		`\b(k(?:DL|TVM)\w+)\b`, `\b((?:DLPACK|TVM_FFI)_[A-Z_]+[A-Z])\b`, `\b((?:DL|TVMFFI)[A-Z]\w*)\b`,
	} {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			found[m[1]] = true
		}
	}
	for _, private := range []string{"TVM_FFI_DOXYGEN_MODE", "TVM_FFI_C_API_H", "DLPACK_DLPACK_H",
		"TVM_FFI_EXTRA_C_ENV_API_H",
		"TVM_FFI_ENUM_BASE", "TVM_FFI_UNION", "TVM_FFI_INLINE", "DLPACK_EXTERN_C"} {
		delete(found, private)
	}
	return slices.Sorted(maps.Keys(found))
}

func ffiProgram() string {
	return includes(ffiHeaders...) + asserts(ffiLayout, ffiNumbers) + prototypeTypes + externC(ffiPrototypes)
}

func includes(headers ...string) string {
	var b strings.Builder
	for _, h := range headers {
		fmt.Fprintf(&b, "#include <%s>\n", h)
	}
	return b.String()
}

func externC(prototypes string) string {
	return "#ifdef __cplusplus\nextern \"C\" {\n#endif\n" + prototypes + "#ifdef __cplusplus\n}\n#endif\n"
}

func asserts(layout, numbers map[string]int) string {
	var b strings.Builder
	b.WriteString("#include <stddef.h>\n#define HOLDS2(n, x) typedef char line_##n[(x) ? 1 : -1] " +
		"__attribute__((unused))\n#define HOLDS1(n, x) HOLDS2(n, x)\n#define HOLDS(x) HOLDS1(__LINE__, x)\n")
	for _, name := range slices.Sorted(maps.Keys(layout)) {
		if typ, field, isField := strings.Cut(name, "."); isField {
			fmt.Fprintf(&b, "HOLDS(offsetof(%s, %s) == %d);\n", typ, field, layout[name])
		} else {
			fmt.Fprintf(&b, "HOLDS(sizeof(%s) == %d);\n", name, layout[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		fmt.Fprintf(&b, "HOLDS((int)(%s) == %d);\n", name, numbers[name])
	}
	return b.String()
}

func compileAll(t *testing.T, program, include string) {
	t.Helper()
	for _, d := range dialects {
		compile(t, d.compiler, d.language, d.std, program, include, true)
	}
}

func compile(t *testing.T, compiler, language, std, program, include string, strict bool, flags ...string) {
	t.Helper()
	args := []string{"-std=" + std, "-fsyntax-only", "-I" + include}
	if strict {
		args = append(args, "-Wall", "-Wextra", "-pedantic", "-Werror")
	}
	cmd := exec.Command(compiler, append(append(args, flags...), "-x"+language, "-")...)
	cmd.Stdin = strings.NewReader(program)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s -std=%s -I%s:\n%s", compiler, std, include, out)
}

// wheelInclude returns the headers of an installed apache-tvm-ffi: those in TVMGO_WHEEL_INCLUDE, or in the Python
// environment of `make`.
func wheelInclude(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("TVMGO_WHEEL_INCLUDE"); dir != "" {
		require.FileExists(t, filepath.Join(dir, "tvm/ffi/c_api.h"), "TVMGO_WHEEL_INCLUDE")
		return dir
	}
	found := must.Get(filepath.Glob("../build/.cache/venv/lib/python3*/site-packages/tvm_ffi/include"))(t)
	if len(found) == 0 {
		require.Empty(t, os.Getenv("CI"), "build/scripts/deps.sh makes the virtual environment")
		t.Skip("no headers of apache-tvm-ffi: set TVMGO_WHEEL_INCLUDE to the wheel's tvm_ffi/include")
	}
	return found[0]
}
