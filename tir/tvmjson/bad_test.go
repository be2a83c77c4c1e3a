//go:build cgo

package tvmjson_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/tir"
	"tvmgo/tir/tvmjson"
)

// ffi returns a file of tvm-ffi with a PrimFunc that has the given nodes, of which the last is its body. Node 0 is
// null, 1 an empty array, 2 and 3 text and an int32.
func ffi(nodes ...string) string {
	all := append([]string{`{"type":"None"}`, `{"type":"ffi.Array","data":[]}`, `{"type":"ffi.String","data":"x"}`,
		`{"type":"tirx.IntImm","data":{"dtype":"int32","value":1}}`}, nodes...)
	body := len(all) - 1
	all = append(all, fmt.Sprintf(`{"type":"tirx.PrimFunc","data":{"params":1,"ret_type":0,"body":%d}}`, body))
	return fmt.Sprintf(`{"root_index":%d,"nodes":[%s]}`, body+1, strings.Join(all, ","))
}

func TestUnmarshal_Errors(t *testing.T) {
	body := func(at string) string { return "read TVM's JSON: $.body" + at }
	for _, c := range []struct{ text, want string }{
		{`{}`, `$: the list "nodes" is missing: want the output of tvm.ir.save_json`},
		{`[]`, `the file is not an object`},
		{`{"nodes":[]}`, `neither "root_index" nor "root" is there`},
		{`{"root_index":0,"nodes":[]}`, `found 0, want the number of a node, 0 to -1`},
		{`{"root_index":0,"nodes":[1]}`, `$.nodes[0]: the node is not an object`},
		{`{"root_index":0,"nodes":[{}]}`, `$.nodes[0]: the node has no "type"`},
		{`{"root_index":0,"nodes":[{"type":"ffi.Array","data":[1]}]}`,
			`$.nodes[0] (ffi.Array): found 1, want the number of a node, 0 to 0`},
		{`{"root_index":0,"nodes":[{"type":"ffi.Map","data":[0]}]}`, `a map of keys and values has 1 entries`},
		{`{"root":0,"nodes":[{"type_key":"Map","keys":["a","b"],"data":[0]}]}`, `2 keys for 1 values`},
		{`{"root":0,"nodes":[{"type_key":"tir.Add"}]}`, `$ (tir.Add): want an IRModule or a PrimFunc`},
		{ffi(`{"type":"None"}`), `$ (tirx.PrimFunc): field "body" is null`},
		{ffi(`{"type":"tirx.Evaluate","data":{}}`), body(` (tirx.Evaluate): field "value" is missing`)},
		{ffi(`{"type":"tirx.Evaluate","data":{"value":9}}`),
			body(`.value (tirx.Evaluate): found 9, want the number of a node, 0 to 5`)},
		{ffi(`{"type":"tirx.Evaluate","data":{"value":true}}`), `found true, want the number of a node`},
		{ffi(`{"type":"tirx.SeqStmt","data":{"seq":3}}`), `$.body.seq (tirx.IntImm): want an array`},
		{ffi(`{"type":"tirx.Var","data":{"name":2,"dtype":"int32"}}`, `{"type":"tirx.Evaluate","data":{"value":4}}`),
			`$.body.value (tirx.Var): variable x is used outside of its scope`},
		{ffi(`{"type":"tirx.Add","data":{"a":4,"b":3}}`, `{"type":"tirx.Evaluate","data":{"value":4}}`),
			`(tirx.Add): node 4 contains itself`},
		{ffi(`{"type":"tirx.IntImm","data":{"dtype":"int8","value":300}}`,
			`{"type":"tirx.Evaluate","data":{"value":4}}`), `300 is outside of the range of type int8`},
		{ffi(`{"type":"tirx.IntImm","data":{"dtype":"int99x","value":3}}`,
			`{"type":"tirx.Evaluate","data":{"value":4}}`), `type "int99x"`},
		{ffi(`{"type":"tirx.FloatImm","data":{"dtype":"float32","value":"a"}}`,
			`{"type":"tirx.Evaluate","data":{"value":4}}`), `field "value" is "a", want a number`},
		{ffi(`{"type":"tirx.Prefetch","data":{}}`, `{"type":"tirx.Magic","data":{}}`,
			`{"type":"tirx.Evaluate","data":{"value":5}}`, `{"type":"ffi.Array","data":[4,6,4]}`,
			`{"type":"tirx.SeqStmt","data":{"seq":7}}`), `read TVM's JSON: not supported: node tirx.Prefetch at ` +
			`$.body.seq[0] (2 times); node tirx.Magic at $.body.seq[1].value`},
	} {
		_, err := tvmjson.Unmarshal([]byte(c.text))
		require.ErrorContains(t, err, c.want, c.text)
	}
}

