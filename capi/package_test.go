package main_test

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/version"
)

var installed struct {
	once sync.Once
	tree string
	err  error
	out  []byte
}

// install returns an installation that was made for another prefix and then moved, as package managers do. It is what
// make install makes; the shared libraries and the program, which take minutes, are there already.
func install(t *testing.T) string {
	t.Helper()
	l := newLab(t)
	i := &installed
	i.once.Do(func() {
		stage := l.path("stage")
		if i.out, i.err = l.make("static", "install-files", "DESTDIR="+stage, "PREFIX=/opt/a place"); i.err != nil {
			return
		}
		i.tree = l.path("installed")
		i.err = os.Rename(filepath.Join(stage, "opt", "a place"), i.tree)
	})
	require.NoError(t, i.err, "%s", i.out)
	return i.tree
}

// tool skips the test if a program is missing; on CI, where build/scripts/deps.sh installs it, the test fails.
func tool(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		require.Empty(t, os.Getenv("CI"), err)
		t.Skipf("no %s: run make deps", name)
	}
}

// project copies testdata/package and the installation into a folder without spaces, which flags of pkg-config need.
func project(t *testing.T) (src, prefix string) {
	t.Helper()
	dir := t.TempDir()
	src, prefix = filepath.Join(dir, "src"), filepath.Join(dir, "prefix")
	require.NoError(t, copyTree(src, newLab(t).path("src", "package")))
	require.NoError(t, copyTree(prefix, install(t)))
	return src, prefix
}

// shell runs a script in a project: $1 is the project's folder, $2 the prefix.
func shell(t *testing.T, src, prefix, script string) {
	t.Helper()
	r := newLab(t).run(t, []string{"PKG_CONFIG_PATH=" + filepath.Join(prefix, "lib", "pkgconfig")},
		"sh", "-euc", `cd "$1"; `+script, "sh", src, prefix)
	require.True(t, r.ok, "%s\n%s", script, r.out)
}

// The shared library that a program needs.
const (
	wholeSoname = "libtvmgo.so.0"
	noLibrary   = "" // none: it contains the static library
)

// works runs a program of testdata/package, and checks which shared library it needs, by version.
func works(t *testing.T, program, prefix, library string) {
	t.Helper()
	l := newLab(t)
	static := library == noLibrary
	env := []string{"LD_LIBRARY_PATH=" + filepath.Join(prefix, "lib")}
	if static {
		env = nil
	}
	for _, file := range []string{l.modern("multi_c"), l.modern("multi_c_now"), l.modern("multi_llvm"),
		l.classic("multi_llvm")} {
		l.runOK(t, env, program, file, "vadd", l.carrier())
	}
	l.runOK(t, append(env, "LD_BIND_NOW=1"), program, l.modern("multi_c"), "vadd", l.carrier())

	f := must.Get(elf.Open(program))(t)
	defer f.Close()
	libraries := must.Get(f.ImportedLibraries())(t)
	for _, known := range []string{wholeSoname, runtimeSoname} {
		require.Equal(t, library == known, slices.Contains(libraries, known), libraries)
	}
	symbols := must.Get(f.ImportedSymbols())(t)
	calls := 0
	for _, s := range symbols {
		if strings.HasPrefix(s.Name, "TVM") {
			calls++
			require.Equal(t, "TVMGO_1", s.Version, s.Name)
			require.Equal(t, library, s.Library, s.Name)
		}
	}
	require.Equal(t, static, calls == 0)
}

