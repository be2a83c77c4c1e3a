package transform_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

// head declares the parameters and buffers of the cases.
const head = `func f(a: handle, b: handle, c: handle, d: handle, x: handle, n: int32) {
  buffer A: float32[64], param a
  buffer B: float32[64], param b
  buffer C: float32[8, 8], param c
  buffer D: int8[64], param d
  buffer X: int32[64], param x
`

// function parses a body.
func function(t *testing.T, body string) *tir.IRModule {
	t.Helper()
	m, err := text.Parse(head + body + "\n}")
	require.NoError(t, err, body)
	require.NoError(t, tir.Check(m), body)
	return m
}

// became returns the body after a pass.
func became(t *testing.T, pass transform.Pass, body string) string {
	t.Helper()
	m := must.Get(pass(function(t, body), nil))(t)
	require.NoError(t, tir.Check(m), "%s", text.Print(m))
	all := strings.Split(strings.TrimSpace(text.Print(m)), "\n")
	for i, line := range all {
		if strings.HasPrefix(line, "  buffer X") {
			all = all[i+1 : len(all)-1]
			break
		}
	}
	return strings.TrimSpace(dedent(all))
}

func dedent(lines []string) string {
	var out []string
	for _, l := range lines {
		out = append(out, strings.TrimPrefix(l, "  "))
	}
	return strings.Join(out, "\n")
}

type passCase struct{ name, body, want string }

func check(t *testing.T, pass transform.Pass, cases []passCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, strings.TrimSpace(c.want), became(t, pass, c.body))
		})
	}
}

