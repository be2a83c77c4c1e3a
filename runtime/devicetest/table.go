package devicetest

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -I${SRCDIR}/../../include
#include <stdlib.h>
#include <string.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvmgo/device_api.h>

// The outcome of a call: its result, the error's text, which the caller frees, and whether *out was written.
typedef struct {
	int rc;
	int wrote;
	char* text;
} outcome;

static char untouched;

static outcome done(int rc, const void* out) {
	outcome o = {rc, out != &untouched, NULL};
	TVMFFIObjectHandle e = NULL;
	TVMFFIErrorMoveFromRaised(&e);
	if (e == NULL) return o;
	const TVMFFIErrorCell* c = TVMFFIErrorGetCellPtr(e);
	o.text = strndup(c->message.data, c->message.size);
	TVMFFIObjectDecRef(e);
	return o;
}

static const TVMGODeviceAPI* table_of(int32_t type) {
	const TVMGODeviceAPI* api = NULL;
	return TVMGODeviceAPIGet(type, 1, &api) == 0 ? api : NULL;
}

static DLDevice at(int32_t type, int32_t id) { return (DLDevice){(DLDeviceType)type, id}; }

static outcome alloc(int32_t type, int32_t id, size_t n, size_t alignment, void** out) {
	const TVMGODeviceAPI* api = table_of(type);
	*out = &untouched;
	outcome o = done(api->alloc_data_space(api, at(type, id), n, alignment, (DLDataType){kDLUInt, 8, 1}, out), *out);
	return o;
}
static outcome release(int32_t type, int32_t id, void* p) {
	const TVMGODeviceAPI* api = table_of(type);
	return done(api->free_data_space(api, at(type, id), p), &untouched);
}
static outcome take_workspace(int32_t type, int32_t id, size_t n, void** out) {
	*out = TVMBackendAllocWorkspace(type, id, n, kDLUInt, 8);
	if (*out == NULL) *out = &untouched;
	return done(*out == &untouched ? -1 : 0, *out);
}
static outcome give_workspace(int32_t type, int32_t id, void* p) {
	return done(TVMBackendFreeWorkspace(type, id, p), &untouched);
}

static outcome set_device(int32_t type, int32_t id) {
	const TVMGODeviceAPI* api = table_of(type);
	return done(api->set_device(api, id), &untouched);
}
static outcome attr(int32_t type, int32_t id, int32_t kind, int64_t* value) {
	const TVMGODeviceAPI* api = table_of(type);
	TVMFFIAny v = {.type_index = kTVMFFINone};
	outcome o = done(api->get_attr(api, id, kind, &v), &untouched);
	if (v.type_index == kTVMFFIInt) *value = v.v_int64;
	if (v.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(v.v_obj);
	return o;
}
static outcome sync_stream(int32_t type, int32_t id, void* stream) {
	const TVMGODeviceAPI* api = table_of(type);
	return done(api->stream_sync(api, at(type, id), stream), &untouched);
}

// Copies n bytes between host memory and an offset in memory of a device: to the host if to_host is set.
static outcome copy(int32_t type, int32_t id, void* p, size_t offset, void* host, int64_t n, int to_host,
	void* stream) {
	const TVMGODeviceAPI* api = table_of(type);
	DLTensor there = {.data = p, .device = at(type, id), .ndim = 1, .dtype = {kDLUInt, 8, 1}, .shape = &n,
		.byte_offset = offset};
	DLTensor here = {.data = host, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLUInt, 8, 1}, .shape = &n};
	return done(api->copy_data_from_to(api, to_host ? &there : &here, to_host ? &here : &there, stream), &untouched);
}

enum { STREAM, EVENT, TIMER, PINNED, KINDS };

