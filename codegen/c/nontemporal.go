package c

import (
	"fmt"

	"tvmgo/tir"
)

// shortestNonTemporal is the size in bytes of the shortest vectors that are stored past the caches.
const shortestNonTemporal = 16

// pastCaches writes a statement whose vectors for a buffer are stored past the caches. Such stores take effect in any
// order: whoever ends the statement's function, or its part of a parallel loop, waits for them (fence). Nothing changes
// in a function that may return early.
func (w *writer) pastCaches(b *tir.Buffer, body tir.Stmt) {
	if w.kernels || w.mayReturn || w.nonTemporal[b.Data] {
		w.stmt(body)
		return
	}
	if w.nonTemporal == nil {
		w.nonTemporal = map[*tir.Var]bool{}
	}
	w.nonTemporal[b.Data] = true
	w.stmt(body)
	delete(w.nonTemporal, b.Data)
}

// fence waits for what was stored past the caches.
func (w *writer) fence() {
	if w.passesCaches {
		w.line("tvmgo_fence();")
	}
}

// storePastCaches stores a vector past the caches, at an element's place.
func (w *writer) storePastCaches(t tir.Type, to, value string) {
	bytes := int(t.Lanes) * int(t.Bits) / 8
	w.snippetText("nontemporal fence", nonTemporalFence)
	w.snippetText(fmt.Sprintf("nontemporal%d", bytes), fmt.Sprintf(nonTemporalText, bytes, nonTemporalStores[bytes]))
	name := w.temp("value")
	w.line("const %s %s = %s;", w.vectorType(t), name, value)
	w.line("tvmgo_nontemporal%d(&%s, &%s);", bytes, to, name)
	w.passesCaches = true
}

const nonTemporalFence = `/* Waits for stores past the caches: on x86, they are not in order with others. */
static inline void tvmgo_fence(void) {
#ifdef __SSE2__
  __builtin_ia32_sfence();
#endif
}
`

// nonTemporalText takes the size of a vector in bytes, and the statements for gcc.
const nonTemporalText = `/* Stores a vector past the caches, if the processor can and the address is aligned. */
typedef long long tvmgo_words%[1]d __attribute__((vector_size(%[1]d), aligned(8), may_alias));
static inline __attribute__((always_inline)) void tvmgo_nontemporal%[1]d(void* to, const void* from) {
  const tvmgo_words%[1]d value = *(const tvmgo_words%[1]d*)from;
  if ((uintptr_t)to %% %[1]d == 0) {
#ifdef __clang__
    __builtin_nontemporal_store(value, (long long __attribute__((vector_size(%[1]d), may_alias))*)to);
    return;
%[2]s#endif
  }
  *(tvmgo_words%[1]d*)to = value;
}
`

// nonTemporalStores has the statements for gcc, which has a function for each size.
var nonTemporalStores = map[int]string{
	16: `#elif defined(__SSE2__)
    __builtin_ia32_movntdq(to, value);
    return;
`,
	32: `#elif defined(__AVX__)
    __builtin_ia32_movntdq256(to, value);
    return;
`,
	64: `#elif defined(__AVX512F__)
    __builtin_ia32_movntdq512(to, value);
    return;
`,
}