// Loops of kind vectorized.
func TestVectorize_Cases(t *testing.T) {
	check(t, transform.Vectorize, []passCase{
		{"neighbours", `
vectorized i in range(8) {
  A[i] = B[i] + 1.0
}`, `
A[ramp(0, 1, 8)] = B[ramp(0, 1, 8)] + broadcast(1.0, 8)`},
		{"strides", `
vectorized i in range(8) {
  A[n + i * 2] = B[63 - i]
}`, `
A[ramp(n, 2, 8)] = B[ramp(63, -1, 8)]`},
		{"a column is loaded lane by lane", `
vectorized i in range(4) {
  A[i] = C[i, 3]
}`, `
A[ramp(0, 1, 4)] = shuffle([C[0, 3], C[1, 3], C[2, 3], C[3, 3]], [0, 1, 2, 3])`},
		{"a column is stored iteration by iteration, and its neighbour as a vector", `
vectorized i in range(4) {
  C[i, 3] = A[i]
  B[i] = A[i]
}`, `
for i in range(4) {
  C[i, 3] = A[i]
}
B[ramp(0, 1, 4)] = A[ramp(0, 1, 4)]`},
		{"products with a value that is equal in all lanes", `
vectorized i in range(2, count=8) {
  X[i] = n * i + i * n
}`, `
X[ramp(2, 1, 8)] = ramp(n * 2 + 2 * n, n + n, 8)`},
		{"what the first iteration stores the last one loads", `
vectorized i in range(8) {
  A[i + 7] = A[i] + B[i]
}`, `
for i in range(8) {
  A[i + 7] = A[i] + B[i]
}`},
		{"what the last iteration stores the first one loads, two elements a step", `
vectorized i in range(8) {
  A[14 - i * 2] = A[28 - i * 2] + B[i]
}`, `
for i in range(8) {
  A[14 - i * 2] = A[28 - i * 2] + B[i]
}`},
		{"what the first iteration loads the last one stores", `
vectorized i in range(8) {
  A[i] = B[i]
  B[i + 8] = A[i + 7]
}`, `
for i in range(8) {
  A[i] = B[i]
  B[i + 8] = A[i + 7]
}`},
		{"what no iteration of this loop loads", `
vectorized i in range(8) {
  A[i + 8] = A[i] + B[i]
}`, `
A[ramp(8, 1, 8)] = A[ramp(0, 1, 8)] + B[ramp(0, 1, 8)]`},
		{"indices from memory, of stores", `
vectorized i in range(8) {
  A[X[i]] = B[i]
}`, `
A[X[ramp(0, 1, 8)]] = B[ramp(0, 1, 8)]`},
		{"indices from memory, of loads", `
vectorized i in range(8) {
  A[i] = B[X[i]]
}`, `
A[ramp(0, 1, 8)] = B[X[ramp(0, 1, 8)]]`},
		{"elements that are read and written", `
vectorized i in range(8) {
  A[X[i]] = A[X[i]] + B[i]
}`, `
for i in range(8) {
  A[X[i]] = A[X[i]] + B[i]
}`},
		{"types of several widths", `
vectorized i in range(32) {
  X[i] = cast(int32, D[i]) * i
}`, `
X[ramp(0, 1, 16)] = cast(int32x16, D[ramp(0, 1, 16)]) * ramp(0, 1, 16)
X[ramp(16, 1, 16)] = cast(int32x16, D[ramp(16, 1, 16)]) * ramp(16, 1, 16)`},
		{"a let", `
vectorized i in range(8) {
  let y = B[i] * 2.0 {
    A[i] = y * y
  }
}`, `
let y = B[ramp(0, 1, 8)] * broadcast(2.0, 8)
A[ramp(0, 1, 8)] = y * y`},
		{"a let that a serial statement needs", `
vectorized i in range(4) {
  let y = B[i] {
    C[i, 0] = y
  }
  A[i] = 1.0
}`, `
for i in range(4) {
  let y = B[i]
  C[i, 0] = y
}
A[ramp(0, 1, 4)] = broadcast(1.0, 4)`},
		{"a let of an index", `
vectorized i in range(4) {
  let j = i + 4 {
    A[j] = A[j] + 1.0
  }
}`, `
A[ramp(4, 1, 4)] = A[ramp(4, 1, 4)] + broadcast(1.0, 4)`},
		{"a select", `
vectorized i in range(8) {
  A[i] = select(i < n, B[i], 0.0)
}`, `
A[ramp(0, 1, 8)] = select(ramp(0, 1, 8) < broadcast(n, 8), B[ramp(0, 1, 8)], broadcast(0.0, 8))`},
		{"a selection of values that may be read", `
vectorized i in range(8) {
  A[i] = if_then_else(i < n, B[i], 0.0)
}`, `
A[ramp(0, 1, 8)] = if_then_else(ramp(0, 1, 8) < broadcast(n, 8), B[ramp(0, 1, 8)], broadcast(0.0, 8))`},
		{"a selection of values that cannot fail", `
vectorized i in range(8) {
  A[i] = if_then_else(i < n, 1.0, 0.0)
}`, `
A[ramp(0, 1, 8)] = select(ramp(0, 1, 8) < broadcast(n, 8), broadcast(1.0, 8), broadcast(0.0, 8))`},
		{"a condition of all lanes", `
vectorized i in range(8) {
  if n < 3 {
    A[i] = 1.0
  }
}`, `
if n < 3 {
  A[ramp(0, 1, 8)] = broadcast(1.0, 8)
}`},
		{"a condition that differs", `
vectorized i in range(8) {
  if n < 3 && i < 5 {
    A[i] = 1.0
  }
  B[i] = 2.0
}`, `
if n < 3 {
  for i in range(8) {
    if i < 5 {
      A[i] = 1.0
    }
  }
}
B[ramp(0, 1, 8)] = broadcast(2.0, 8)`},
		{"a condition that differs, and other statements", `
vectorized i in range(8) {
  if n < 3 && i < 5 {
    A[i] = 1.0
  } else {
    A[i] = 2.0
  }
  B[i] = 2.0
}`, `
for i in range(8) {
  if n < 3 && i < 5 {
    A[i] = 1.0
  } else {
    A[i] = 2.0
  }
}
B[ramp(0, 1, 8)] = broadcast(2.0, 8)`},
		{"a condition that must not be computed in all lanes", `
vectorized i in range(8) {
  A[i] = select(i < n && B[i] < 0.0, 1.0, 0.0)
}`, `
A[ramp(0, 1, 8)] = select(if_then_else(ramp(0, 1, 8) < broadcast(n, 8), ` +
			`B[ramp(0, 1, 8)] < broadcast(0.0, 8), broadcast(false, 8)), broadcast(1.0, 8), broadcast(0.0, 8))`},
		{"one that may be left out in some lanes", `
vectorized i in range(8) {
  A[i] = select(i < n || B[i] < 0.0, 1.0, 0.0)
}`, `
A[ramp(0, 1, 8)] = select(if_then_else(ramp(0, 1, 8) < broadcast(n, 8), broadcast(true, 8), ` +
			`B[ramp(0, 1, 8)] < broadcast(0.0, 8)), broadcast(1.0, 8), broadcast(0.0, 8))`},
		{"a sum", `
vectorized i in range(8) {
  for k in range(4) {
    A[i] = A[i] + B[k * 8 + i]
  }
}`, `
for k in range(4) {
  A[ramp(0, 1, 8)] = A[ramp(0, 1, 8)] + B[ramp(k * 8, 1, 8)]
}`},
		{"a loop whose extent differs", `
vectorized i in range(8) {
  for k in range(i) {
    A[i] = A[i] + B[k]
  }
  D[i] = int8(1)
}`, `
for i in range(8) {
  for k in range(i) {
    A[i] = A[i] + B[k]
  }
}
D[ramp(0, 1, 8)] = broadcast(int8(1), 8)`},
		{"rows that overlap in inner iterations", `
vectorized i in range(8) {
  for k in range(4) {
    A[i + k] = B[i]
  }
}`, `
for i in range(8) {
  for k in range(4) {
    A[i + k] = B[i]
  }
}`},
		{"rows that do not overlap", `
vectorized i in range(8) {
  for k in range(4) {
    A[i + k * 8] = B[i]
  }
}`, `
for k in range(4) {
  A[ramp(k * 8, 1, 8)] = B[ramp(0, 1, 8)]
}`},
		{"an extent that is not a power of two", `
vectorized i in range(7) {
  A[i] = 1.0
}`, `
A[ramp(0, 1, 4)] = broadcast(1.0, 4)
A[ramp(4, 1, 2)] = broadcast(1.0, 2)
A[6] = 1.0`},
		{"more than a register", `
vectorized i in range(1, count=60) {
  A[i] = 1.0
}`, `
A[ramp(1, 1, 16)] = broadcast(1.0, 16)
A[ramp(17, 1, 16)] = broadcast(1.0, 16)
A[ramp(33, 1, 16)] = broadcast(1.0, 16)
A[ramp(49, 1, 8)] = broadcast(1.0, 8)
A[ramp(57, 1, 4)] = broadcast(1.0, 4)`},
		{"one in another", `
vectorized i in range(8) {
  vectorized j in range(8) {
    C[i, j] = 1.0
  }
}`, `
for i in range(8) {
  C[i, ramp(0, 1, 8)] = broadcast(1.0, 8)
}`},
		{"each iteration needs the one before", `
vectorized i in range(8) {
  A[i + 1] = A[i]
}`, `
for i in range(8) {
  A[i + 1] = A[i]
}`},
		{"in place", `
vectorized i in range(8) {
  A[i] = A[i] + 1.0
}`, `
A[ramp(0, 1, 8)] = A[ramp(0, 1, 8)] + broadcast(1.0, 8)`},
		{"all iterations access one element", `
vectorized i in range(8) {
  A[0] = A[0] + B[i]
}`, `
for i in range(8) {
  A[0] = A[0] + B[i]
}`},
		{"the last iteration remains", `
vectorized i in range(8) {
  A[0] = B[i]
}`, `
for i in range(8) {
  A[0] = B[i]
}`},
		{"an assertion", `
vectorized i in range(8) {
  assert n > i, ValueError, "no"
  A[i] = 1.0
}`, `
for i in range(8) {
  assert n > i, ValueError, "no"
  A[i] = 1.0
}`},
		{"a call with effects", `
vectorized i in range(8) {
  packed f(i)
  A[i] = 1.0
}`, `
for i in range(8) {
  packed f(i)
  A[i] = 1.0
}`},
		{"memory within", `
vectorized i in range(4) {
  alloc m: float32[2], scope "local" {
    m[0] = B[i]
    m[1] = B[i + 4]
    A[i] = m[0] + m[1]
  }
}`, `
alloc m: float32[2, 4], scope "local"
m[0, ramp(0, 1, 4)] = B[ramp(0, 1, 4)]
m[1, ramp(0, 1, 4)] = B[ramp(4, 1, 4)]
A[ramp(0, 1, 4)] = m[0, ramp(0, 1, 4)] + m[1, ramp(0, 1, 4)]`},
		{"an intrinsic", `
vectorized i in range(8) {
  A[i] = exp(B[i])
}`, `
A[ramp(0, 1, 8)] = exp(B[ramp(0, 1, 8)])`},
	})
}