func TestPackage_InstallAndUninstall(t *testing.T) {
	l := newLab(t)
	tree := install(t)
	var got []string
	require.NoError(t, filepath.WalkDir(tree, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(tree, path)
			got = append(got, rel)
			info := must.Get(d.Info())(t)
			if d.Type()&os.ModeSymlink == 0 {
				want := os.FileMode(0o644)
				if strings.HasPrefix(rel, "bin/") || strings.Contains(rel, ".so.") {
					want = 0o755
				}
				require.Equal(t, want, info.Mode().Perm(), rel)
			}
		}
		return err
	}))
	want := []string{"bin/tvmgo", "lib/libtvmgo.a", "lib/libtvmgo_runtime.a", "lib/libtvmgo.so", "lib/libtvmgo.so.0",
		"lib/libtvmgo.so." + version.Number(), "lib/libtvmgo_runtime.so", "lib/libtvmgo_runtime.so.0",
		"lib/libtvmgo_runtime.so." + version.Number(), "lib/pkgconfig/tvmgo_runtime.pc",
		"lib/pkgconfig/tvmgo.pc", "lib/cmake/tvmgo/tvmgoConfig.cmake", "lib/cmake/tvmgo/tvmgoConfigVersion.cmake"}
	for _, header := range slices.Concat(publicHeaders(t, ".h"), publicHeaders(t, ".hpp")) {
		want = append(want, filepath.Join("include", header))
	}
	require.ElementsMatch(t, want, got)
	for _, text := range []string{"lib/pkgconfig/tvmgo.pc", "lib/pkgconfig/tvmgo_runtime.pc",
		"lib/cmake/tvmgo/tvmgoConfig.cmake",
		"lib/cmake/tvmgo/tvmgoConfigVersion.cmake"} {
		data := must.Get(os.ReadFile(filepath.Join(tree, text)))(t)
		require.False(t, bytes.Contains(data, []byte("/opt")) || bytes.Contains(data, []byte("VERSION@")), "%s", data)
	}
	r := l.run(t, nil, filepath.Join(tree, "bin", "tvmgo"), "version")
	require.True(t, r.ok, r.out)

	// files of other packages are kept
	prefix := filepath.Join(t.TempDir(), "usr")
	require.NoError(t, copyTree(prefix, tree))
	theirs := filepath.Join(prefix, "include", "dlpack", "another.h")
	require.NoError(t, os.WriteFile(theirs, nil, 0o644))
	out, err := l.make("uninstall", "PREFIX="+prefix)
	require.NoError(t, err, "%s", out)
	var left []string
	require.NoError(t, filepath.WalkDir(prefix, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			left = append(left, path)
		}
		return err
	}))
	require.Equal(t, []string{theirs}, left)
	require.NoDirExists(t, filepath.Join(prefix, "include", "tvm"))
}

// The global symbols of a static library are exactly the ABI.
func TestPackage_StaticLibraryHasOnlyTheABI(t *testing.T) {
	for _, library := range []string{"libtvmgo.a", "libtvmgo_runtime.a"} {
		r := newLab(t).run(t, nil, "nm", "-g", "--defined-only", "-f", "posix", filepath.Join(install(t), "lib", library))
		require.True(t, r.ok, r.out)
		var names []string
		for line := range strings.Lines(r.out) {
			if words := strings.Fields(line); len(words) > 2 && len(words[1]) == 1 {
				names = append(names, words[0])
			}
		}
		slices.Sort(names)
		require.Equal(t, exported(t), names, library)
	}
}

func TestPackage_OwnNamesDoNotCollide(t *testing.T) {
	src, prefix := project(t)
	for _, flags := range []string{"-pie -fPIE", "-no-pie", "-rdynamic"} {
		shell(t, src, prefix, `cc -Wall -Werror `+flags+
			` -I"$2/include" own_names.c "$2/lib/libtvmgo.a" -lpthread -ldl -lm -o own_names`)
		works(t, filepath.Join(src, "own_names"), prefix, noLibrary)
	}
	shell(t, src, prefix, `cc -Wall -Werror -rdynamic -I"$2/include" own_names.c -L"$2/lib" -ltvmgo -o own_names`)
	works(t, filepath.Join(src, "own_names"), prefix, wholeSoname)
}

