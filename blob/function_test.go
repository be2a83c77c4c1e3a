package blob

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
)

func functionGolden(layout Layout) []byte {
	x := build().str("k").u64(2).raw(3, 64, 1, 0, 0, 32, 1, 0).strs("blockIdx.x", "tirx.use_dyn_shared_memory")
	if layout != Legacy {
		x.u64(2).u32(1).u32(0)
	}
	return x.b
}

func TestParseFunctionInfo(t *testing.T) {
	want := FunctionInfo{Name: "k", ArgTypes: []dlpack.DataType{dlpack.Handle, dlpack.Int32},
		LaunchParamTags: []string{"blockIdx.x", "tirx.use_dyn_shared_memory"}}
	for _, layout := range []Layout{Legacy, LegacyFFI, Modern} {
		data := functionGolden(layout)
		got := must.Get(ParseFunctionInfo(data, layout))(t)
		if layout != Legacy {
			want.ArgExtraTags = []int32{ExtraTagTensorMap, ExtraTagNone}
		}
		require.Equal(t, want, got)
		for n := range data {
			require.ErrorIs(t, must.Fail(ParseFunctionInfo(data[:n], layout)), ErrCorrupt)
		}
	}
	_, err := ParseFunctionInfo(functionGolden(Modern), Legacy)
	require.ErrorContains(t, err, "16 bytes are left over", "four fields read as three")
	_, err = ParseFunctionInfo(functionGolden(Legacy), Modern)
	require.ErrorIs(t, err, ErrCorrupt, "three fields read as four")
	_, err = ParseFunctionInfo(build().str("k").u64(0).strs().u64(1).u32(0).b, Modern)
	require.ErrorContains(t, err, "1 extra tags for 0 arguments")
}

func TestFunctions_KeyIsTheName(t *testing.T) {
	table := build().u64(2).str("b").str("").u64(0).strs().str("a").str("own").u64(0).strs().b
	r := NewReader(table)
	list := r.Functions(Legacy)
	require.NoError(t, r.Finish("end"))
	require.Equal(t, "b", list[0].Name, "in file order")
	require.Equal(t, Function{Key: "a", FunctionInfo: FunctionInfo{Name: "own", ArgTypes: []dlpack.DataType{},
		LaunchParamTags: []string{}}}, list[1])

	r = NewReader(build().u64(2).fn("a", Legacy).fn("a", Legacy).b)
	require.Nil(t, r.Functions(Legacy))
	require.ErrorContains(t, r.Err(), `"a" occurs twice`)
}

func TestParseVulkanModule(t *testing.T) {
	shader := func() *bld { return build().u32(1).u64(3).u32(0x07230203).u32(8).u32(9) }
	older := build().str("vulkan").u64(1).fn("f", Modern).u64(1).str("f").raw(shader().b...).b
	newer := build().str("vulkan").u64(1).fn("f", Modern).u64(1).str("f").str(string(shader().b)).b
	legacy := build().str("vulkan").u64(1).fn("f", Legacy).u64(1).str("f").raw(shader().b...).b
	for name, c := range map[string]struct {
		data   []byte
		layout Layout
	}{"v0.24": {newer, Modern}, "v0.22": {older, Modern}, "v0.21": {older, LegacyFFI}, "v0.18": {legacy, Legacy}} {
		m, err := ParseVulkanModule(c.data, c.layout)
		require.NoError(t, err, name)
		s, ok := m.Shader("f")
		require.True(t, ok)
		require.Equal(t, ShaderUniformScalars, s.Flag)
		require.Equal(t, []uint32{0x07230203, 8, 9}, s.Words())
		_, ok = m.Function("f")
		require.True(t, ok)
		_, ok = m.Shader("g")
		require.False(t, ok)
		for n := range c.data {
			require.ErrorIs(t, must.Fail(ParseVulkanModule(c.data[:n], c.layout)), ErrCorrupt, name)
		}
	}
	require.ErrorIs(t, must.Fail(ParseVulkanModule(newer, Legacy)), ErrCorrupt)

	file := build().u32(vulkanFileMagic).u64(1).str("f").raw(shader().b...).b
	shaders := must.Get(ParseVulkanFile(file))(t)
	require.Equal(t, "f", shaders[0].Key)
	file[0]++
	require.ErrorContains(t, must.Fail(ParseVulkanFile(file)), "magic number")
	twice := build().u32(vulkanFileMagic).u64(2).str("f").raw(shader().b...).str("f").raw(shader().b...)
	require.ErrorContains(t, must.Fail(ParseVulkanFile(twice.b)), `"f" occurs twice`)
}

