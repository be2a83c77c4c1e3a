package must

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// failed is a test that counts its failures and continues.
type failed struct{ n int }

func (f *failed) Errorf(string, ...any) {}
func (f *failed) FailNow()              { f.n++ }

func TestGet(t *testing.T) {
	var f failed
	require.Equal(t, 7, Get(strconv.Atoi("7"))(&f))
	require.Zero(t, f.n)
	Get(strconv.Atoi("seven"))(&f)
	require.Equal(t, 1, f.n)
}

func TestFail(t *testing.T) {
	require.NoError(t, Fail(strconv.Atoi("7")))
	require.ErrorIs(t, Fail(strconv.Atoi("seven")), strconv.ErrSyntax)
}

type door struct{ open *bool }

func (d door) Close() error { *d.open = false; return nil }

func TestOpen(t *testing.T) {
	open := true
	t.Run("use", func(t *testing.T) {
		Open(door{&open}, nil)(t)
		require.True(t, open)
	})
	require.False(t, open)
}
