package vmcode_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/blob/vmcode"
	"tvmgo/internal/testing/must"
)

// equal compares two executables without their forms.
func equal(t testing.TB, want, got *vmcode.Executable) {
	t.Helper()
	plain := func(e *vmcode.Executable) string {
		return fmt.Sprintf("%+v\n%+v\n%+v", e.Functions, e.Constants, e.Code)
	}
	require.Equal(t, plain(want), plain(got))
}

func TestEncode_IsWhatTVMWrites(t *testing.T) {
	r := parts()
	require.Equal(t, r.bytes(), must.Get(program().Encode(vmcode.Form{Version: 2}))(t))
	r.magic, r.tags = 0xD225DE2F4214151D, [6]int32{0, 1, 2, 3, 4, 5}
	require.Equal(t, r.bytes(), must.Get(unscoped().Encode(vmcode.Form{Version: 1, Numbering: vmcode.Classic}))(t))
	r.tags = [6]int32{72, 5, 71, 65, 1, 3}
	require.Equal(t, r.bytes(), must.Get(unscoped().Encode(vmcode.Form{Version: 1, Numbering: vmcode.Version21}))(t))
}

func TestParse_EveryForm(t *testing.T) {
	for _, form := range forms() {
		e := unscoped()
		if form.Version == 2 {
			e = program()
		}
		data := must.Get(e.Encode(form))(t)
		for _, n := range []vmcode.Numbering{form.Numbering, vmcode.Automatic} {
			got := must.Get(vmcode.Parse(data, n))(t)
			equal(t, e, got)
			require.Equal(t, form, got.Form)
			require.Equal(t, data, must.Get(got.Encode(got.Form))(t))
		}
		var file blob.Writer // as TVM up to v0.20 saved it
		file.Bytes(data)
		equal(t, e, must.Get(vmcode.Parse(file.Data(), vmcode.Automatic))(t))
		for _, other := range forms() {
			if other.Numbering != form.Numbering {
				err := must.Fail(vmcode.Parse(data, other.Numbering))
				require.ErrorIs(t, err, blob.ErrCorrupt)
				require.ErrorContains(t, err, fmt.Sprintf("is no type of a constant in files of TVM %s", other.Numbering))
			}
		}
	}
}

// Without constants all numberings agree.
func TestParse_AutomaticWithoutConstants(t *testing.T) {
	e := &vmcode.Executable{Code: []vmcode.Instruction{{Op: vmcode.Ret}},
		Functions: []vmcode.Function{{Kind: vmcode.Bytecode, Name: "f", End: 1, Arity: 1, Registers: 1}}}
	for _, form := range forms() {
		equal(t, e, must.Get(vmcode.Parse(must.Get(e.Encode(form))(t), vmcode.Automatic))(t))
	}
	data := must.Get((&vmcode.Executable{}).Encode(vmcode.Form{Version: 2}))(t)
	equal(t, &vmcode.Executable{}, must.Get(vmcode.Parse(data, vmcode.Modern))(t))
}

func TestParsePayload_OfEveryLayout(t *testing.T) {
	for _, layout := range []blob.Layout{blob.Legacy, blob.LegacyFFI, blob.Modern} {
		payload := must.Get(unscoped().EncodePayload(layout))(t)
		got := must.Get(vmcode.ParsePayload(payload, layout))(t)
		equal(t, unscoped(), got)
		require.Equal(t, vmcode.FormOf(layout), got.Form)

		kind := "relax.VMExecutable"
		if layout == blob.Legacy {
			kind = "relax.Executable"
		}
		b := &blob.Blob{Layout: layout, Entries: []blob.Entry{{Kind: kind, Payload: payload}, {Kind: "_lib"}},
			RowPtr: []int{0, 1, 1}, Children: []int{1}}
		again := must.Get(blob.Parse(must.Get(b.Encode())(t), layout, nil))(t)
		equal(t, unscoped(), must.Get(vmcode.ParsePayload(again.Entries[0].Payload, layout))(t))

		err := must.Fail(vmcode.ParsePayload(append(payload, 0), layout))
		require.ErrorContains(t, err, "1 bytes are left over")
		for n := range payload {
			require.ErrorIs(t, must.Fail(vmcode.ParsePayload(payload[:n], layout)), blob.ErrCorrupt)
		}
	}
	// v0.22 and v0.23 wrote version 1 with the modern numbering.
	form := vmcode.Form{Version: 1, Numbering: vmcode.Modern}
	got := must.Get(vmcode.ParsePayload(must.Get(unscoped().Encode(form))(t), blob.Modern))(t)
	require.Equal(t, form, got.Form)
}

