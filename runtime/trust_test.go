package runtime_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/signing"
	"tvmgo/runtime"
	"tvmgo/trust"
)

// copied copies a file into a folder of the test, where it can be signed and changed.
func copied(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	writeFile(t, to, readFile(t, path))
	return to
}

// endsProcess is a library whose code ends the process when it is opened.
const endsProcess = `#include <stdlib.h>
__attribute__((constructor)) static void opened(void) { abort(); }`

func TestWithTrust(t *testing.T) {
	noLeaks(t)
	key, other := signing.NewKey(t), signing.NewKey(t)
	keys := key.Public()
	path := copied(t, buildC(t, probeSource))
	signing.Sign(t, key, path)
	m := modules.Load(t, path, runtime.WithTrust(keys))
	require.EqualValues(t, runtime.NumThreads(), call(t, function(t, m, "env"), "runtime.NumThreads"))
	modules.Load(t, path, runtime.WithTrust(must.Get(trust.ParseKeys(append(other.PublicText(), key.PublicText()...)))(t)))
	open := len(entries(t, "/proc/self/fd"))

	for name, c := range map[string]struct {
		change func(path string) // of a file that is signed with key
		by     runtime.Verifier
		kind   error
		says   string
	}{
		"unsigned": {func(path string) { require.NoError(t, os.Remove(path+".minisig")) }, keys, trust.ErrUnsigned,
			"it is not signed: there is no %s.minisig: sign it (tvmgo sign)"},
		"another byte": {func(path string) {
			data := readFile(t, path)
			data[len(data)/2] ^= 1
			writeFile(t, path, data)
		}, keys, trust.ErrChanged, "it is not the file that was signed with key"},
		"one byte more": {func(path string) { writeFile(t, path, append(readFile(t, path), 0)) }, keys, trust.ErrChanged, ""},
		"empty file":    {func(path string) { writeFile(t, path, nil) }, keys, trust.ErrChanged, ""},
		"another key": {func(path string) { signing.Sign(t, other, path) }, keys, trust.ErrUnknownKey,
			"sign it with such a key"},
		"not trusted": {func(string) {}, other.Public(), trust.ErrUnknownKey, ""},
		"signature of another file": {func(path string) {
			signature := must.Get(key.Sign("b.so", strings.NewReader("b"), time.Now(), ""))(t)
			writeFile(t, path+".minisig", signature)
		}, keys, trust.ErrChanged, "the signature is that of another file"},
		"damaged signature": {func(path string) { writeFile(t, path+".minisig", []byte("RUQ\n")) }, keys,
			trust.ErrDamagedSignature, "sign it again"},
		"empty signature": {func(path string) { writeFile(t, path+".minisig", nil) }, keys, trust.ErrDamagedSignature, ""},
		"folder": {func(path string) {
			require.NoError(t, os.Remove(path+".minisig"))
			require.NoError(t, os.Mkdir(path+".minisig", 0o700))
		}, keys, nil, ".minisig: it is no ordinary file"},
		"nil":      {func(string) {}, nil, nil, "the verifier is nil: give runtime.WithTrust the keys that you trust"},
		"nil keys": {func(string) {}, (*trust.Keys)(nil), trust.ErrUnknownKey, "the trusted set has no key"},
		"panic": {func(string) {}, verifier(func(string, []byte, []byte) error { panic("in Verify") }), nil,
			"in Verify"},
	} {
		t.Run(name, func(t *testing.T) {
			path := copied(t, buildC(t, endsProcess))
			signing.Sign(t, key, path)
			c.change(path)
			for _, ctx := range []context.Context{ctx, t.Context()} {
				_, err := runtime.Load(ctx, path, runtime.WithTrust(c.by))
				require.Error(t, err)
				if name != "panic" {
					requireError(t, err, runtime.ErrUntrusted, "load "+path+": ")
				}
				if c.kind != nil {
					require.ErrorIs(t, err, c.kind)
				}
				says := c.says
				if strings.Contains(says, "%") {
					says = fmt.Sprintf(says, path)
				}
				require.ErrorContains(t, err, says)
			}
		})
	}
	require.Len(t, entries(t, "/proc/self/fd"), open)

	// What is wrong without a check is the same error with it.
	_, err := runtime.Load(ctx, "none.so", runtime.WithTrust(keys))
	requireError(t, err, runtime.ErrNotFound, "load none.so: no such file")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = runtime.Load(ctx, t.TempDir()+"/x.so/", runtime.WithTrust(keys))
	require.Error(t, err)
	text := copied(t, probeSource)
	require.NoError(t, os.Rename(text, text+".so"))
	signing.Sign(t, key, text+".so")
	requireError(t, must.Fail(runtime.Load(ctx, text+".so", runtime.WithTrust(keys))), runtime.ErrCorruptModule, "text")
}

// verifier is a function as a Verifier.
type verifier func(name string, content, signature []byte) error

func (v verifier) Verify(name string, content, signature []byte) error {
	return v(name, content, signature)
}