func TestPackage_PlainCompiler(t *testing.T) {
	tree := install(t) // its name contains spaces
	l := newLab(t)
	for _, c := range []struct{ compiler, source string }{{"cc -std=c99", "app.c"}, {"c++ -std=c++17", "app.cpp"}} {
		src := t.TempDir()
		require.NoError(t, copyTree(src, l.path("src", "package")))
		shell(t, src, tree, c.compiler+` -Wall -Wextra -Werror -I"$2/include" `+c.source+` -L"$2/lib" -ltvmgo -o shared`)
		works(t, filepath.Join(src, "shared"), tree, wholeSoname)
		shell(t, src, tree, c.compiler+` -Wall -Wextra -Werror -Wl,--gc-sections -I"$2/include" `+c.source+
			` "$2/lib/libtvmgo.a" -lpthread -ldl -lm -o static`)
		works(t, filepath.Join(src, "static"), tree, noLibrary)
	}
}

func TestPackage_PkgConfig(t *testing.T) {
	tool(t, "pkg-config")
	src, prefix := project(t)
	shell(t, src, prefix,
		`pkg-config --exists "tvmgo >= 0.1 tvmgo < 1"
test "tvmgo $(pkg-config --modversion tvmgo)" = "$("$2/bin/tvmgo" --version)"`)
	for _, c := range []struct{ compiler, source string }{{"cc", "app.c"}, {"c++", "app.cpp"}} {
		shell(t, src, prefix, c.compiler+` `+c.source+` $(pkg-config --cflags --libs tvmgo) -o shared`)
		works(t, filepath.Join(src, "shared"), prefix, wholeSoname)
		shell(t, src, prefix, c.compiler+` $(pkg-config --cflags tvmgo) `+c.source+
			` -Wl,-Bstatic $(pkg-config --libs tvmgo) -Wl,-Bdynamic `+
			`$(pkg-config --static --libs-only-l tvmgo | sed s/-ltvmgo//) -o static`)
		works(t, filepath.Join(src, "static"), prefix, noLibrary)
	}
	shell(t, src, prefix,
		`cc app.c $(pkg-config --cflags tvmgo) $(pkg-config --variable=libdir tvmgo)/libtvmgo.a -lpthread -ldl -lm -o readme`)
	works(t, filepath.Join(src, "readme"), prefix, noLibrary)
	// With the static library alone.
	shell(t, src, prefix,
		`rm "$2"/lib/*.so*; cc $(pkg-config --cflags tvmgo) app.c $(pkg-config --static --libs tvmgo) -o alone`)
	works(t, filepath.Join(src, "alone"), prefix, noLibrary)
}

func TestPackage_CMake(t *testing.T) {
	tool(t, "cmake")
	l := newLab(t)
	tree := install(t)
	src := filepath.Join(t.TempDir(), "a project")
	require.NoError(t, copyTree(src, l.path("src", "package")))
	const configure = `cmake -S . -B "$3" -DCMAKE_BUILD_TYPE=Release -DWANT="$4" ` +
		`-DCMAKE_PREFIX_PATH="$2" -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF`
	cmake := func(build, want, script string) result {
		return l.run(t, nil, "sh", "-euc", `cd "$1"; `+script, "sh", src, tree, build, want)
	}
	r := cmake("build", "0.1", configure+`; cmake --build "$3"`)
	require.True(t, r.ok, r.out)
	for program, library := range map[string]string{"c_shared": wholeSoname, "c_static": noLibrary,
		"c_runtime": runtimeSoname, "c_runtime_static": noLibrary, "cpp_shared": wholeSoname, "cpp_static": noLibrary} {
		works(t, filepath.Join(src, "build", program), tree, library)
	}
	for want, fits := range map[string]bool{"0": true, "0.1.0": true, "0.1.0;EXACT": true, "0.1...0.9": true,
		"0.0.1...<1": true,
		"0.2":        false, "1": false, "0.1.1": false, "0.0.9;EXACT": false, "0.2...0.3": false} {
		r := cmake("asks "+strings.NewReplacer(";", " ", "<", " ").Replace(want), want, configure)
		require.Equal(t, fits, r.ok, "%s\n%s", want, r.out)
	}
}

