// Package signing makes keys and signatures for tests.
package signing

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/trust"
)

// NewKey makes a secret key.
func NewKey(t testing.TB) *trust.SecretKey {
	t.Helper()
	return must.Get(trust.Generate())(t)
}

// Sign signs files; each signature lies beside its file.
func Sign(t testing.TB, key *trust.SecretKey, paths ...string) {
	t.Helper()
	for _, path := range paths {
		signature := must.Get(key.SignFile(path, time.Now(), ""))(t)
		require.NoError(t, os.WriteFile(path+trust.SignatureSuffix, signature, 0o644))
	}
}

// PublicFile writes the public key of each secret key into one file, and returns its path.
func PublicFile(t testing.TB, keys ...*trust.SecretKey) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trusted.pub")
	var text []byte
	for _, k := range keys {
		text = append(text, k.PublicText()...)
	}
	require.NoError(t, os.WriteFile(path, text, 0o644))
	return path
}