// A file that changes during the check is an error that names it, however it changes, and whatever the verifier says.
func TestWithTrust_FileChanges(t *testing.T) {
	noLeaks(t)
	good := buildC(t, probeSource)
	hostile := readFile(t, buildC(t, endsProcess))
	for name, change := range map[string]func(path string){
		"overwritten": func(path string) {
			f := must.Open(os.OpenFile(path, os.O_WRONLY, 0))(t)
			must.Get(f.Write(hostile))(t)
		},
		"overwritten, with the old time": func(path string) {
			before := must.Get(os.Stat(path))(t)
			data := readFile(t, path)
			data[len(data)-1] ^= 1
			writeFile(t, path, data)
			require.NoError(t, os.Chtimes(path, before.ModTime(), before.ModTime()))
		},
		"truncated": func(path string) { require.NoError(t, os.Truncate(path, 0)) },
		"longer":    func(path string) { require.NoError(t, os.Truncate(path, 1<<20)) },
		"replaced": func(path string) {
			writeFile(t, path+".new", hostile)
			require.NoError(t, os.Rename(path+".new", path))
		},
		"removed": func(path string) { require.NoError(t, os.Remove(path)) },
	} {
		t.Run(name, func(t *testing.T) {
			path := copied(t, good)
			calls := 0
			v := verifier(func(name string, content, signature []byte) error {
				calls++
				require.Equal(t, path, name)
				require.Nil(t, signature)
				require.True(t, bytes.Equal(readFile(t, good), content), "what was there when it was opened")
				change(path)
				require.True(t, bytes.Equal(readFile(t, good), content), "a copy")
				return nil
			})
			_, err := runtime.Load(ctx, path, runtime.WithTrust(v))
			requireError(t, err, runtime.ErrUntrusted, "load "+path+": the file changed while its signature was checked")
			require.Equal(t, 1, calls)
		})
	}
}

// What runs is what was checked, whatever happens to the file later: code and constants are in memory of this process.
func TestWithTrust_FileChangesLater(t *testing.T) {
	noLeaks(t)
	for _, linking := range linkings {
		path := copied(t, buildC(t, probeSource, linking.flags...))
		key := signing.NewKey(t)
		signing.Sign(t, key, path)
		m := modules.Load(t, path, runtime.WithTrust(key.Public()))
		require.NoError(t, os.Truncate(path, 0)) // a mapping of the file would end the process
		require.EqualValues(t, runtime.NumThreads(), call(t, function(t, m, "env"), "runtime.NumThreads"), linking.name)
		require.NotZero(t, call(t, function(t, m, "context")))
		requireError(t, must.Fail(m.SaveToBinary()), runtime.ErrFailed, "the file was changed since it was loaded")
	}
}

// The content is not on the heap, and after the check there is one copy of it.
func TestWithTrust_Memory(t *testing.T) {
	noLeaks(t)
	path := copied(t, buildC(t, probeSource))
	const size = 256 << 20
	require.NoError(t, os.Truncate(path, size)) // nothing needs the end of the file
	key := signing.NewKey(t)
	signing.Sign(t, key, path)
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	m := modules.Load(t, path, runtime.WithTrust(key.Public()))
	goruntime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
	require.EqualValues(t, runtime.NumThreads(), call(t, function(t, m, "env"), "runtime.NumThreads"))
	copies := 0
	for _, fd := range entries(t, "/proc/self/fd") {
		if to, err := os.Readlink("/proc/self/fd/" + fd); err == nil && strings.Contains(to, "tvmgo:"+filepath.Base(path)) {
			copies++
		}
	}
	require.LessOrEqual(t, copies, 1)
}

func TestWithTrust_BytesAndFS(t *testing.T) {
	noLeaks(t)
	key := signing.NewKey(t)
	trusted := runtime.WithTrust(key.Public())
	data := readFile(t, buildC(t, probeSource))
	signature := must.Get(key.Sign("m.so", bytes.NewReader(data), time.Now(), ""))(t)
	changed := bytes.Clone(data)
	changed[len(changed)/2] ^= 1

	must.Open(runtime.LoadBytes(ctx, data, trusted, runtime.WithSignature(signature)))(t)
	requireError(t, must.Fail(runtime.LoadBytes(ctx, data, trusted, runtime.Name("m.so"))), runtime.ErrUntrusted,
		"load m.so: it is not signed: give the signature of the bytes by runtime.WithSignature")
	err := must.Fail(runtime.LoadBytes(ctx, changed, trusted, runtime.WithSignature(signature)))
	requireError(t, err, runtime.ErrUntrusted, "load module: it is not the file that was signed")
	require.ErrorIs(t, err, trust.ErrChanged)

	files := fstest.MapFS{"d/m.so": {Data: data}, "d/m.so.minisig": {Data: signature}, "d/n.so": {Data: data},
		"d/c.so": {Data: changed}, "d/c.so.minisig": {Data: signature}}
	must.Open(runtime.LoadFS(ctx, files, "d/m.so", trusted))(t)
	requireError(t, must.Fail(runtime.LoadFS(ctx, files, "d/n.so", trusted)), runtime.ErrUntrusted,
		"load d/n.so: it is not signed: there is no d/n.so.minisig")
	require.ErrorIs(t, must.Fail(runtime.LoadFS(ctx, files, "d/c.so", trusted)), trust.ErrChanged)
	must.Open(runtime.LoadFS(ctx, files, "d/n.so"))(t)

	requireError(t, must.Fail(runtime.NewModel(must.Open(runtime.LoadBytes(ctx, data))(t), trusted)),
		runtime.ErrInvalidArgument, "the module is loaded already")
}