// Creates an object of one of these kinds; rc is 1 if the device has no such objects.
static outcome make(int kind, int32_t type, int32_t id, void** out) {
	const TVMGODeviceAPI* api = table_of(type);
	int rc = 1;
	*out = &untouched;
	if (kind == STREAM && TVMGODeviceAPIHas(api, create_stream)) rc = api->create_stream(api, at(type, id), out);
	if (kind == EVENT && TVMGODeviceAPIHas(api, event_create)) rc = api->event_create(api, at(type, id), out);
	if (kind == TIMER && TVMGODeviceAPIHas(api, timer_create)) rc = api->timer_create(api, at(type, id), out);
	if (kind == PINNED && TVMGODeviceAPIHas(api, pinned_alloc)) rc = api->pinned_alloc(api, at(type, id), 64, out);
	return done(rc, *out);
}
static outcome unmake(int kind, int32_t type, int32_t id, void* p) {
	const TVMGODeviceAPI* api = table_of(type);
	int rc = 0;
	if (kind == STREAM && p != NULL) rc = api->free_stream(api, at(type, id), p);
	if (kind == EVENT) rc = api->event_free(api, p);
	if (kind == TIMER) rc = api->timer_free(api, p);
	if (kind == PINNED) rc = api->pinned_free(api, at(type, id), p);
	return done(rc, &untouched);
}
static outcome read_timer(int32_t type, int stop, void* timer) {
	const TVMGODeviceAPI* api = table_of(type);
	int64_t ns;
	return done(stop ? api->timer_stop(api, timer, NULL) : api->timer_elapsed_ns(api, timer, &ns), &untouched);
}
static outcome stats(int32_t type, int32_t id, size_t size, TVMGOMemoryStats* out) {
	const TVMGODeviceAPI* api = table_of(type);
	memset(out, 0x5a, sizeof *out);
	out->struct_size = size;
	return done(TVMGODeviceAPIHas(api, memory_stats) ? api->memory_stats(api, at(type, id), out) : 1, &untouched);
}
*/
import "C"

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
)

func cType(dev dlpack.Device) (C.int32_t, C.int32_t) { return C.int32_t(dev.Type), C.int32_t(dev.ID) }

// text returns the error of a call of the table; "" if it succeeded.
func text(t *testing.T, o C.outcome) string {
	t.Helper()
	message := C.GoString(o.text)
	C.free(unsafe.Pointer(o.text))
	if o.rc == 0 {
		require.Empty(t, message, "a call that succeeds leaves no error on the thread")
	}
	return message
}

func succeeds(t *testing.T, o C.outcome, what string) {
	t.Helper()
	rc := o.rc
	require.Zero(t, int(rc), "%s: %s", what, text(t, o))
}

// fails checks that a call of the table failed as device_api.h requires: the result is -1, an error is raised on the
// thread, and *out is unchanged.
func fails(t *testing.T, o C.outcome, what string) {
	t.Helper()
	rc, wrote, message := o.rc, o.wrote, text(t, o)
	require.Equal(t, -1, int(rc), "%s must fail", what)
	require.NotEmpty(t, message, "%s: the error is on the calling thread", what)
	require.Zero(t, int(wrote), "%s: *out is unchanged", what)
}

var kinds = []struct {
	name string
	kind C.int
}{{"a stream", C.STREAM}, {"an event", C.EVENT}, {"a timer", C.TIMER}, {"page-locked memory", C.PINNED}}