// Loops that are partitioned.
func TestLoopPartition_Cases(t *testing.T) {
	check(t, transform.LoopPartition, []passCase{
		{"threads of a block, which stay together", `
thread t in range(5), thread "threadIdx.x" {
  for o in range(2) {
    if likely(o * 5 + t < 9) {
      A[o * 5 + t] = 1.0
    }
  }
}`, `
thread t in range(5), thread "threadIdx.x" {
  for o in range(2) {
    if likely(o * 5 + t < 9) {
      A[o * 5 + t] = 1.0
    }
  }
}`},
		{"blocks, which run independently", `
thread t in range(5), thread "blockIdx.x" {
  for o in range(2) {
    if likely(o * 5 + t < 9) {
      A[o * 5 + t] = 1.0
    }
  }
}`, `
thread t in range(5), thread "blockIdx.x" {
  for o in range(floordiv(3 - t, 5) + 2) {
    A[o * 5 + t] = 1.0
  }
}`},
		{"a split that does not divide", `
for o in range(8) {
  for i in range(8) {
    if likely(o * 8 + i < 61) {
      A[o * 8 + i] = 1.0
    }
  }
}`, `
for o in range(7) {
  for i in range(8) {
    A[o * 8 + i] = 1.0
  }
}
for o_1 in range(7, count=1) {
  for i_1 in range(5) {
    A[o_1 * 8 + i_1] = 1.0
  }
}`},
		{"a value inside of an image, with zeros around it", `
for i in range(8) {
  vectorized j in range(6) {
    A[i * 6 + j] = if_then_else(likely(i >= 1) && likely(j >= 1) && likely(j < 5), B[i * 4 + j], 0.0)
  }
}`, `
for i in range(1) {
  vectorized j in range(6) {
    A[i * 6 + j] = 0.0
  }
}
for i_1 in range(1, count=7) {
  vectorized j_1 in range(1) {
    A[i_1 * 6 + j_1] = 0.0
  }
  vectorized j_2 in range(1, count=4) {
    A[i_1 * 6 + j_2] = B[i_1 * 4 + j_2]
  }
  vectorized j_3 in range(5, count=1) {
    A[i_1 * 6 + j_3] = 0.0
  }
}`},
		{"an unknown extent", `
for o in range(floordiv(n + 7, 8)) {
  vectorized i in range(8) {
    if likely(o * 8 + i < n) {
      A[o * 8 + i] = 1.0
    }
  }
}`, `
for o in range(min(0, floordiv(n + 7, 8)), count=max(floordiv(n, 8) - min(0, floordiv(n + 7, 8)), 0)) {
  vectorized i in range(8) {
    A[o * 8 + i] = 1.0
  }
}
for o_1 in range(max(floordiv(n, 8), min(0, floordiv(n + 7, 8))), ` +
			`count=floordiv(n + 7, 8) - max(floordiv(n, 8), min(0, floordiv(n + 7, 8)))) {
  for i_1 in range(n - o_1 * 8) {
    A[o_1 * 8 + i_1] = 1.0
  }
}`},
		{"both ends", `
for i in range(64) {
  if likely(i >= 2) && likely(i < 60) {
    A[i - 2] = B[i]
  }
}`, `
for i in range(2, count=58) {
  A[i - 2] = B[i]
}`},
		{"two guards on one side", `
for i in range(64) {
  if likely(i < 40) {
    A[i] = B[i]
  }
  if likely(60 > i) {
    B[i] = 1.0
  }
}`, `
for i in range(40) {
  A[i] = B[i]
  B[i] = 1.0
}
for i_1 in range(40, count=20) {
  B[i_1] = 1.0
}`},
		{"loops in loops", `
for o in range(3) {
  for p in range(3) {
    for i in range(3) {
      for j in range(3) {
        if likely(o * 3 + i < 8) && likely(p * 3 + j < 8) {
          C[o * 3 + i, p * 3 + j] = 1.0
        }
      }
    }
  }
}`, `
for o in range(2) {
  for p in range(2) {
    for i in range(3) {
      for j in range(3) {
        C[o * 3 + i, p * 3 + j] = 1.0
      }
    }
  }
  for p_1 in range(2, count=1) {
    for i_1 in range(3) {
      for j_1 in range(2) {
        C[o * 3 + i_1, p_1 * 3 + j_1] = 1.0
      }
    }
  }
}
for o_1 in range(2, count=1) {
  for p_2 in range(2) {
    for i_2 in range(2) {
      for j_2 in range(3) {
        C[o_1 * 3 + i_2, p_2 * 3 + j_2] = 1.0
      }
    }
  }
  for p_3 in range(2, count=1) {
    for i_3 in range(2) {
      for j_3 in range(2) {
        C[o_1 * 3 + i_3, p_3 * 3 + j_3] = 1.0
      }
    }
  }
}`},
		{"a parallel loop", `
parallel o in range(8) {
  for i in range(8) {
    if likely(o * 8 + i < 61) {
      A[o * 8 + i] = 1.0
    }
  }
}`, `
parallel o in range(8) {
  if likely(o < 7) {
    for i in range(8) {
      A[o * 8 + i] = 1.0
    }
  } else {
    for i_1 in range(5) {
      A[o * 8 + i_1] = 1.0
    }
  }
}`},
		{"effects, and other statements", `
for i in range(8) {
  packed f(i)
  if likely(i < n) {
    A[i] = 1.0
  } else {
    A[i] = 2.0
  }
}`, `
for i in range(max(min(8, n), 0)) {
  packed f(i)
  A[i] = 1.0
}
for i_1 in range(max(min(8, n), 0), count=8 - max(min(8, n), 0)) {
  packed f(i_1)
  A[i_1] = 2.0
}`},
		{"an extent that the iterations change", `
for i in range(X[0]) {
  if likely(i < 5) {
    X[0] = i
  }
}`, `
for i in range(X[0]) {
  if likely(i < 5) {
    X[0] = i
  }
}`},
		{"a guard that the iterations change", `
for i in range(8) {
  if likely(i < X[0]) {
    X[0] = i
  }
}`, `
for i in range(8) {
  if likely(i < X[0]) {
    X[0] = i
  }
}`},
		{"a guard that is not one-sided", `
for i in range(8) {
  if likely(floormod(i, 3) < 2) {
    A[i] = 1.0
  }
}`, `
for i in range(8) {
  if likely(floormod(i, 3) < 2) {
    A[i] = 1.0
  }
}`},
		{"a condition that is not likely", `
for i in range(8) {
  if i < 5 {
    A[i] = 1.0
  }
}`, `
for i in range(8) {
  if i < 5 {
    A[i] = 1.0
  }
}`},
		{"a guard that reads memory in each iteration", `
for i in range(8) {
  let k = X[i] {
    if likely(i < k) {
      A[i] = 1.0
    }
  }
}`, `
for i in range(8) {
  let k = X[i]
  if likely(i < k) {
    A[i] = 1.0
  }
}`},
		{"a let of the loop's variable", `
for i in range(8) {
  let k = i * 2 {
    if likely(k < 9) {
      A[k] = 1.0
    }
  }
}`, `
for i in range(5) {
  let k = i * 2
  A[k] = 1.0
}`},
		{"threads of a device", `
thread i in range(8), thread "threadIdx.x" {
  if likely(i < 5) {
    A[i] = 1.0
  }
}`, `
thread i in range(8), thread "threadIdx.x" {
  if likely(i < 5) {
    A[i] = 1.0
  }
}`},
	})
}

