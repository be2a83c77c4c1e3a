package vmcode_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/blob/vmcode"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
)

func TestArtifact_IsWrittenAsTheSameBytes(t *testing.T) {
	payload, layout := artifact(t)
	e := must.Get(vmcode.ParsePayload(payload, layout))(t)
	require.Equal(t, vmcode.Form{Version: 2, Numbering: vmcode.Modern}, e.Form)
	require.Equal(t, payload, must.Get(e.EncodePayload(layout))(t))
	require.Equal(t, []string{"x", "fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}, e.Functions[0].Parameters)
	require.Len(t, e.Code, 52)

	classic := must.Get(e.EncodePayload(blob.Legacy))(t)
	again := must.Get(vmcode.ParsePayload(classic, blob.Legacy))(t)
	equal(t, e, again)
	require.Equal(t, payload, must.Get(again.EncodePayload(layout))(t))
}

// Files of Apache TVM are written as the same bytes, and printed as the same text; and TVM reads what is written here.
func TestWheel_SameBytesAndText(t *testing.T) {
	dir := t.TempDir()
	read := func(name string) string { return string(must.Get(os.ReadFile(filepath.Join(dir, name)))(t)) }
	wheel.Run(t, nil, filepath.Join("testdata", "wheel.py"), "make", dir)
	files := must.Get(filepath.Glob(filepath.Join(dir, "*.vm")))(t)
	require.Len(t, files, 5)
	var names []string
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".vm")
		data := []byte(read(name + ".vm"))
		e, err := vmcode.Parse(data, vmcode.Automatic)
		require.NoError(t, err, name)
		require.Equal(t, vmcode.Form{Version: 2, Numbering: vmcode.Modern}, e.Form, name)
		require.Equal(t, data, must.Get(e.Encode(e.Form))(t), name)
		require.Equal(t, read(name+".txt"), e.Text(), name)
		require.Equal(t, read(name+".stats"), e.Stats(), name)
		require.Equal(t, read(name+".py"), e.Python(), name)
		names = append(names, name)
		write := func(as string, form vmcode.Form) {
			ours := must.Get(e.Encode(form))(t)
			require.NoError(t, os.WriteFile(filepath.Join(dir, as+".ours"), ours, 0o644))
		}
		write(name, vmcode.Form{Version: 2})
		if name != "scopes" {
			names = append(names, name+"1")
			write(name+"1", vmcode.Form{Version: 1})
		}
	}
	names = append(names, "hand")
	hand := must.Get(unscoped().Encode(vmcode.Form{Version: 2}))(t)
	for name, data := range map[string][]byte{"hand.ours": hand, "hand.vm": hand, "hand.txt": []byte(unscoped().Text())} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	wheel.Run(t, nil, filepath.Join("testdata", "wheel.py"), "read", dir)
	for _, name := range names {
		original := strings.TrimSuffix(name, "1")
		require.Equal(t, read(original+".txt"), read(name+".text"), name)
		if original != "scopes" { // TVM's hash table changes their order each time
			require.Equal(t, read(original+".vm"), read(name+".again"), name)
		}
	}
}
