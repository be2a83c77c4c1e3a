package pack_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/export/pack"
	"tvmgo/internal/testing/must"
)

// Signatures and their canonical forms; "" means that they are equal.
var signatures = []struct{ text, canonical string }{
	{"f()", ""},
	{" f ( ) ", "f()"},
	{"add(handle,handle,handle,int32) launch blockIdx.x,threadIdx.x", "add(handle, handle, handle, int32) launch " +
		"blockIdx.x, threadIdx.x"},
	{"add=add_f32(a: const float32[n, 64], b:out float32 [ _ ,n,], n: int32)", ""},
	{"add=add_f32(a: const float32[n, 64], b:out float32 [ _ ,n], n: int32)",
		"add=add_f32(a: const float32[n, 64], b: out float32[_, n], n: int32)"},
	{"same=same(aligned const float16[], inout strided handle, bool)", "same(const aligned float16[], inout strided " +
		"handle, bool)"},
	{"f(n: i32, float32x4[0]) launch threadIdx.z = (n+1)*2-(n-1), shared=n",
		"f(n: int32, float32x4[0]) launch threadIdx.z=(n+1)*2-(n-1), tirx.use_dyn_shared_memory=n"},
	{"f(a: int8[n,m]) launch blockIdx.x=((n)), blockIdx.y=n-(m-n)-m, blockIdx.z=n*(m/n)%2, threadIdx.y=ceildiv( n , " +
		"max(m,2) ) + min(1,2)",
		"f(a: int8[n, m]) launch blockIdx.x=n, blockIdx.y=n-(m-n)-m, blockIdx.z=n*(m/n)%2, threadIdx.y=ceildiv(n, max(m, " +
			"2))+min(1, 2)"},
	{"f(n: int32) launch blockIdx.x=n/1+(4-4)/n, blockIdx.y=0, threadIdx.x=4294967295, shared=ceildiv(7, 2)",
		"f(n: int32) launch blockIdx.x=n/1+(4-4)/n, blockIdx.y=0, threadIdx.x=4294967295, " +
			"tirx.use_dyn_shared_memory=ceildiv(7, 2)"},
	{"f(launch: handle, out: out handle, const: int32, const float32[const])",
		"f(launch: handle, out: out handle, const: int32, const float32[const])"},
}

func TestParseSignature(t *testing.T) {
	for i, c := range signatures {
		if i == 3 { // a comma too many
			_, err := pack.ParseSignature(c.text)
			require.ErrorContains(t, err, `expected a dimension (a number, a name, or _ for any), got "]"`)
			continue
		}
		sig, err := pack.ParseSignature(c.text)
		require.NoError(t, err, c.text)
		want := c.canonical
		if want == "" {
			want = c.text
		}
		require.Equal(t, want, sig.String())
		require.Equal(t, sig, must.Get(pack.ParseSignature(want))(t))
	}
}