func TestParse_TensorsAreViews(t *testing.T) {
	data := must.Get(program().Encode(vmcode.Form{Version: 2}))(t)
	e := must.Get(vmcode.Parse(data, vmcode.Modern))(t)
	view := e.Constants[0].Tensor.Data
	first, last := uintptr(unsafe.Pointer(&data[0])), uintptr(unsafe.Pointer(&data[len(data)-1]))
	at := uintptr(unsafe.Pointer(&view[0]))
	require.True(t, at >= first && at+uintptr(len(view))-1 <= last)

	big := program()
	big.Constants[0].Tensor.Shape = []int64{64 << 18}
	big.Constants[0].Tensor.Data = make([]byte, 64<<20)
	data = must.Get(big.Encode(vmcode.Form{Version: 2}))(t)
	require.Less(t, allocated(func() { must.Get(vmcode.Parse(data, vmcode.Modern))(t) }), uint64(1<<20))
}

func TestParse_OtherVersions(t *testing.T) {
	with := func(change func(*raw)) error {
		r := parts()
		change(r)
		_, err := vmcode.Parse(r.bytes(), vmcode.Automatic)
		return err
	}
	for _, c := range []struct {
		change func(*raw)
		want   string
	}{
		{func(r *raw) { r.magic++ },
			`read Relax executable: file version 3: this version reads 1 and 2: run it with the version of TVM that wrote it`},
		{func(r *raw) { r.version = "0.28" },
			`bytecode version "0.28": this version reads "0.14", the bytecode of TVM v0.14 to v0.27: ` +
				`run it with TVM v0.28 or newer, or compile the model again with TVM up to v0.27`},
		{func(r *raw) { r.magic--; r.version = "0.12.0" },
			`bytecode version "0.12.0": this version reads "0.14", the bytecode of TVM v0.14 to v0.27: ` +
				`run it with TVM 0.12.0, which alone reads it (as an executable of Relay, or of an early Relax)`},
		{func(r *raw) { r.magic--; r.version = "0.18.0" }, `run it with TVM 0.18.0, which alone reads it`},
		{func(r *raw) { r.version = "1.3" }, `run it with TVM v1.3 or newer`},
		{func(r *raw) { r.version = "x.14" }, `bytecode version "x.14": this version reads "0.14"`},
	} {
		err := with(c.change)
		require.ErrorContains(t, err, c.want)
		var version *vmcode.VersionError
		require.ErrorAs(t, err, &version)
	}
	require.ErrorContains(t, with(func(r *raw) { r.magic = 7 }),
		"an executable begins with 0xd225de2f4214151d or 0xd225de2f4214151e, not 0x7: the file is damaged: copy it or")
	require.ErrorContains(t, must.Fail(vmcode.Parse(nil, vmcode.Automatic)), "magic number: needs 8 bytes, 0 are left")
	require.ErrorContains(t, must.Fail(vmcode.Parse(parts().bytes(), 7)), "unknown numbering(7)")
}

