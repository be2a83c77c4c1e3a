package archive

import (
	"archive/tar"
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A compressed archive that expands to an implausible size is an error.
func TestBounded(t *testing.T) {
	n, err := io.Copy(io.Discard, &bounded{zeros{}, 1 << 20})
	require.EqualValues(t, 1<<20, n)
	require.ErrorContains(t, err, "unpacks to more")
}

// FuzzEach reads arbitrary bytes without a panic, and visits only names that stay in a folder.
func FuzzEach(f *testing.F) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range []string{"lib0.o", "../x.o", "a/b.c", "/etc/x"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Size: 3, Mode: 0o600}); err != nil {
			f.Fatal(err)
		}
		if _, err := w.Write([]byte("abc")); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(b.Bytes())
	f.Add([]byte("\x1f\x8b\x08"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = Each(bytes.NewReader(data), int64(len(data)), func(name string, _ int64, content io.Reader) error {
			require.NotContains(t, name, "/")
			require.NotEqual(t, "..", name)
			_, err := io.Copy(io.Discard, content)
			return err
		})
	})
}