// tableIndices calls the functions of the table with several indices. All functions must agree whether an index exists.
func (s *suite) tableIndices(t *testing.T) {
	for _, id := range []int32{s.dev.ID, s.opts.Absent, -1, -7, 77, 1 << 20} {
		dev := dlpack.Device{Type: s.dev.Type, ID: id}
		typ, index := cType(dev)
		exists := C.int64_t(-1)
		succeeds(t, C.attr(typ, index, 0, &exists), "whether "+dev.String()+" exists")
		var p, w unsafe.Pointer
		if exists == 0 {
			fails(t, C.set_device(typ, index), "set_device of "+dev.String())
			fails(t, C.attr(typ, index, 5, &exists), "get_attr of "+dev.String())
			fails(t, C.alloc(typ, index, 64, 64, &p), "alloc_data_space of "+dev.String())
			fails(t, C.take_workspace(typ, index, 64, &p), "a workspace of "+dev.String())
			fails(t, C.sync_stream(typ, index, nil), "stream_sync of "+dev.String())
			var m C.TVMGOMemoryStats
			if o := C.stats(typ, index, C.sizeof_TVMGOMemoryStats, &m); o.rc != 1 {
				fails(t, o, "memory_stats of "+dev.String())
			}
			for _, k := range kinds {
				if o := C.make(k.kind, typ, index, &p); o.rc != 1 {
					fails(t, o, k.name+" of "+dev.String())
				}
			}
			continue
		}
		require.Equal(t, C.int64_t(1), exists)
		require.NotEqual(t, s.opts.Absent, id, "%v must be absent", dev)
		require.GreaterOrEqual(t, id, int32(0), "no index below 0 has a device")
		succeeds(t, C.set_device(typ, index), "set_device of "+dev.String())
		succeeds(t, C.attr(typ, index, 5, &exists), "get_attr of "+dev.String())
		succeeds(t, C.alloc(typ, index, 64, 64, &p), "alloc_data_space of "+dev.String())
		host := []byte("0123456789abcdef")
		got := make([]byte, len(host))
		hold, back := C.CBytes(host), C.malloc(C.size_t(len(host)))
		succeeds(t, C.copy(typ, index, p, 0, hold, C.int64_t(len(host)), 0, nil), "a copy to "+dev.String())
		succeeds(t, C.copy(typ, index, p, 0, back, C.int64_t(len(host)), 1, nil), "a copy from "+dev.String())
		succeeds(t, C.sync_stream(typ, index, nil), "stream_sync of "+dev.String())
		copy(got, unsafe.Slice((*byte)(back), len(got)))
		C.free(hold)
		C.free(back)
		require.Equal(t, host, got)
		succeeds(t, C.take_workspace(typ, index, 64, &w), "a workspace of "+dev.String())
		succeeds(t, C.give_workspace(typ, index, w), "a workspace of "+dev.String())
		succeeds(t, C.release(typ, index, p), "free_data_space of "+dev.String())
		for _, k := range kinds {
			if o := C.make(k.kind, typ, index, &p); o.rc != 1 {
				succeeds(t, o, k.name+" of "+dev.String())
				succeeds(t, C.unmake(k.kind, typ, index, p), k.name+" of "+dev.String())
			}
		}
	}
}

// tableAlignment allocates memory with every alignment, twice, since one address may be aligned by chance. Alignments
// up to 256 must work; larger ones must work or be an error.
func (s *suite) tableAlignment(t *testing.T) {
	typ, id := cType(s.dev)
	var memory [2]unsafe.Pointer
	for shift := 0; shift <= 20; shift++ {
		alignment := uintptr(1) << shift
		for i := range memory {
			o := C.alloc(typ, id, 100, C.size_t(alignment), &memory[i])
			if o.rc != 0 {
				require.Greater(t, alignment, uintptr(256), "%s", C.GoString(o.text))
				fails(t, o, "an alignment beyond the device's")
				memory[i] = nil
				continue
			}
			succeeds(t, o, "an alignment")
			require.True(t, s.opts.DataIsAddress || alignment <= 256,
				"alignment %d: only memory with addresses has larger alignments", alignment)
			if s.opts.DataIsAddress {
				require.Zero(t, uintptr(memory[i])%alignment, "alignment %d", alignment)
			}
		}
		for _, p := range memory {
			if p != nil {
				succeeds(t, C.release(typ, id, p), "free")
			}
		}
	}
	var p unsafe.Pointer
	for _, alignment := range []C.size_t{0, 3, 96, 255, 1<<40 + 1} {
		fails(t, C.alloc(typ, id, 100, alignment, &p), "an alignment that is not a power of two")
	}
}