func TestEncode_WhatAFormCannotExpress(t *testing.T) {
	require.EqualError(t, must.Fail(program().Encode(vmcode.Form{Version: 1})),
		`write Relax executable: constant 0 has memory scope "global.texture", which only file version 2 can express: `+
			`write version 2`)
	require.ErrorContains(t, must.Fail(program().Encode(vmcode.Form{Version: 3})), "file version 3: give 1 or 2")
	require.ErrorContains(t, must.Fail(program().Encode(vmcode.Form{Version: 2, Numbering: vmcode.Automatic})),
		"give Modern, Version21 or Classic")
	bad := program()
	bad.Code[1].Source = 9
	require.ErrorContains(t, must.Fail(bad.Encode(vmcode.Form{Version: 2})),
		`write Relax executable: function "first", instruction 1 (ret): there is no register 9: a frame has 2`)
}

// The order of memory scopes in a file is kept; constants that got one later follow.
func TestEncode_OrderOfScopes(t *testing.T) {
	r := parts()
	e := must.Get(vmcode.Parse(r.bytes(), vmcode.Modern))(t)
	for range 2 {
		e.Constants = append(e.Constants, e.Constants[0])
	}
	e.Constants[0].Scope, e.Constants[6].Scope = "", "b"
	again := must.Get(vmcode.Parse(must.Get(e.Encode(vmcode.Form{Version: 2}))(t), vmcode.Modern))(t)
	require.Equal(t, []string{"", "b", "global.texture"},
		[]string{again.Constants[0].Scope, again.Constants[6].Scope, again.Constants[7].Scope})
}

// TVM writes scopes in the order of a hash table: here the other way round.
func TestEncode_KeepsTheOrderOfScopes(t *testing.T) {
	e := program()
	e.Constants = append(e.Constants, e.Constants[0])
	e.Constants[0].Scope, e.Constants[6].Scope = "first", "other"
	data := must.Get(e.Encode(vmcode.Form{Version: 2}))(t)
	at := bytes.Index(data, []byte("\x00\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00first"))
	size := 8 + 8 + 5
	turned := slices.Concat(data[:at], data[at+size:at+2*size], data[at:at+size], data[at+2*size:])
	require.NotEqual(t, data, turned)
	again := must.Get(vmcode.Parse(turned, vmcode.Modern))(t)
	equal(t, e, again)
	require.Equal(t, turned, must.Get(again.Encode(vmcode.Form{Version: 2}))(t))
}

func TestText_OfAllInstructions(t *testing.T) {
	e := program()
	require.Equal(t, strings.Join([]string{
		"@main:",
		"  If    %0, 3",
		"  call  first            in: c[0]         dst: %2",
		"  goto  2",
		"  call  vm.builtin.copy  in: %vm, %2, %void, i-7, f[compiled], c[1], c[2], c[3], c[4], c[5] dst: %void",
		"  call  compiled         in: %1           dst: %3",
		"  goto  1",
		"  ret   %3",
		"",
		"@vm.builtin.copy packed_func;",
		"",
		"@compiled num_inputs=1 vm_tir_func;",
		"",
		"@first:",
		"  call  vm.builtin.copy  in: %0           dst: %1",
		"  ret   %1", "", ""}, "\n"), e.Text())
	require.Equal(t, "Relax VM executable statistics:\n  Constant pool (# 6): [[1, 2], float16, shapetuple[3, -1], "+
		"\"global\", -5, 0.5]\n  Globals (#4): [main, vm.builtin.copy, compiled, first]\n", e.Stats())
	e.Functions[1].Name = "a\x1bb"
	require.NotContains(t, e.Text()+e.Stats(), "\x1b")
}

// A long name that many instructions contain does not multiply.
func TestText_IsBounded(t *testing.T) {
	e := program()
	e.Functions[1].Name = strings.Repeat("n", 1<<20)
	for range 1000 {
		e.Code = append(e.Code, e.Code[0])
	}
	e.Code = append(e.Code, vmcode.Instruction{Op: vmcode.Ret})
	e.Functions = append(e.Functions, vmcode.Function{Kind: vmcode.Bytecode, Name: "more", Begin: 9, End: len(e.Code),
		Registers: 2})
	require.NoError(t, e.Check())
	require.Less(t, len(e.Text()), 2<<20)
	require.Less(t, len(e.Python()), 2<<20)
}