// The output of make dist and make demo has no static library: CMake finds the shared one, and a project that needs the
// other gets a message that says how to build it.
func TestPackage_CMakeWithoutTheStaticLibrary(t *testing.T) {
	tool(t, "cmake")
	l := newLab(t)
	src, prefix := filepath.Join(t.TempDir(), "project"), filepath.Join(t.TempDir(), "prefix")
	require.NoError(t, copyTree(prefix, l.dist))
	require.NoError(t, os.RemoveAll(filepath.Join(prefix, "lib", "libtvmgo.a")))
	require.NoError(t, copyTree(src, l.path("src", "package")))
	configure := func(build, want, program, library string) result {
		text := "cmake_minimum_required(VERSION 3.16)\nproject(app C)\nfind_package(tvmgo " + want + " CONFIG)\n" +
			"if(tvmgo_FOUND)\n  message(STATUS \"found it\")\n  add_executable(" + program +
			" app.c)\n  target_link_libraries(" + program + " PRIVATE " + library + ")\nendif()\n"
		require.NoError(t, os.WriteFile(filepath.Join(src, "CMakeLists.txt"), []byte(text), 0o644))
		return l.run(t, nil, "sh", "-euc",
			`cd "$1"; cmake -S . -B "$3" -DCMAKE_PREFIX_PATH="$2" -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF; cmake --build "$3"`,
			"sh", src, prefix, build)
	}
	for i, want := range []string{"REQUIRED", "REQUIRED OPTIONAL_COMPONENTS static", ""} {
		build := string(rune('a' + i))
		r := configure(build, want, "app", "tvmgo::tvmgo")
		require.True(t, r.ok, r.out)
		works(t, filepath.Join(src, build, "app"), prefix, wholeSoname)
	}
	r := configure("d", "REQUIRED", "app", "tvmgo::static")
	require.False(t, r.ok)
	require.Contains(t, r.out, `run "make static"`)
	r = configure("e", "REQUIRED COMPONENTS static", "app", "tvmgo::static")
	require.False(t, r.ok)
	require.Contains(t, strings.Join(strings.Fields(r.out), " "),
		`libtvmgo.a is missing: tvmgo::static needs it; run "make static"`)
	r = configure("f", "COMPONENTS static", "app", "tvmgo::static")
	require.NotContains(t, r.out, "found it")
	r = configure("g", "REQUIRED COMPONENTS runtine", "app", "tvmgo::runtime")
	require.False(t, r.ok)
	require.Contains(t, strings.Join(strings.Fields(r.out), " "), "tvmgo has no component runtine: ask for tvmgo,")

	// Where only the runtime is installed, it is a component.
	for _, file := range must.Get(filepath.Glob(filepath.Join(prefix, "lib", "libtvmgo.so*")))(t) {
		require.NoError(t, os.Remove(file))
	}
	r = configure("h", "REQUIRED COMPONENTS runtime", "app", "tvmgo::runtime")
	require.True(t, r.ok, r.out)
	works(t, filepath.Join(src, "h", "app"), prefix, runtimeSoname)
	r = configure("i", "REQUIRED", "app", "tvmgo::runtime")
	require.False(t, r.ok)
	require.Contains(t, strings.Join(strings.Fields(r.out), " "), "is missing: tvmgo::tvmgo needs it; install tvmgo again")
}

// A module may record the library that it was linked with, and the version of each symbol.
func TestPackage_ModuleLinkedWithTheLibrary(t *testing.T) {
	src, prefix := project(t)
	kernel := must.Get(os.ReadFile(filepath.Join(newLab(t).root, "examples", "kernel", "add.c")))(t)
	require.NoError(t, os.WriteFile(filepath.Join(src, "add.c"), kernel, 0o644))
	shell(t, src, prefix,
		`cc -O2 -shared -fPIC -I"$2/include" add.c -L"$2/lib" -ltvmgo -o add.so
cc -I"$2/include" app.c -L"$2/lib" -ltvmgo -o app`)
	l := newLab(t)
	for _, env := range []string{"LD_BIND_NOW=", "LD_BIND_NOW=1", "TVMGO_PRIVATE_LOAD=1"} {
		l.runOK(t, []string{"LD_LIBRARY_PATH=" + filepath.Join(prefix, "lib"), env},
			filepath.Join(src, "app"), filepath.Join(src, "add.so"), "add", l.carrier())
	}
}