// A chain of nodes, and one in which each node is used twice by the next, end with an error, not with the memory or
// the stack.
func TestUnmarshal_DeepAndShared(t *testing.T) {
	for want, next := range map[string]string{"nodes are nested more than": `{"a":%d,"b":3}`,
		"nodes are referred to, counting those that are shared each time": `{"a":%[1]d,"b":%[1]d}`} {
		nodes := []string{`{"type":"tirx.IntImm","data":{"dtype":"int32","value":1}}`}
		count := 60_000
		if strings.HasPrefix(want, "nodes are referred") {
			count = 100
		}
		for i := range count {
			nodes = append(nodes, `{"type":"tirx.Add","data":`+fmt.Sprintf(next, 4+i)+`}`)
		}
		_, err := tvmjson.Unmarshal([]byte(ffi(append(nodes,
			fmt.Sprintf(`{"type":"tirx.Evaluate","data":{"value":%d}}`, 4+count))...)))
		require.ErrorContains(t, err, want)
	}
}

// Every prefix of a file is an error.
func TestUnmarshal_Truncated(t *testing.T) {
	for name, text := range small(t) {
		for n := 0; n < len(text); n += max(1, len(text)/300) {
			require.Error(t, must.Fail(tvmjson.Unmarshal([]byte(text[:n]))), "%s to byte %d", name, n)
		}
	}
}

// small returns one short saved file of each version.
func small(t testing.TB) map[string]string {
	all := saved(t)
	out := map[string]string{}
	for name, text := range all {
		if strings.HasSuffix(name, "/two_functions.json") || strings.HasSuffix(name, "/gpu_threads_reduce.json") {
			out[name] = text
		}
	}
	require.Len(t, out, 6)
	return out
}

// A file in which one value is another one is an error or a program that is checked, never a panic.
func TestUnmarshal_Changed(t *testing.T) {
	rng := testseed.Rand(t)
	files := small(t)
	values := []any{nil, -1.0, 0.0, 1.0, 7.0, 1e18, "", "0", "3", "99999", "int64", "nan", true, []any{}, []any{2.0},
		map[string]any{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for range 400 {
			var tree map[string]any
			require.NoError(t, json.Unmarshal([]byte(files[name]), &tree))
			nodes := tree["nodes"].([]any)
			node := nodes[rng.IntN(len(nodes))].(map[string]any)
			at := node
			for _, inner := range []string{"data", "attrs"} {
				if fields, ok := node[inner].(map[string]any); ok && len(fields) > 0 && rng.IntN(4) > 0 {
					at = fields
				}
			}
			key := slices.Sorted(maps.Keys(at))[rng.IntN(len(at))]
			switch v := at[key].(type) {
			case float64:
				at[key] = float64(rng.IntN(len(nodes)))
			case string:
				if at[key] = fmt.Sprint(rng.IntN(len(nodes))); rng.IntN(2) == 0 {
					at[key] = values[rng.IntN(len(values))]
				}
			case []any:
				if len(v) > 0 {
					v[rng.IntN(len(v))] = float64(rng.IntN(len(nodes)))
				}
			default:
				at[key] = values[rng.IntN(len(values))]
			}
			if rng.IntN(8) == 0 {
				delete(at, key)
			}
			text := must.Get(json.Marshal(tree))(t)
			if m, err := tvmjson.Unmarshal(text); err == nil {
				_ = tir.Check(m)
			}
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	// short ones: the fuzzer would spend its time on making saved files shorter
	f.Add([]byte(ffi(`{"type":"tirx.Var","data":{"name":2,"dtype":"int32"}}`, `{"type":"ffi.Map","data":[]}`,
		`{"type":"tirx.Range","data":{"min":3,"extent":3}}`,
		`{"type":"tirx.IterVar","data":{"var":4,"dom":6,"iter_type":2,"thread_tag":2}}`,
		`{"type":"ffi.Array","data":[7]}`, `{"type":"ffi.Array","data":[3]}`,
		`{"type":"tirx.Add","data":{"a":4,"b":3}}`, `{"type":"tirx.Evaluate","data":{"value":10}}`,
		`{"type":"tirx.SBlock","data":{"iter_vars":8,"alloc_buffers":1,"match_buffers":1,"init":0,"body":11}}`,
		`{"type":"tirx.SBlockRealize","data":{"iter_values":9,"predicate":3,"block":12}}`,
		`{"type":"tirx.For","data":{"loop_var":4,"min":3,"extent":3,"kind":1,"body":13,"annotations":5}}`)))
	f.Add([]byte(`{"root":3,"nodes":[{"type_key":""},{"type_key":"Array"},` +
		`{"type_key":"tir.Evaluate","attrs":{"value":"4"}},` +
		`{"type_key":"tir.PrimFunc","attrs":{"params":"1","ret_type":"0","body":"2"}},` +
		`{"type_key":"IntImm","attrs":{"dtype":"int32","value":"1"}}]}`))
	f.Fuzz(func(_ *testing.T, text []byte) {
		tvmjson.IsTVM(text)
		if m, err := tvmjson.Unmarshal(text); err == nil {
			_ = tir.Check(m)
		}
	})
}
