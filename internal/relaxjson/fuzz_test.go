package relaxjson

import "testing"

func FuzzUnmarshal(f *testing.F) {
	// a short one: the fuzzer would spend its time on making saved files shorter
	f.Add([]byte(`{"root_index":7,"nodes":[{"type":"None"},{"type":"ffi.Array","data":[]},` +
		`{"type":"ffi.String","data":"f"},` +
		`{"type":"ir.GlobalVar","data":{"name_hint":2}},{"type":"relax.expr.SeqExpr","data":{"blocks":1,"body":5}},` +
		`{"type":"relax.expr.Tuple","data":{"fields":1}},{"type":"ffi.Map","data":[3,8]},` +
		`{"type":"ir.IRModule","data":{"functions":6}},` +
		`{"type":"relax.expr.Function","data":{"params":1,"body":4,"is_pure":true}}]}`))
	f.Fuzz(func(_ *testing.T, text []byte) { _, _ = Unmarshal(text) })
}
