package cudaimage

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPTXMix(t *testing.T) {
	const text = `
.version 8.0
.target sm_80
.address_size 64
.func (.param .b32 out) helper(.param .b32 in) { 
	mul.f32 %f1, %f1, %f1; // of another function
}
.visible .entry other(.param .u64 p)
{
	mov.u32 %r1, 1; ret;
}
.visible .entry k(
	.param .u64 k_param_0
)
.maxntid 256, 1, 1
{
	.reg .pred %p<2>;
	.reg .f32 %f<5>;
	.shared .align 4 .b8 s[1024];
	ld.param.u64 %rd1, [k_param_0];
	cvta.to.global.u64 %rd2, %rd1;
	mov.u32 %r1, %tid.x;
	mad.lo.s32 %r2, %r1, 4, %r1;
	// fma.rn.f32 in a comment
$L__BB0_1:
	ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd2];
	st.shared.f32 [s], %f1;
	bar.sync 0;
	{
	fma.rn.f32 %f1, %f1, %f2, %f3;
	}
	mul.f32 %f1, %f1, %f2;
	ex2.approx.ftz.f32 %f1, %f1;
	@%p1 ld.shared.f32 %f1, [s];
	cp.async.cg.shared.global [%r1], [%rd2], 16;
	mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1}, {%r1}, {%r2}, {%f1};
	setp.lt.s32 %p1, %r1, 7;
	@!%p1 bra $L__BB0_1;
	red.global.add.f32 [%rd2], %f1;
	shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;
	ld.local.u32 %r1, [%rd3];
	st.global.f32 [%rd2], %f1;
	ret;
}
`
	require.Equal(t, map[string]int{"other": 2, "convert": 1, "integer": 1, "load global": 2, "store shared": 1,
		"barrier": 1, "fma": 1, "float": 1, "special": 1, "load shared": 1, "matrix": 1, "logic": 1, "branch": 2,
		"atomic": 1, "subgroup": 1, "local": 1, "store global": 1}, PTXMix([]byte(text), "k"))
	require.Equal(t, map[string]int{"other": 1, "branch": 1}, PTXMix([]byte(text), "other"))
	require.Nil(t, PTXMix([]byte(text), "helper"), "it is no kernel")
	require.Nil(t, PTXMix(nil, "k"))
}
