package vmcode_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob/vmcode"
	"tvmgo/internal/inspect"
	"tvmgo/internal/modulekind"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheelmodels"
)

// Every model that TVM compiles is read, and written as the same bytes, which are read again from the classic form.
func TestModels_AreWrittenAsTheSameBytes(t *testing.T) {
	for _, m := range wheelmodels.Need(t) {
		require.NoError(t, inspect.WithContents(m.Path, func(c *inspect.Contents) error {
			for _, entry := range c.Parsed.Entries {
				if modulekind.FormOf(entry.Kind) != modulekind.Program {
					continue
				}
				e, err := vmcode.ParsePayload(entry.Payload, c.Parsed.Layout)
				if m.Program == "few_arguments" { // TVM finds the mistake only when it runs the call
					require.ErrorContains(t, err, `instruction 0 (call pair): 1 arguments for function "pair", which has 2 parameters`)
					continue
				}
				require.NoError(t, err, m.Name)
				require.Equal(t, entry.Payload, must.Get(e.EncodePayload(c.Parsed.Layout))(t), m.Name)
				for _, f := range m.Functions {
					requireFunction(t, e, f)
				}
				for i := range e.Constants {
					e.Constants[i].Scope = ""
				}
				classic := vmcode.Form{Version: 1, Numbering: vmcode.Classic}
				equal(t, e, must.Get(vmcode.Parse(must.Get(e.Encode(classic))(t), vmcode.Automatic))(t))
			}
			return nil
		}), m.Name)
	}
}

func requireFunction(t *testing.T, e *vmcode.Executable, want wheelmodels.Function) {
	t.Helper()
	for i := range e.Functions {
		if f := &e.Functions[i]; f.Name == want.Name && f.Kind != vmcode.Packed {
			require.Equal(t, want.Arity, f.Arity)
			for i, name := range f.Parameters {
				require.Equal(t, want.Parameters[i], name)
			}
			return
		}
	}
	t.Errorf("there is no function %s", want.Name)
}
