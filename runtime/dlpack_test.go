package runtime_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func TestDLPack_In(t *testing.T) {
	for _, c := range []struct {
		name string
		give []any
		take func(unsafe.Pointer) (*runtime.Tensor, error)
	}{
		{"give_legacy", nil, runtime.FromDLPackLegacy},
		{"give_versioned", []any{1, 0, 2}, runtime.FromDLPack},
		{"give_versioned", []any{1, 1, 2}, runtime.FromDLPack}, // read-only is allowed
	} {
		t.Run(c.name, func(t *testing.T) {
			noLeaks(t)
			p := probe(t)
			deleted := func() any { return call(t, function(t, p, "deleted")) }
			before := deleted().(int64)
			x := must.Get(c.take(unsafe.Pointer(call(t, function(t, p, c.name), c.give...).(runtime.Ptr))))(t)
			require.Equal(t, []int64{2, 3}, x.Shape())
			require.Equal(t, []int64{4, 1}, x.Strides())
			require.Equal(t, uint64(4), x.ByteOffset())
			require.Equal(t, []float32{1, 2, 3, 5, 6, 7}, slice[float32](t, x))
			v := must.Get(x.View(dlpack.Float32, []int64{2}, []int64{4}, 8))(t)
			require.NoError(t, x.Close())
			require.NoError(t, x.Close())
			require.Equal(t, before, deleted(), "the view keeps the memory")
			require.Equal(t, []float32{3, 7}, slice[float32](t, v))
			require.NoError(t, v.Close())
			require.Equal(t, before+1, deleted())
		})
	}
}

func TestDLPack_Refused(t *testing.T) {
	noLeaks(t)
	p := probe(t)
	deleted := function(t, p, "deleted")
	before := call(t, deleted)
	for _, c := range []struct {
		major, flags, ndim int
		kind               error
		says               string
	}{
		{2, 0, 2, runtime.ErrInvalidArgument, "version 2.0"},
		{0, 0, 2, runtime.ErrInvalidArgument, "version 0.0"},
		{1, 4, 2, runtime.ErrNotSupported, "padded"},
		{1, 0, -1, runtime.ErrInvalidArgument, "ndim is negative"},
	} {
		managed := call(t, function(t, p, "give_versioned"), c.major, c.flags, c.ndim).(runtime.Ptr)
		requireError(t, must.Fail(runtime.FromDLPack(unsafe.Pointer(managed))), c.kind, "take DLPack tensor", c.says)
		require.Equal(t, before, call(t, deleted), "the caller still owns it")
		call(t, function(t, p, "free_managed"), managed, 1)
		before = call(t, deleted)
	}
	requireError(t, must.Fail(runtime.FromDLPack(nil)), runtime.ErrInvalidArgument, "NULL")
	requireError(t, must.Fail(runtime.FromDLPackLegacy(nil)), runtime.ErrInvalidArgument, "NULL")
}

func TestDLPack_Out(t *testing.T) {
	for name, give := range map[string]func(*runtime.Tensor) (unsafe.Pointer, error){
		"consume_legacy": (*runtime.Tensor).ToDLPackLegacy, "consume_versioned": (*runtime.Tensor).ToDLPack,
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			p := probe(t)
			x := tensor(t, []float32{0, 1, 2, 3, 4, 5, 6, 7}, 2, 4)
			v := must.Get(x.View(dlpack.Float32, []int64{2, 2}, []int64{4, 2}, 4))(t)
			managed := must.Get(give(v))(t)
			require.NoError(t, v.Close())
			require.NoError(t, x.Close())
			require.Equal(t, 1.0+3+5+7, call(t, function(t, p, name), runtime.Ptr(managed)))
		})
	}
}

func TestDLPack_ThereAndBack(t *testing.T) {
	noLeaks(t)
	for range 2 {
		x := tensor(t, []int64{1, 2, 3, 4}, 2, 2)
		managed := must.Get(x.ToDLPack())(t)
		y := must.Get(runtime.FromDLPack(managed))(t)
		legacy := must.Get(y.ToDLPackLegacy())(t)
		require.NoError(t, x.Close())
		require.NoError(t, y.Close())
		z := must.Get(runtime.FromDLPackLegacy(legacy))(t)
		require.Equal(t, []int64{1, 2, 3, 4}, slice[int64](t, z))
		require.NoError(t, z.Close())
	}
}

// A tensor that was imported as read-only is exported as read-only, also through views.
func TestDLPack_ReadOnlyViews(t *testing.T) {
	noLeaks(t)
	for flags := range uint64(2) {
		x := must.Get(runtime.FromDLPack(unsafe.Pointer(call(t, function(t, probe(t), "give_versioned"), 1, int(flags),
			2).(runtime.Ptr))))(t)
		v := must.Get(x.View(dlpack.Float32, []int64{2}, []int64{4}, 8))(t)
		for _, c := range []*runtime.Tensor{x, v} {
			p := must.Get(c.ToDLPack())(t)
			const flagsAt = 24 // version, manager_ctx, deleter
			require.Equal(t, flags, *(*uint64)(unsafe.Add(p, flagsAt))&1)
			back := must.Get(runtime.FromDLPack(p))(t)
			require.NoError(t, back.Close())
			require.NoError(t, c.Close())
		}
	}
}
