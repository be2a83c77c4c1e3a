package arith

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/tir"
)

// The variables of the table: i in [0, 16), j in [0, 8), k in [0, 4), x in [-20, 20], y and z in [-10, 10], n and m in
// [1, 12], r in [0, n), s in [0, min(8, n)), e in [3, 3], d in [8, 16), all of int32; l and w in [-20, 20] of int64;
// the others have all values of their types: u (uint8), v (uint32), b (uint64), h (int8), p and q (bool), f and g
// (float32). A[i] is an int32 with the value 3*i + 1.
var tableRanges = []struct {
	name        string
	low, extent string
}{{"i", "0", "16"}, {"j", "0", "8"}, {"k", "0", "4"}, {"x", "-20", "41"}, {"y", "-10", "21"}, {"z", "-10", "21"}, {"n",
	"1", "12"}, {"m", "1", "12"},
	{"r", "0", "n"}, {"s", "0", "min(8, n)"}, {"e", "3", "1"}, {"d", "8", "8"}, {"l", "cint64(-20)", "cint64(41)"}, {"w",
		"cint64(-20)", "cint64(41)"}}

// simplifications has rows of an expression, its simplified form, and, after "if", the conditions that hold.
const simplifications = `
# sums
1 + 2 => 3
i + 0 => i
0 + i => i
i - 0 => i
i*1 => i
1*i => i
i*0 => 0
i - i => 0
i + i => i*2
i + j - i => j
2*i + 3*i => i*5
(i + 1) + 2 => i + 3
(i + 1)*8 => i*8 + 8
(i*8 + j)*16 => i*128 + j*16
(i*8 + j)*16 + (i*8 + j) => i*136 + j*17
0 - x => x*-1
3 - (x + 3) => x*-1
8 - x - 3 => 5 - x
x - y - x => y*-1
(x + 5) - 8 => x - 3
x*2*3 => x*6
2*(x - 1) + 2 => x*2
x*y - y*x => 0
(x + y)*n => n*(x + y)
(x + y)*n - x*n - y*n => 0
(x*2)*(y*3) => x*y*6
(i*8 + j)*n - i*n*8 => j*n
e + i => i + 3
i*e => i*3
int64(i) + int64(i) => int64(i)*2
l + l*3 - 2 => l*4 - 2
# floordiv and floormod by constants
i//1 => i
x%%1 => 0
7//2 => 3
-7//2 => -4
-7%%2 => 1
7//-2 => -4
7%%-2 => -1
(i*8 + j)//8 => i
(i*8 + j)%%8 => j
(i*8 + j)//4 => i*2 + j//4
(i*8 + j)%%4 => j%%4
(i*6 + j)//3 => i*2 + j//3
(i*6 + j)%%3 => j%%3
(i*8 + j)//16 => i//2
(i*8 + j)%%16 => (i%%2)*8 + j
(i*32 + j*4 + k)//4 => i*8 + j
(i*32 + j*4 + k)//32 => i
(i*32 + j*4 + k)%%32 => j*4 + k
(i*32 + j*4 + k)//64 => i//2
((i*32 + j*4 + k)//4)%%8 => j
((i*32 + j*4 + k)%%32)//4 => j
(i*8 + j)//128 => 0
(i*8 + j)%%128 => i*8 + j
(x*4 + 5)//4 => x + 1
(x*4 + 5)%%4 => 1
(x*4 + k - 4)//4 => x - 1
(x*4 + k - 4)%%4 => k
x*6//4 => x*3//2
x*6%%4 => (x*3%%2)*2
(x*4 + 2)//8 => x//2
(x*4 + 2)%%8 => (x%%2)*4 + 2
(x*2 + 1)%%2 => 1
x//4//5 => x//20
(x//4 + 3)//5 => (x + 12)//20
(x//n//6*6 + x//n%%6)*n + x%%n => x
(x//n//m*m + x//n%%m)*n + x%%n => x
((x//3)%%3)*3 + x%%3 => x%%9
((x + 16)//3%%3)*3 + (x + 16)%%3 => (x + 7)%%9
(x + 16)//9*9 + ((x + 16)//3%%3)*3 + (x + 16)%%3 => x + 16
((x//3 + 1)%%3)*3 + (x + 1)%%3 => (x//3 + 1)%%3*3 + (x + 1)%%3
(x//4)//(-5) => ((x//4)*-1)//5
(x%%12)//4 => (x//4)%%3
(x%%12)%%4 => x%%4
(x%%8 + y)%%4 => (x + y)%%4
(x%%4*3 + y)%%12 => (x*3 + y)%%12
(i + 16)//16 => 1
(i + 16)%%16 => i
(i - 16)//16 => -1
(i - 16)%%16 => i
j//8 => 0
j%%8 => j
x//(-4) => (x*-1)//4
x%%(-4) => ((x*-1)%%4)*-1
x//(-1) => x*-1
(x*8 + d)//16 => (x + 1)//2
(x*8 + d)%%16 => ((x + 1)%%2)*8 + d - 8
(7 - j)//8 => 0
(7 - j)%%8 => 7 - j
(i*8 - j)%%8 => (j*-1)%%8
(i*8 + j + 8)//16 => (i + 1)//2
(i*8 + j + 8)%%16 => ((i + 1)%%2)*8 + j
# put together
(x//4)*4 + x%%4 => x
x%%4 + 4*(x//4) => x
(x//4)*8 + (x%%4)*2 => x*2
((x + 3)//4)*4 + (x + 3)%%4 => x + 3
((x + 5)//4)*4 + (x + 5)%%4 => x + 5
(x*2//8)*8 + x*2%%8 => x*2
((x//8)%%8)*8 + x%%8 => x%%64
(x//64)*64 + ((x//8)%%8)*8 + x%%8 => x
x - (x//4)*4 => x%%4
x - x%%4 => (x//4)*4
x + 3 - (x + 3)%%4 => ((x + 3)//4)*4
y + x - (x//4)*4 => y + x%%4
x*2 - (x//4)*8 => (x%%4)*2
(x//n)*n + x%%n => x
x%%n*4 + (x//n)*n*4 => x*4
(x//(n*2))*n*2 + x%%(n*2) => x
# remainders that are known
(n//8)*8 => n if n%%8 == 0
n%%8 => 0 if n%%8 == 0
n%%4 => 0 if n%%8 == 0
(n*2)%%16 => 0 if n%%8 == 0
(n + 3)%%8 => 3 if n%%8 == 0
(x//4)*4 => x - 1 if x%%4 == 1
x%%2 => 1 if x%%4 == 3
x%%4 => 0 if x%4 == 0
# divisors that are no constants
n//n => 1
n%%n => 0
(i*n + r)//n => i
(i*n + r)%%n => r
((i*8 + j)*n + r)//n => i*8 + j
((i*8 + j)*n + r)%%n => r
(i*n + x)//n => i + x//n
(i*n + x)%%n => x%%n
r//n => 0
r%%n => r
(i*n*4 + r)//(n*4) => i
(i*n*4 + r*4 + k)//(n*4) => i
(i*n*4 + r*4 + k)%%(n*4) => r*4 + k
(i*(n + 1) + r)//(n + 1) => i
# rounding towards zero
7/2 => 3
-7/2 => -3
-7%2 => -1
i/4 => i//4
i%4 => i%%4
(i*8 + j)/8 => i
(i*8 + j)%8 => j
x/4 => x/4
x%4 => x%4
x*4/4 => x
(x*8 + y*4)/4 => x*2 + y
x*4%4 => 0
x/1 => x
x%1 => 0
# comparisons
i < 16 => true
i >= 0 => true
i*8 + j < 128 => true
likely(i*8 + j < 128) => true
likely(i*8 + j < n) => likely(i*8 + j < n)
i*8 + j < 8 => i < 1
i*8 + j < n*8 => i < n
i*8 + j < 9 => i*8 + j < 9
i*8 + j >= 120 => i >= 15
i*8 + j > 127 => false
i + 1 <= i => false
i < i + 1 => true
x + 1 < y + 1 => x < y
x - 1 < y => x <= y
x <= y - 1 => x < y
x <= 0 => x < 1
x*2 < y*2 => x < y
x*2 < 7 => x < 4
x*2 == 7 => false
x*2 != y*2 + 1 => true
x*2 == y*4 => x == y*2
0 == x => x == 0
x == y - y => x == 0
3 > x => x < 3
x > 3 => x >= 4
y < x => y < x
x > y => y < x
x - y < 0 => x < y
n - i > 0 => i < n
!(x < y) => y <= x
x == x => true
x != x => false
r < n => true
r*4 + k < n*4 => true
s < n => true
s < 8 => true
s*4 + k < 32 => true
i*n + r < 16*n => true
i*n + r < n*m => i*n + r < n*m
i*n + r < n*m => true if i < m
x//4 < 3 => x < 12
x//4 >= 2 => x >= 8
x//4 <= y//4 => x//4 <= y//4
x//4*4 <= x => true
x - x//4*4 < 4 => true
x%%4 < 4 => true
x%%n < n => true
x%%4 == 5 => false
min(x, y) <= x => true
max(x, y) >= y => true
min(8, n - i*8) <= 8 => true
i*8 + s < n + i*8 => true
i < 12 => true if i < 10
i < 10 => true if i < 10
i > 9 => false if i < 10
i == 3 => true if i == 3
j + i*8 < n => true if i*8 + j < n
i*8 < n => true if i*8 + j < n
i*8 + k < n => true if i*8 + j < n && k <= j
x < z => true if x < y && y < z
int64(i)*8 + int64(j) < cint64(128) => true
int64(i*8 + j) == int64(i)*8 + int64(j) => true
u < cuint8(0) => false
u >= cuint8(0) => true
v + cuint32(1) > v => v + cuint32(1) > v
h + cint8(1) > h => h + cint8(1) > h
f < f => false
f == f => f == f
!(f < g) => !(f < g)
p == true => p
p == false => !p
p != q => p != q
# min and max
min(i, 16) => i
max(i, 0) => i
min(3, 4) => 3
max(i, i) => i
min(x, x + 1) => x
max(x + 3, x - 2) => x + 3
min(min(x, 5), 3) => min(x, 3)
max(max(x, 5), 3) => max(x, 5)
min(min(x, y), x) => min(x, y)
min(min(x, y), max(x, y)) => min(x, y)
min(min(x, y), min(y, z)) => min(min(x, y), z)
min(x + y, x + z) => x + min(y, z)
min(x*8, y*8) => min(x, y)*8
min(x*8, 64) => x*8 if x < 9
min(x*8, 64) => min(x, 8)*8
min(y*8, 16) => min(y, 2)*8
min(i*8 + 8, n) - i*8 => min(8, n - i*8)
max(n - i*8, 0) + i*8 => max(n, i*8)
min(8, 128 - i*8) => 8
min(8, n - i*8) => 8 if i*8 + 8 <= n
min(n*8, i*8 + 8) => i*8 + 8 if i < n
min(max(x, 0), 15) => min(max(x, 0), 15)
max(min(x, 15), 40) => 40
min(u, cuint8(255)) => u
# conditions
p && true => p
true && p => p
p && false => false
p || true => true
p || false => p
p && p => p
p && !p => false
p || !p => true
!!p => p
!(p && q) => !p || !q
!(p || q) => !p && !q
!true => false
i < 4 && i < 8 => i < 4
i < 8 && i < 4 => i < 4
i < 4 || i < 8 => i < 8
x < 4 && x > 6 => false
x < 4 || x >= 4 => true
i < 16 && p => p
0 <= i*8 + j && i*8 + j < n => i*8 + j < n
p && (q && p) => q && p
p && A[0] == 1 => p && A[0] == 1
x != 0 && (10//x > 2 && x != 0) => x != 0 && 10//x >= 3
p => true if p
p => false if !p
p || q => true if p
# choices
select(true, x, y) => x
select(1 < 0, x, y) => y
select(p, x, x) => x
select(p, x + 1, 1 + x) => x + 1
select(!p, x, y) => select(p, y, x)
select(i < 16, A[i], 0) => A[i]
select(p, true, false) => p
select(p, false, true) => !p
select(i < 4, min(i, 4), 7) => select(i < 4, i, 7)
select(i < 4, A[min(i, 4)], 7) => select(i < 4, A[min(i, 4)], 7)
select(x > 0, y//max(x, 1), 0) => select(x >= 1, y//max(x, 1), 0)
if_then_else(i < 4, A[min(i, 4)], 7) => if_then_else(i < 4, A[i], 7)
if_then_else(x > 0, y//max(x, 1), 0) => if_then_else(x >= 1, y//x, 0)
if_then_else(i < 16, A[i], 0) => A[i]
if_then_else(p, x, x) => x
likely(true) => true
likely(likely(p)) => likely(p)
# casts
int64(int64(i)) => int64(i)
int32(int64(i)) => i
int64(cint32(5)) => cint64(5)
int64(int32(h)) => int64(h)
int32(uint8(i)) => i
int32(uint8(x)) => int32(uint8(x))
uint8(300) => uint8(300)
float32(3) => 3f
int32(2.5f) => 2
int32(-2.5f) => -2
float32(16777217) => float32(16777217)
float64(f) => float64(f)
bool(3) => true
bool(x) => x != 0
bool(e) => true
# what wraps, and floats
u + cuint8(0) => u
u*cuint8(1) => u
u - u => cuint8(0)
u*cuint8(0) => cuint8(0)
cuint8(200) + cuint8(100) => cuint8(200) + cuint8(100)
cuint8(2) + cuint8(3) => cuint8(5)
cuint8(3) - cuint8(5) => cuint8(3) - cuint8(5)
(u + cuint8(3)) - cuint8(3) => (u + cuint8(3)) - cuint8(3)
u//cuint8(1) => u
uint32(u)//cuint32(256) => cuint32(0)
v%cuint32(1) => cuint32(0)
(v%cuint32(4))//cuint32(4) => cuint32(0)
(v%cuint32(4))%cuint32(8) => v%cuint32(4)
2147483647 + 1 => 2147483647 + 1
x*100000*100000 => x*100000*100000
f*1f => f
1f*f => f
f/1f => f
f - 0f => f
f + 0f => f + 0f
f - f => f - f
f*0f => f*0f
(f + g) - g => (f + g) - g
1f + 2f => 3f
1f/0f => 1f/0f
0.1f + 0.2f => 0.3f
1f < 2f => true
min(f, f) => f
min(1f, 2f) => 1f
max(1f, 2f) => 2f
# let, memory, calls
let(t, 3, t + i) => i + 3
let(t, i, t*8 + t) => i*9
let(t, x*y, 5) => 5
let(t, A[0], t + t) => let(t, A[0], t*2)
let(t, i*8, t < 128) => true
let(t, i*8 + j, t//8) => let(t, i*8 + j, t//8)
A[i + 0] => A[i]
A[(i*8 + j)//8] => A[i]
A[i] - A[i] => 0
A[i] + A[i] => A[i]*2
extern(i + 0) - extern(i + 0) => extern(i) - extern(i)
extern(0)*0 => extern(0)*0
isnan(1f) => false
isfinite(1f) => true
isinf(1f) => false
bitwise_and(12, 10) => 8
bitwise_or(12, 10) => 14
bitwise_xor(12, 10) => 6
shift_left(3, 4) => 48
shift_right(48, 4) => 3
popcount(7) => 3
abs(5) => 5
bitwise_and(x, 7) < 8 => true
bitwise_xor(bitwise_and(x, 7), bitwise_and(y, 4)) < 8 => true
bitwise_or(bitwise_and(x, 7), bitwise_and(y, 15)) < 16 => true
abs(x) <= 20 => true
# vectors
ramp(i, 0, 4) => broadcast(i, 4)
ramp(i, 1, 1) => i
ramp(i, 1, 4) + broadcast(j, 4) => ramp(i + j, 1, 4)
ramp(i, 1, 4) + ramp(j, 2, 4) => ramp(i + j, 3, 4)
ramp(i, 1, 4) - broadcast(i, 4) => ramp(0, 1, 4)
ramp(i, 1, 4)*broadcast(8, 4) => ramp(i*8, 8, 4)
broadcast(8, 4)*ramp(i, 1, 4) => ramp(i*8, 8, 4)
broadcast(i, 4)*broadcast(8, 4) => broadcast(i*8, 4)
broadcast(i*8 + j, 4)//broadcast(8, 4) => broadcast(i, 4)
ramp(i*8, 8, 4)//broadcast(8, 4) => ramp(i, 1, 4)
ramp(i*8, 8, 4)%%broadcast(8, 4) => broadcast(0, 4)
ramp(i*4, 1, 4)//broadcast(4, 4) => broadcast(i, 4)
ramp(i*4, 1, 4)%%broadcast(4, 4) => ramp(0, 1, 4)
ramp(i*4, 1, 4)/broadcast(4, 4) => broadcast(i, 4)
ramp(i*4, 1, 4)%broadcast(4, 4) => ramp(0, 1, 4)
ramp(i, 1, 4)//broadcast(4, 4) => ramp(i, 1, 4)//broadcast(4, 4)
ramp(i, 1, 4) < broadcast(19, 4) => broadcast(true, 4)
ramp(i, 1, 4) < broadcast(18, 4) => ramp(i, 1, 4) < broadcast(18, 4)
ramp(i, 1, 4) >= broadcast(30, 4) => broadcast(false, 4)
ramp(i*4, 1, 4) < broadcast(n*4, 4) => broadcast(true, 4) if i < n
min(ramp(i, 1, 4), broadcast(20, 4)) => ramp(i, 1, 4)
max(ramp(i, 1, 4), broadcast(20, 4)) => broadcast(20, 4)
int64(ramp(i, 1, 4)) => ramp(int64(i), cint64(1), 4)
float32(broadcast(i, 4)) => broadcast(float32(i), 4)
!broadcast(p, 4) => broadcast(!p, 4)
broadcast(2, 4) + broadcast(3, 4) => broadcast(5, 4)
select(broadcast(true, 4), ramp(i, 1, 4), ramp(j, 1, 4)) => ramp(i, 1, 4)
broadcast(f, 4)*broadcast(1f, 4) => broadcast(f, 4)
# lowered schedules
((i*8 + j)//8)*8 + (i*8 + j)%%8 => i*8 + j
((i*8 + j)*32 + k)//32*32 + ((i*8 + j)*32 + k)%%32 => i*256 + j*32 + k
(i*128 + j*16 + k)//16%%8 => j
((i*4 + k)//4*8 + j)//8 => i
likely(i*4 + k < 64) && likely(j*4 + k < 32) => true
likely(i*4 + k < n) && likely(j*4 + k < 32) => likely(i*4 + k < n)
(n + 7)//8*8 >= n => true
i*8 < n => true if i < (n + 7)//8
i*8 + 8 <= n => true if i < n//8
min(8, n - i*8) > 0 => true if i < (n + 7)//8
(i*8 + j)%%8*16 + (i*8 + j)//8 => j*16 + i
((i + 1)//1)*1 + (i + 1)%%1 => i + 1
(i*16 + j*2 + 1)//2 => i*8 + j
(i*16 + j*2 + 1)%%2 => 1
(i*n + r)//n*n + (i*n + r)%%n => i*n + r
`