func TestParseFunctionInfoJSON(t *testing.T) {
	for text, want := range map[string]FunctionInfo{
		`{"name":"k","arg_types":["handle","int32"],"launch_param_tags":["blockIdx.x"],"arg_extra_tags":[1,0]}`: {
			"k", []dlpack.DataType{dlpack.Handle, dlpack.Int32}, []string{"blockIdx.x"}, []int32{1, 0}},
		`{"arg_types":[], "thread_axis_tags":["a","b"], "name":""}`: {"", []dlpack.DataType{}, []string{"a", "b"}, nil},
		` {"arg_types":["e4m3_float8","bool"]} `: {"",
			[]dlpack.DataType{dlpack.Float8E4M3FN, dlpack.Bool}, nil, nil},
	} {
		got, err := ParseFunctionInfoJSON([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
	for text, want := range map[string]string{
		``:                                      "unexpected EOF",
		`[]`:                                    "expected an object",
		`{"name":"k"}`:                          `"arg_types" is missing`,
		`{"arg_types":["int32"]`:                "EOF",
		`{"arg_types":["int32"]} {}`:            "after the object",
		`{"arg_types":["quux"]}`:                `key "arg_types": argument 0: parse data type "quux"`,
		`{"arg_types":null}`:                    "the value is null",
		`{"arg_types":[1]}`:                     "cannot unmarshal",
		`{"arg_types":[],"arg_types":[]}`:       "occurs twice",
		`{"arg_types":[],"Name":"k"}`:           "unknown key",
		`{"arg_types":[],"arg_extra_tags":[0]}`: "1 extra tags for 0 arguments",
		`{"arg_types":[],"launch_param_tags":[],"thread_axis_tags":[]}`: "two names of one field",
		`{"arg_types":["int8"],"arg_extra_tags":[99999999999]}`:         "cannot unmarshal",
	} {
		require.ErrorContains(t, must.Fail(ParseFunctionInfoJSON([]byte(text))), want, text)
	}
}

func TestParseMetaJSON(t *testing.T) {
	const text = `{"func_info":{"z":{"name":"","arg_types":["int32"]},"a":{"name":"b","arg_types":[]}}}`
	meta := must.Get(ParseMetaJSON([]byte(text)))(t)
	require.Empty(t, meta.TVMVersion)
	require.Equal(t, "z", meta.Functions[0].Key, "in file order")
	require.Equal(t, "z", meta.Functions[0].Name)
	require.Equal(t, "b", meta.Functions[1].Name)
	for text, want := range map[string]string{
		`{"tvm_version":"0.1.0"}`:          `"func_info" is missing`,
		`{"func_info":{},"more":1}`:        `key "more": unknown key`,
		`{"func_info":[]}`:                 "expected an object",
		`{"func_info":{"f":3}}`:            `key "f": expected an object`,
		`{"func_info":{"f":{},"f":{}}}`:    `"arg_types" is missing`,
		`{"tvm_version":1,"func_info":{}}`: "cannot unmarshal",
	} {
		_, err := ParseMetaJSON([]byte(text))
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, "read function metadata")
	}
}

func FuzzFunctionInfoBinary(f *testing.F) {
	for _, layout := range []Layout{Legacy, LegacyFFI, Modern} {
		f.Add(functionGolden(layout), uint8(layout))
	}
	f.Add(build().u64(1<<63).b, uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, layout uint8) {
		info, err := ParseFunctionInfo(data, Layout(layout%3))
		if err != nil {
			require.ErrorIs(t, err, ErrCorrupt)
			require.Zero(t, info)
			return
		}
		size := 8 + len(info.Name) + 8 + 4*len(info.ArgTypes) + 8
		for _, tag := range info.LaunchParamTags {
			size += 8 + len(tag)
		}
		if Layout(layout%3) != Legacy {
			size += 8 + 4*len(info.ArgExtraTags)
		}
		require.Len(t, data, size, "every byte is accounted for")
	})
}

func FuzzFunctionInfoJSON(f *testing.F) {
	for _, text := range []string{
		`{"name":"k","arg_types":["handle","int32"],"launch_param_tags":["blockIdx.x"],"arg_extra_tags":[1,0]}`,
		`{"arg_types":[],"thread_axis_tags":["a"]}`, `{"arg_types":null}`, `{`,
		`{"tvm_version":"0.1.0","func_info":{"f":{"arg_types":["bool"]}}}`,
		`{"func_info":{"a":{"name":"b","arg_types":["custom[x]"]}}} x`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if info, err := ParseFunctionInfoJSON(data); err != nil {
			require.Zero(t, info)
		} else if n := len(info.ArgExtraTags); n != 0 {
			require.Len(t, info.ArgTypes, n)
		}
		if meta, err := ParseMetaJSON(data); err == nil {
			for _, f := range meta.Functions {
				require.True(t, f.Name != "" || f.Key == "")
			}
		}
	})
}
