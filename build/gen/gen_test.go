package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/build/gen/internal/output"
	"tvmgo/internal/testing/must"
)

func TestOutputs_AreUpToDate(t *testing.T) {
	stale, err := output.Stale(root, rendered)
	require.NoError(t, err)
	require.Empty(t, stale, "run: go generate ./build/gen")
}

// small is a description with one item of most kinds.
const small = `driver d
title    T # not a part of it
header   D/d.h
library  libd.so.2 libd.so
variable TVMGO_D_LIBRARY
first    dList
archive  libd.a
cure     install d
answer   int -7
answer   dList -8
offline  dInit 0
quiet    dList
type     num int
handle   thing thing_st
struct   pair
field    num a
field    char b[4]
enum     color
value    RED 1
const    D_X -3
func     int dInit(unsigned)
func     int dList(num, void (*)(int, char*), \
         void*) # continued
func     thing dMake(int, int*)
func     thing dLend(void)
own      int dNew(const pair*)
`

// more has items of the other kinds.
const more = `include  stdlib.h
start    d_init(0)
define   D_VERSION 2
define   D_API
type     hook void (*)(void*)
layout   d_dim
field    int x
union    d_value 16
field    d_dim dim
alias    dGet dGet_v2
func     int dGet_v2(hook)
own      int d_init(unsigned) = dInit
hide     void d_run(struct d_work*)
opaque   d_world
table    late
entry    int dLate(num)
may      void dMay(d_world*)
`

func TestParseSpec(t *testing.T) {
	s := must.Get(parseSpec(small))(t)
	require.Equal(t, "T", s.title)
	require.Equal(t, []string{"libd.so.2", "libd.so"}, s.libraries)
	require.Equal(t, []string{"num", "void (*)(int, char*)", "void*"}, s.funcs[1].params)
	require.Empty(t, s.funcs[3].params)
	require.True(t, s.funcs[4].own)
	require.Equal(t, "-8", s.answer(s.funcs[1]))
	h, c := string(header(s)), string(trampolines(s))
	for _, want := range []string{"typedef struct thing_st* thing;", "#define D_X (-3)", "char b[4];", "RED = 1,",
		"int dList(num, void (*)(int, char*), void*);", "thing dLend(void);"} {
		require.Contains(t, h, want)
	}
	for _, want := range []string{
		"int dInit(unsigned a0) {\n  (void)a0;\n  return 0;\n}",
		"int dList(num a0, void (*a1)(int, char*), void* a2) {\n  if (HAS(dList)) {\n    tvmgo_dl_quiet_begin();",
		"  if (a1 != NULL) *a1 = (int)LACKS(\"dMake\", -7);\n  return NULL;\n}",
		"return HAS(dLend) ? at.dLend() : NULL;",
		`{"libd.so.2", "libd.so", NULL}`,
	} {
		require.Contains(t, c, want)
	}
	require.NotContains(t, c, "(*dInit)", "the library is not asked for what never calls it")
}

func TestParseSpec_More(t *testing.T) {
	s := must.Get(parseSpec(small + more))(t)
	h, c := string(header(s)), string(trampolines(s))
	for _, want := range []string{"#include <stdlib.h>\n", "#define D_VERSION 2\n", "#define D_API\n",
		"#define dGet dGet_v2\n",
		"typedef void (*hook)(void*);", "typedef struct _d_dim {\n  int x;\n} d_dim;",
		"typedef union __attribute__((aligned(16))) _d_value {\n  d_dim dim;\n} d_value;",
		"int d_init(unsigned);", "typedef struct d_world d_world;",
		"typedef struct {\n  int (*dLate)(num);\n  void (*dMay)(d_world*);\n} tvmgo_d_late;\n#define TVMGO_D_LATE(must, " +
			"may) \\\n  must(dLate) \\\n  may(dMay)\n", "struct d_work;\nvoid d_run(struct d_work*);\n#pragma GCC visibility " +
			"pop"} {
		require.Contains(t, h, want)
	}
	for _, want := range []string{`{"dInit", (void**)&at.d_init},`, "static void start(void) { at.d_init(0); }",
		".start = start,",
		"return HAS(dGet_v2) ? at.dGet_v2(a0) : (int)LACKS(\"dGet_v2\", -7);", "int dInit(unsigned a0) {\n  (void)a0;\n  " +
			"return 0;\n}"} {
		require.Contains(t, c, want)
	}
	require.NotContains(t, c, "d_run")
	s = must.Get(parseSpec(small))(t)
	require.Contains(t, string(trampolines(s)), ".start = NULL,")
	require.Contains(t, string(trampolines(s)), "//go:build d\n")
	s.tag = "none"
	require.NotContains(t, string(trampolines(s)), "go:build")
}

func TestParseSpec_Bad(t *testing.T) {
	for _, c := range []struct{ add, want string }{
		{"func int f", "27: func: \"int f\" is not a prototype"},
		{"nonsense a b", "27: nonsense: no such item"},
		{"const X", "27: const: a name and a value are required"},
		{"title", "27: title: nothing follows"},
		{"field int x", "27: field: enum color cannot have it"},
		{"func int dNew(void)", "0: function dNew is declared twice"},
		{"func double f(void)", "function f has no result without a library"},
		{"quiet f", "0: quiet: there is no function f"},
		{"offline f 0", "0: there is no function f"},
		{"alias f g", "0: alias f: there is no function g"},
		{"entry int f(void)", "27: entry: there is no table before it"},
		{"define", "27: define: nothing follows"},
		{"const \\\n X", "28: const: a name and a value are required"},
		{"layout x\nvalue A 1", "28: value: layout x cannot have it"},
	} {
		require.ErrorContains(t, must.Fail(parseSpec(small+c.add)), c.want, c.add)
	}
	require.ErrorContains(t, must.Fail(parseSpec("driver d")), "is missing")
}