func tableAnalyzer(r *reader) *Analyzer {
	a := newCounted()
	for _, v := range tableRanges {
		a.Bind(r.variable(v.name), r.read(v.low), r.read(v.extent))
	}
	return a
}

// tableValues returns random values of the variables.
func tableValues(t *testing.T, r *reader, rng *rand.Rand) evaluation {
	v := evaluation{values: map[*tir.Var]int64{}, strict: true, memory: func(_ *tir.Buffer, at []int64) int64 {
		return 3*at[0] + 1
	}}
	number := func(s string) int64 {
		x := must.Get(v.run(r.read(s)))(t)
		return x[0]
	}
	for _, x := range tableRanges {
		low := number(x.low)
		v.values[r.variable(x.name)] = low + rng.Int64N(number(x.extent))
	}
	for _, x := range r.vars {
		if _, done := v.values[x]; done || tir.IsFloat(x.Type) {
			continue
		}
		full := typeRange(x.Type)
		v.values[x] = full.lo + int64(rng.Uint64()%uint64(full.hi-full.lo+1))
	}
	return v
}

func TestSimplify_Table(t *testing.T) {
	rows := 0
	for _, line := range strings.Split(simplifications, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		rows++
		t.Run(line, func(t *testing.T) {
			from, to, ok := strings.Cut(line, " => ")
			require.True(t, ok)
			to, known, conditional := strings.Cut(to, " if ")
			r := newReader(t)
			a := tableAnalyzer(r)
			e, want := r.read(from), r.read(to)
			var cond tir.Expr = tir.BoolConst(true)
			if conditional {
				cond = r.read(known)
			}
			var got tir.Expr
			a.With(cond, func() {
				got = a.Simplify(e)
				require.Equal(t, textOf(got), textOf(a.Simplify(got)), "simplified again")
			})
			require.Equal(t, textOf(want), textOf(got))
			require.Equal(t, e.DType(), got.DType())
			if hasFloats(e) || a.info(e).flags&hasEffect != 0 {
				return
			}
			rng, met := rand.New(rand.NewPCG(1, 2)), 0
			for range 400 {
				v := tableValues(t, r, rng)
				if c, err := v.run(cond); err != nil || c[0] == 0 {
					continue
				}
				x, err := v.run(e)
				if err != nil {
					continue
				}
				met++
				require.Equal(t, x, must.Get(v.run(got))(t), describe(v.values))
			}
			if from != "2147483647 + 1" { // it overflows
				require.Positive(t, met, "no values could be compared")
			}
		})
	}
	require.GreaterOrEqual(t, rows, 150)
}

func hasFloats(e tir.Expr) bool {
	found := false
	tir.Walk(e, func(n any) bool {
		if x, ok := n.(tir.Expr); ok {
			found = found || tir.IsFloat(x.DType())
		}
		return !found
	})
	return found
}
