package main_test

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/golden"
	"tvmgo/internal/testing/must"
)

// testdata/abi-<version>.txt records the ABI of each version: functions with their prototypes, sizes and fields of
// structs, values of enumerators. Recorded lines must not change. Additions belong to the newest version until it is
// released, and after that to a new version.
func TestLibrary_ABIIsOnRecord(t *testing.T) {
	versions := exportedVersions(t)
	got := abiLines(t, versions)
	onRecord := func() (lines []string) {
		files := must.Get(filepath.Glob(filepath.Join("testdata", "abi-*.txt")))(t)
		for _, file := range files {
			text := must.Get(os.ReadFile(file))(t)
			lines = append(lines, strings.Split(strings.TrimSpace(string(text)), "\n")...)
		}
		return lines
	}
	want := onRecord()
	if golden.Updating() {
		newest := slices.Max(slices.Collect(maps.Values(versions)))
		recordABI(t, filepath.Join("testdata", "abi-"+newest+".txt"), without(got, want))
		want = onRecord()
	}
	require.Empty(t, without(want, got), "programs rely on these lines, which have changed. Restore them; or, if no "+
		"release contained them, remove the lines from testdata/abi-*.txt by hand")
	require.Empty(t, without(got, want), "these lines are not recorded. If the newest version in exports.map was "+
		"released, add a version to exports.map, with the new functions; then: go test ./capi -run ABIIsOnRecord -update")
	require.Len(t, want, len(got), "on record twice")
}

// recordABI adds lines to a record, and keeps it sorted.
func recordABI(t *testing.T, path string, lines []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if !os.IsNotExist(err) {
		require.NoError(t, err)
		lines = append(lines, strings.Split(strings.TrimSpace(string(text)), "\n")...)
	}
	slices.Sort(lines)
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
}

// without returns the lines of a that b lacks.
func without(a, b []string) (rest []string) {
	for _, line := range a {
		if !slices.Contains(b, line) {
			rest = append(rest, line)
		}
	}
	return rest
}

// abiLines returns the types and functions of the headers, from a compiler's debug information.
func abiLines(t *testing.T, versions map[string]string) []string {
	t.Helper()
	var program strings.Builder
	l := newLab(t)
	for _, header := range publicHeaders(t, ".h") {
		fmt.Fprintf(&program, "#include <%s>\n", header)
	}
	for name := range versions {
		fmt.Fprintf(&program, "__typeof__(&%s) prototype_of_%s;\n", name, name)
	}
	source, object := filepath.Join(t.TempDir(), "abi.c"), filepath.Join(t.TempDir(), "abi.o")
	require.NoError(t, os.WriteFile(source, []byte(program.String()), 0o644))
	r := l.run(t, nil, "cc", "-std=c11", "-g", "-fno-eliminate-unused-debug-types", "-I", l.path("include"), "-c", source,
		"-o", object)
	require.True(t, r.ok, r.out)
	f := must.Get(elf.Open(object))(t)
	defer f.Close()
	data := must.Get(f.DWARF())(t)

	public := regexp.MustCompile(`^F?(TVM|DL|tvm_)`)
	lines := map[string]bool{}
	for r := data.Reader(); ; {
		entry := must.Get(r.Next())(t)
		if entry == nil {
			break
		}
		name, _ := entry.Val(dwarf.AttrName).(string)
		switch entry.Tag {
		case dwarf.TagVariable:
			offset, _ := entry.Val(dwarf.AttrType).(dwarf.Offset)
			typ := must.Get(data.Type(offset))(t)
			function := strings.TrimPrefix(name, "prototype_of_")
			lines[fmt.Sprintf("function %s@@%s %s", function, versions[function], typ.(*dwarf.PtrType).Type)] = true
		case dwarf.TagTypedef, dwarf.TagStructType, dwarf.TagUnionType:
			if !public.MatchString(name) {
				continue
			}
			typ := must.Get(data.Type(entry.Offset))(t)
			if s, ok := typ.(*dwarf.StructType); ok {
				lines[fmt.Sprintf("%s %s of %d bytes: %s", s.Kind, name, s.ByteSize, fields(s))] = true
				continue
			}
			typ = typ.(*dwarf.TypedefType).Type
			if s, ok := typ.(*dwarf.StructType); ok && s.StructName == "" {
				lines[fmt.Sprintf("typedef %s = %s of %d bytes: %s", name, s.Kind, s.ByteSize, fields(s))] = true
			} else if e, ok := typ.(*dwarf.EnumType); ok {
				lines[fmt.Sprintf("typedef %s = enum of %d bytes", name, e.ByteSize)] = true
			} else {
				lines[fmt.Sprintf("typedef %s = %s", name, typ)] = true
			}
		case dwarf.TagEnumerator:
			lines[fmt.Sprintf("enumerator %s = %d", name, entry.Val(dwarf.AttrConstValue))] = true
		}
	}
	return slices.Sorted(maps.Keys(lines))
}

// fields lists each field with its type and offset, including those of nested anonymous structs.
func fields(s *dwarf.StructType) string {
	var all []string
	for _, f := range s.Field {
		typ := f.Type.String()
		if inner, ok := f.Type.(*dwarf.StructType); ok && inner.StructName == "" {
			typ = inner.Kind + "{" + fields(inner) + "}"
		}
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s @%d", f.Name, typ, f.ByteOffset)))
	}
	return strings.Join(all, "; ")
}

// publicHeaders returns the installed headers, as programs include them.
func publicHeaders(t *testing.T, ext string) (headers []string) {
	t.Helper()
	include := newLab(t).path("include")
	require.NoError(t, filepath.WalkDir(include, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ext) {
			rel, err := filepath.Rel(include, path)
			headers = append(headers, rel)
			return err
		}
		return err
	}))
	return headers
}