// Loops that are unrolled.
func TestUnroll_Cases(t *testing.T) {
	check(t, transform.Unroll, []passCase{
		{"a loop", `
unrolled i in range(2, count=3) {
  A[i] = B[i + n]
}`, `
A[2] = B[2 + n]
A[3] = B[3 + n]
A[4] = B[4 + n]`},
		{"one in another, with variables of their own", `
unrolled i in range(2) {
  unrolled j in range(2) {
    let y = B[i] {
      C[i, j] = y
    }
  }
}`, `
let y = B[0] {
  C[0, 0] = y
}
let y_1 = B[0] {
  C[0, 1] = y_1
}
let y_2 = B[1] {
  C[1, 0] = y_2
}
let y_3 = B[1]
C[1, 1] = y_3`},
		{"no iterations", `
unrolled i in range(0) {
  A[i] = B[i]
}
A[0] = 1.0`, `
A[0] = 1.0`},
		{"a loop that would be too long stays", `
unrolled i in range(4097) {
  A[floormod(i, 8)] = 1.0
}`, `
for i in range(4097) {
  A[floormod(i, 8)] = 1.0
}`},
		{"pragma of steps", `
for i in range(4), attrs {"auto_unroll_max_step": 3} {
  for j in range(3) {
    A[i] = B[j]
  }
}
for k in range(2) {
  A[k] = 1.0
}`, `
for i in range(4) {
  A[i] = B[0]
  A[i] = B[1]
  A[i] = B[2]
}
for k in range(2) {
  A[k] = 1.0
}`},
		{"pragma of steps for all", `
for i in range(2), attrs {"pragma_auto_unroll_max_step": 6, "other": 1} {
  for j in range(3) {
    A[i] = B[j]
  }
}`, `
A[0] = B[0]
A[0] = B[1]
A[0] = B[2]
A[1] = B[0]
A[1] = B[1]
A[1] = B[2]`},
		{"pragma of an extent", `
for i in range(3), attrs {"auto_unroll_max_extent": 2} {
  for j in range(2) {
    A[i] = B[j]
  }
}`, `
for i in range(3) {
  A[i] = B[0]
  A[i] = B[1]
}`},
		{"an inner pragma replaces the outer one", `
for i in range(2), attrs {"auto_unroll_max_step": 9} {
  for j in range(2), attrs {"auto_unroll_max_step": 0} {
    A[i] = B[j]
  }
}`, `
for j in range(2) {
  A[0] = B[j]
}
for j_1 in range(2) {
  A[1] = B[j_1]
}`},
		{"left to the compiler", `
for i in range(4), attrs {"unroll_explicit": false} {
  unrolled j in range(3) {
    A[i] = B[j]
  }
}`, `
for i in range(4) {
  for j in range(3), attrs {"unroll": 3} {
    A[i] = B[j]
  }
}`},
		{"unknown extents", `
for i in range(n), attrs {"auto_unroll_max_step": 9} {
  A[i] = B[i]
}`, `
for i in range(n) {
  A[i] = B[i]
}`},
	})
}