// tableWorkspaces frees data space as a workspace, and a workspace as data space. These calls fail, and correct calls
// still work afterwards.
func (s *suite) tableWorkspaces(t *testing.T) {
	typ, id := cType(s.dev)
	// A device that does not check its memory may not distinguish data space from a workspace, which the runtime
	// allocates as data space of the device.
	distinguishes := s.opts.KnowsItsMemory || s.dev.Type == dlpack.CPU
	for _, n := range []C.size_t{1, 64, 5000, 1 << 20} {
		for range 3 {
			var data, w, again unsafe.Pointer
			succeeds(t, C.alloc(typ, id, n, 64, &data), "alloc_data_space")
			succeeds(t, C.take_workspace(typ, id, n, &w), "a workspace")
			if distinguishes {
				fails(t, C.release(typ, id, w), "free_data_space of a workspace")
			}
			fails(t, C.give_workspace(typ, id, data), "freeing data space as a workspace")
			succeeds(t, C.give_workspace(typ, id, w), "freeing the workspace after failed calls")
			if distinguishes {
				fails(t, C.release(typ, id, w), "free_data_space of a freed workspace")
			}
			fails(t, C.give_workspace(typ, id, w), "freeing a workspace twice")
			succeeds(t, C.take_workspace(typ, id, n, &again), "another workspace")
			require.NotEqual(t, data, again, "memory has one owner")
			succeeds(t, C.give_workspace(typ, id, again), "another workspace")
			succeeds(t, C.release(typ, id, data), "free_data_space after failed calls")
		}
	}
	fails(t, C.give_workspace(typ, id, nil), "freeing the workspace NULL")
}

// tableMisuse calls the table with memory and streams that do not belong to the device.
func (s *suite) tableMisuse(t *testing.T) {
	typ, id := cType(s.dev)
	var m C.TVMGOMemoryStats
	if o := C.stats(typ, id, C.sizeof_size_t+2*C.sizeof_int64_t, &m); o.rc != 1 { // an older caller
		succeeds(t, o, "memory_stats of a small struct")
		require.EqualValues(t, 0x5a5a5a5a5a5a5a5a, m.data_bytes, "fields beyond struct_size are not written")
		require.NotEqualValues(t, 0x5a5a5a5a5a5a5a5a, m.total_bytes)
	}
	var timer unsafe.Pointer
	if o := C.make(C.TIMER, typ, id, &timer); o.rc != 1 {
		succeeds(t, o, "a timer")
		fails(t, C.read_timer(typ, 0, timer), "a timer that was not stopped")
		succeeds(t, C.unmake(C.TIMER, typ, id, timer), "a timer")
	}
	if !s.opts.KnowsItsMemory {
		return
	}
	var p unsafe.Pointer
	succeeds(t, C.alloc(typ, id, 64, 64, &p), "alloc_data_space")
	host := C.malloc(128)
	defer C.free(host)
	if s.opts.KnowsBounds {
		for _, toHost := range []C.int{0, 1} {
			fails(t, C.copy(typ, id, p, 0, host, 65, toHost, nil), "a copy beyond the memory")
			fails(t, C.copy(typ, id, p, 1, host, 64, toHost, nil), "a copy that ends beyond the memory")
			fails(t, C.copy(typ, id, p, 65, host, 1, toHost, nil), "a copy that begins beyond the memory")
			fails(t, C.copy(typ, id, p, ^C.size_t(0), host, 2, toHost, nil), "a copy whose end is beyond 2^64")
			fails(t, C.copy(typ, id, host, 0, host, 1, toHost, nil), "a copy from or to memory of the host as device memory")
			fails(t, C.copy(typ, id, p, 0, host, 1, toHost, host), "a copy on an invalid stream")
		}
	}
	if s.hasSecond() {
		_, second := cType(s.opts.Second)
		fails(t, C.release(typ, second, p), "free_data_space of another device's memory")
	}
	fails(t, C.release(typ, id, host), "free_data_space of the host's memory")
	succeeds(t, C.release(typ, id, p), "free_data_space")
	fails(t, C.release(typ, id, p), "free_data_space for the second time")
	if o := C.make(C.PINNED, typ, id, &p); o.rc != 1 {
		succeeds(t, o, "page-locked memory")
		if s.hasSecond() {
			_, second := cType(s.opts.Second)
			fails(t, C.unmake(C.PINNED, typ, second, p), "pinned_free of another device's memory")
		}
		fails(t, C.unmake(C.PINNED, typ, id, host), "pinned_free of ordinary host memory")
		succeeds(t, C.unmake(C.PINNED, typ, id, p), "pinned_free")
		fails(t, C.unmake(C.PINNED, typ, id, p), "pinned_free for the second time")
	}
}