// The mark is under the first wrong character.
func TestParseSignature_Errors(t *testing.T) {
	for _, c := range []struct{ text, mark, message string }{
		{"", "^", "expected the name of the function, got the end"},
		{"3f()", "^", `"3f" can't be the name of the function: a C identifier does not begin with a digit`},
		{"a-b()", " ^", `expected "(" and the parameters, got "-"`},
		{"a.b()", "^", "letters, digits and _ alone"},
		{"für()", " ^", `'ü' has no meaning here`},
		{"for()", "^", `"for" can't be the name of the function: it is a word of C`},
		{"f=double()", "  ^", `"double" can't be the name of the kernel: it is a word of C`},
		{"__f()", "^", "names that begin so are the runtime's"},
		{"_metadata_f()", "^", "names that begin so are the runtime's"},
		{"tvmgo_cpu_f()", "^", "names that begin so are the runtime's"},
		{"f", " ^", `expected "(" and the parameters, got the end`},
		{"f(int32", "       ^", `expected "," or ")" after a parameter, got the end`},
		{"f(int32,)", "        ^", `expected the type of a parameter, got ")"`},
		{"f(int32 int32)", "        ^", `expected "," or ")" after a parameter, got "int32"`},
		{"f(double)", "  ^", `types are written as in NumPy`},
		{"f(hndle)", "  ^", `"hndle" is no type: write handle, or one such as float32 or int64`},
		{"f(n int32)", "  ^", `if it is a name, put a colon behind it`},
		{"f(float16)", "  ^", "a scalar can't be float16"},
		{"f(int32x2)", "  ^", "a scalar can't be int32x2"},
		{"f(handle64)", "  ^", "is no type"},
		{"f(float33[n])", "  ^", `"float33" is no type`},
		{"f(int23[n])", "  ^", `"int23" is no type`},
		{"f(bfloat32[n])", "  ^", `"bfloat32" is no type`},
		{"f(handle[2])", "        ^", "a handle is a tensor of any shape"},
		{"f(a: int32, a: int32)", "            ^", `there are two parameters "a"`},
		{"f(a.b: int32)", "  ^", "can't be the name of a parameter"},
		{"f(min: int32)", "  ^", "it is a function of expressions"},
		{"f(_: int32)", "  ^", "_ stands for any dimension"},
		{"f(out int32)", "  ^", `only a tensor can be "out"`},
		{"f(out out handle)", "      ^", `"out" occurs twice`},
		{"f(const out handle)", "        ^", "one of const, out and inout"},
		{"f(float32[n)", "           ^", `expected "," or "]" after a dimension, got ")"`},
		{"f(float32[-1])", "          ^", "expected a dimension"},
		{"f(float32[2n])", "          ^", `"2n" is no integer`},
		{"f(float32[99999999999999999999])", "          ^", "is no integer of 64 bits"},
		{"f(float32[x], x: float32)", "          ^", `"x" is a parameter that is no integer`},
		{"f(a: float32[max])", "             ^", "can't be the name of a dimension"},
		{"f() launch", "          ^", "expected a launch parameter, got the end"},
		{"f() lunch blockIdx.x", "    ^", `expected "launch" or the end, got "lunch"`},
		{"f() launch blockIdx.w", "           ^", `"blockIdx.w" is no launch parameter: they are blockIdx.x`},
		{"f() launch vthread", "           ^", "is no launch parameter"},
		{"f() launch blockIdx.x, blockIdx.x", "                       ^", "blockIdx.x occurs twice"},
		{"f() launch shared, blockIdx.x", "                   ^", "must be the last"},
		{"f() launch blockIdx.x 3", "                      ^", `expected "=", "," or the end`},
		{"f(n: int32) launch blockIdx.x=m", "                              ^",
			`"m" is neither an integer parameter nor a dimension of a tensor; there is: n`},
		{"f(handle) launch blockIdx.x=m", "                            ^", "there are none; give dimensions names"},
		{"f(n: float32) launch blockIdx.x=n", "                                ^", `"n" is neither`},
		{"f() launch blockIdx.x=1+", "                        ^", "expected a number, a name or (, got the end"},
		{"f() launch blockIdx.x=(1", "                        ^", `expected ")" after the expression, got the end`},
		{"f() launch blockIdx.x=max(1)", "                           ^", `expected "," in max(a, b), got ")"`},
		{"f() launch blockIdx.x=1 + + 2", "                          ^", "expected a number"},
		{"f(n: int32) launch blockIdx.x=n/0", "                                ^",
			"n/0 divides by zero whenever the function is called"},
		{"f(n: int32) launch blockIdx.x=n%(2-2)+1", "                                ^", "n%(2-2) divides by zero"},
		{"f(n: int32) launch blockIdx.x=1+ceildiv(n, 0*n)", "                                           ^",
			"ceildiv(n, 0*n) divides by zero"},
		{"f() launch blockIdx.x=1+4/0", "                          ^", "4/0 divides by zero"},
		{"f() launch blockIdx.x=9223372036854775807+1", "                                          ^",
			"does not fit 64 bits"},
		{"f() launch blockIdx.x=1-2", "                      ^",
			"blockIdx.x is always -1: an extent is from 0 to 4294967295"},
		{"f() launch blockIdx.x=4294967296", "                      ^", "is always 4294967296"},
		{"f() launch blockIdx.x=1;", "                       ^", "has no meaning here"},
		{"f() launch blockIdx.x=" + strings.Repeat("(", 1000), strings.Repeat(" ", 87) + "^", "nests too deep"},
	} {
		_, err := pack.ParseSignature(c.text)
		var bad *pack.SignatureError
		require.ErrorAs(t, err, &bad, c.text)
		require.Contains(t, bad.Message, c.message, c.text)
		lines := strings.Split(err.Error(), "\n")
		require.Equal(t, "  "+c.text, lines[1])
		require.Equal(t, "  "+c.mark, lines[2], c.text)
	}
}

func FuzzParseSignature(f *testing.F) {
	for _, c := range signatures {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sig, err := pack.ParseSignature(text)
		if err != nil {
			var bad *pack.SignatureError
			require.ErrorAs(t, err, &bad)
			require.GreaterOrEqual(t, bad.Column, 1)
			return
		}
		again, err := pack.ParseSignature(sig.String())
		require.NoError(t, err, "%q became %q", text, sig)
		require.Equal(t, sig, again)
	})
}
