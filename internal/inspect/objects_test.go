package inspect_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/internal/inspect"
	"tvmgo/internal/testing/must"
)

const objectSource = `
extern int helper(int), other(int);
__attribute__((visibility("default"))) int __tvm_ffi_add(void) { return helper(1) + other(2); }
__attribute__((weak)) int __tvm_ffi_main(void) { return 0; }
__attribute__((visibility("hidden"))) int __tvm_ffi_hidden(void) { return 0; }
static int __tvm_ffi_local(void) { return 0; }
int (*use)(void) = __tvm_ffi_local;
int __tvm_ffi__metadata_add(void) { return 0; }
void* __tvm_ffi__library_ctx;
int TVMFFIErrorSetRaisedFromCStrParts(void);
int __tvm_ffi_fail(void) { return TVMFFIErrorSetRaisedFromCStrParts(); }
`

func objectOf(t *testing.T, source string, flags ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.o")
	cmd := exec.Command("cc", append([]string{"-c", "-fPIC", "-x", "c", "-", "-o", path}, flags...)...)
	cmd.Stdin = strings.NewReader(source)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return must.Get(os.ReadFile(path))(t)
}

func archiveOf(t *testing.T, files ...any) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for i := 0; i < len(files); i += 2 {
		data := files[i+1].([]byte)
		require.NoError(t, w.WriteHeader(&tar.Header{Name: files[i].(string), Size: int64(len(data)), Mode: 0o600}))
		must.Get(w.Write(data))(t)
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	return b.Bytes()
}

func readBytes(t *testing.T, data []byte) *inspect.Report {
	t.Helper()
	return must.Get(inspect.Read("m", bytes.NewReader(data), int64(len(data))))(t)
}

// TestObjects finds what the linked library contains.
func TestObjects(t *testing.T) {
	tree := must.Get((&blob.Blob{Layout: blob.Modern,
		Entries: []blob.Entry{{Kind: "_lib"}, {Kind: "cuda", Payload: []byte("damaged")}}, RowPtr: []int{0, 1, 1},
		Children: []int{1}}).Encode())(t)
	carried := bytes.NewBufferString("const unsigned char __tvm_ffi__library_bin[] = {")
	for _, c := range tree {
		fmt.Fprintf(carried, "%d,", c)
	}
	carried.WriteString("};\nint helper(int x) { return x; }\n")
	for _, flags := range [][]string{nil, {"-ffunction-sections", "-fdata-sections"}, {"-g", "-O2"}} {
		one := objectOf(t, objectSource, flags...)
		r := readBytes(t, one)
		require.Equal(t, inspect.Modern, r.Generation)
		require.Equal(t, []string{"add", "fail", "main"}, names(r))
		require.True(t, r.Functions[0].Metadata)
		require.Equal(t, "main", r.Entry)
		require.Equal(t, []string{"TVMFFIErrorSetRaisedFromCStrParts"}, r.RuntimeImports)
		require.Subset(t, r.OtherImports, []string{"helper", "other"})
		require.Equal(t, []string{"__tvm_ffi__library_ctx"}, r.ContextSlots)
		require.Equal(t, 64, r.Bits)
		require.Empty(t, r.Members)

		both := readBytes(t, archiveOf(t, "lib0.o", one, "devc.o", objectOf(t, carried.String(), flags...), "lib1.c",
			[]byte("int x;\n")))
		require.Equal(t, []string{"add", "fail", "main"}, names(both))
		require.NotContains(t, both.OtherImports, "helper")
		require.Contains(t, both.OtherImports, "other")
		require.Equal(t, []inspect.Member{{Name: "lib0.o", Size: int64(len(one))}, both.Members[1],
			{Name: "lib1.c", Size: 7, Source: true}}, both.Members)
		require.NotNil(t, both.Blob)
		require.EqualValues(t, len(tree), both.Blob.Size)
		require.Equal(t, "cuda", both.Blob.Modules[1].Kind)
		require.Len(t, both.Problems, 1)
		var text bytes.Buffer
		require.NoError(t, both.WriteText(&text))
		require.Contains(t, text.String(), "lib1.c (7 bytes, source: its functions are known once it is compiled)")
	}
	sources := readBytes(t, archiveOf(t, "lib0.c", []byte("int x;\n")))
	require.Len(t, sources.Members, 1)
	var text bytes.Buffer
	require.NoError(t, sources.WriteText(&text))
	require.Contains(t, text.String(), "sources alone")
}

func names(r *inspect.Report) []string {
	var list []string
	for _, f := range r.Functions {
		list = append(list, f.Name)
	}
	return list
}

// TestObjects_Damaged truncates and changes objects: each gives an error or a report, and none a panic.
func TestObjects_Damaged(t *testing.T) {
	good := objectOf(t, objectSource)
	for n := range len(good) {
		if r, err := inspect.Read("m", bytes.NewReader(good[:n]), int64(n)); err == nil {
			require.Empty(t, r.Functions, n)
		}
		changed := bytes.Clone(good)
		changed[n] ^= 0xff
		_, _ = inspect.Read("m", bytes.NewReader(changed), int64(n))
		_, _ = inspect.Read("m", bytes.NewReader(changed), int64(len(good)))
	}
	_, err := inspect.Read("m", bytes.NewReader(good[:len(good)-100]), int64(len(good)-100))
	require.ErrorContains(t, err, "m: damaged file: truncated")
	archive := archiveOf(t, "lib0.o", good)
	_, err = inspect.Read("m.tar", bytes.NewReader(archive[:len(archive)/2]), int64(len(archive)/2))
	require.ErrorContains(t, err, "m.tar: ")
	for _, a := range [][]byte{archiveOf(t, "lib0.o", []byte("text")), archiveOf(t, "../lib0.o", good)} {
		require.ErrorContains(t, must.Fail(inspect.Read("m.tar", bytes.NewReader(a), int64(len(a)))), "m.tar: ")
	}
}