func TestHoistDivisions_Cases(t *testing.T) {
	check(t, transform.HoistDivisions, []passCase{
		{"to the loop whose variable is divided, and before all loops", `
for i in range(n * 4) {
  for j in range(4) {
    A[floordiv(i, n) + j] = B[floordiv(i, n) + floormod(j, floordiv(64, n))]
  }
}`, `
let quotient = select(n == 0, 0, floordiv(64, select(n == 0, 1, n)))
for i in range(n * 4) {
  let quotient_1 = select(n == 0, 0, floordiv(i, select(n == 0, 1, n)))
  for j in range(4) {
    A[quotient_1 + j] = B[quotient_1 + floormod(j, quotient)]
  }
}`},
		{"not where no loop repeats it, not by constants, and not of memory", `
A[floordiv(n, n)] = 1.0
for i in range(n) {
  A[floordiv(n, 4)] = B[floordiv(X[0], n)]
}`, `
A[floordiv(n, n)] = 1.0
for i in range(n) {
  A[floordiv(n, 4)] = B[floordiv(X[0], n)]
}`},
		{"not before its variable is known", `
for i in range(4) {
  let y: int32 = X[i]
  for j in range(4) {
    A[floormod(y, n)] = B[j]
  }
}`, `
for i in range(4) {
  let y = X[i]
  let remainder = select(n == 0, y, floormod(y, select(n == 0, 1, n)))
  for j in range(4) {
    A[remainder] = B[j]
  }
}`},
	})
}
