package runtime

/*
#include <stdlib.h>
#include "bridge.h"

int tvmgoDeviceCreate(void* ctx, TVMGODeviceAPI** out);
int tvmgoDeviceSet(uintptr_t dev, int32_t id);
int tvmgoDeviceAttr(uintptr_t dev, int32_t id, int32_t kind, TVMFFIAny* out);
int tvmgoDeviceAlloc(uintptr_t dev, int32_t id, size_t nbytes, size_t alignment, DLDataType hint, void** out);
int tvmgoDeviceFree(uintptr_t dev, int32_t id, void* p);
int tvmgoDeviceCopy(uintptr_t dev, DLTensor* from, DLTensor* to, void* stream);
int tvmgoDeviceSync(uintptr_t dev, int32_t id, void* stream);
int tvmgoDeviceStreamCreate(uintptr_t dev, int32_t id, void** out);
int tvmgoDeviceStreamPriorities(uintptr_t dev, int32_t id, int32_t* least, int32_t* greatest);
int tvmgoDeviceStreamUrgent(uintptr_t dev, int32_t id, int32_t priority, void** out);
int tvmgoDeviceStreamFree(uintptr_t dev, int32_t id, void* stream);
int tvmgoDeviceStreamSet(uintptr_t dev, int32_t id, void* stream);
int tvmgoDeviceStreamOrder(uintptr_t dev, int32_t id, void* src, void* dst);
int tvmgoDeviceWorkspace(uintptr_t dev, int32_t id, size_t nbytes, DLDataType hint, void* stream, void** out);
int tvmgoDeviceWorkspaceFree(uintptr_t dev, int32_t id, void* p);
int tvmgoDeviceScoped(uintptr_t dev, int32_t id, int32_t ndim, int64_t* shape, DLDataType dtype, char* scope, void** out);
int tvmgoDeviceTimer(uintptr_t dev, int32_t id, uintptr_t* out);
int tvmgoTimerMark(uintptr_t timer, void* stream, int stop);
int tvmgoTimerRead(uintptr_t timer, int64_t* ns);
int tvmgoTimerFree(uintptr_t timer);
int tvmgoDeviceStats(uintptr_t dev, int32_t id, TVMGOMemoryStats* out);
int tvmgoDevicePinned(uintptr_t dev, int32_t id, size_t nbytes, void** out);
int tvmgoDevicePinnedFree(uintptr_t dev, int32_t id, void* p);
int tvmgoDeviceEvent(uintptr_t dev, int32_t id, uintptr_t* out);
int tvmgoEventMark(uintptr_t event, void* stream, int wait);
int tvmgoEventSync(uintptr_t event);
int tvmgoEventQuery(uintptr_t event, int32_t* done);
int tvmgoEventFree(uintptr_t event);
int tvmgoDeviceAllocOn(uintptr_t dev, int32_t id, size_t nbytes, size_t alignment, DLDataType hint, void* stream, void** out);
int tvmgoDeviceFreeOn(uintptr_t dev, int32_t id, void* p, void* stream);
int tvmgoDeviceCaptureBegin(uintptr_t dev, int32_t id, void* stream);
int tvmgoDeviceCaptureEnd(uintptr_t dev, int32_t id, void* stream, uintptr_t* graph);
int tvmgoGraphLaunch(uintptr_t graph, void* stream);
int tvmgoGraphFree(uintptr_t graph);
int tvmgoDeviceProperty(uintptr_t dev, int32_t id, char* name, TVMFFIAny* out);

#define DEV ((uintptr_t)api->self)
#define API const TVMGODeviceAPI* api
#define IN_GO(call) (tvmgo_enter_go("a device written in Go") != 0 ? -1 : (call))

static inline int shim_set(API, int32_t id) { return IN_GO(tvmgoDeviceSet(DEV, id)); }
static inline int shim_attr(API, int32_t id, int32_t kind, TVMFFIAny* out) { return IN_GO(tvmgoDeviceAttr(DEV, id, kind, out)); }
static inline int shim_alloc(API, DLDevice d, size_t n, size_t a, DLDataType t, void** out) { return IN_GO(tvmgoDeviceAlloc(DEV, d.device_id, n, a, t, out)); }
static inline int shim_free(API, DLDevice d, void* p) { return tvmgo_workspace_refuse(d, p) != 0 ? -1 : IN_GO(tvmgoDeviceFree(DEV, d.device_id, p)); }
static inline int shim_copy(API, const DLTensor* f, const DLTensor* t, void* s) { return IN_GO(tvmgoDeviceCopy(DEV, (DLTensor*)f, (DLTensor*)t, s)); }
static inline int shim_sync(API, DLDevice d, void* s) { return IN_GO(tvmgoDeviceSync(DEV, d.device_id, s)); }
static inline int shim_stream_create(API, DLDevice d, void** out) { return IN_GO(tvmgoDeviceStreamCreate(DEV, d.device_id, out)); }
static inline int shim_priorities(API, DLDevice d, int32_t* least, int32_t* greatest) { return IN_GO(tvmgoDeviceStreamPriorities(DEV, d.device_id, least, greatest)); }
static inline int shim_stream_urgent(API, DLDevice d, int32_t priority, void** out) { return IN_GO(tvmgoDeviceStreamUrgent(DEV, d.device_id, priority, out)); }
static inline int shim_stream_free(API, DLDevice d, void* s) { return IN_GO(tvmgoDeviceStreamFree(DEV, d.device_id, s)); }
static inline int shim_stream_set(API, DLDevice d, void* s) { return IN_GO(tvmgoDeviceStreamSet(DEV, d.device_id, s)); }
static inline int shim_stream_order(API, DLDevice d, void* a, void* b) { return IN_GO(tvmgoDeviceStreamOrder(DEV, d.device_id, a, b)); }
static inline int shim_workspace(API, DLDevice d, size_t n, DLDataType t, void* s, void** out) { return IN_GO(tvmgoDeviceWorkspace(DEV, d.device_id, n, t, s, out)); }
static inline int shim_workspace_free(API, DLDevice d, void* p) { return IN_GO(tvmgoDeviceWorkspaceFree(DEV, d.device_id, p)); }
static inline int shim_scoped(API, DLDevice d, int32_t n, const int64_t* shape, DLDataType t, const char* scope, void** out) { return IN_GO(tvmgoDeviceScoped(DEV, d.device_id, n, (int64_t*)shape, t, (char*)scope, out)); }
static inline int shim_timer(API, DLDevice d, void** out) { return IN_GO(tvmgoDeviceTimer(DEV, d.device_id, (uintptr_t*)out)); }
static inline int shim_timer_start(API, void* t, void* s) { (void)api; return IN_GO(tvmgoTimerMark((uintptr_t)t, s, 0)); }
static inline int shim_timer_stop(API, void* t, void* s) { (void)api; return IN_GO(tvmgoTimerMark((uintptr_t)t, s, 1)); }
static inline int shim_timer_read(API, void* t, int64_t* ns) { (void)api; return IN_GO(tvmgoTimerRead((uintptr_t)t, ns)); }
static inline int shim_timer_free(API, void* t) { (void)api; return IN_GO(tvmgoTimerFree((uintptr_t)t)); }
static inline int shim_stats(API, DLDevice d, TVMGOMemoryStats* out) { return IN_GO(tvmgoDeviceStats(DEV, d.device_id, out)); }
static inline int shim_pinned(API, DLDevice d, size_t n, void** out) { return IN_GO(tvmgoDevicePinned(DEV, d.device_id, n, out)); }
static inline int shim_pinned_free(API, DLDevice d, void* p) { return IN_GO(tvmgoDevicePinnedFree(DEV, d.device_id, p)); }
static inline int shim_event(API, DLDevice d, void** out) { return IN_GO(tvmgoDeviceEvent(DEV, d.device_id, (uintptr_t*)out)); }
static inline int shim_event_record(API, void* e, void* s) { (void)api; return IN_GO(tvmgoEventMark((uintptr_t)e, s, 0)); }
static inline int shim_event_wait(API, void* e, void* s) { (void)api; return IN_GO(tvmgoEventMark((uintptr_t)e, s, 1)); }
static inline int shim_event_sync(API, void* e) { (void)api; return IN_GO(tvmgoEventSync((uintptr_t)e)); }
static inline int shim_event_query(API, void* e, int32_t* done) { (void)api; return IN_GO(tvmgoEventQuery((uintptr_t)e, done)); }
static inline int shim_event_free(API, void* e) { (void)api; return IN_GO(tvmgoEventFree((uintptr_t)e)); }
static inline int shim_property(API, int32_t id, const char* name, TVMFFIAny* out) { return IN_GO(tvmgoDeviceProperty(DEV, id, (char*)name, out)); }
static inline int shim_alloc_on(API, DLDevice d, size_t n, size_t a, DLDataType t, void* s, void** out) { return IN_GO(tvmgoDeviceAllocOn(DEV, d.device_id, n, a, t, s, out)); }
static inline int shim_free_on(API, DLDevice d, void* p, void* s) { return IN_GO(tvmgoDeviceFreeOn(DEV, d.device_id, p, s)); }
static inline int shim_capture_begin(API, DLDevice d, void* s) { return IN_GO(tvmgoDeviceCaptureBegin(DEV, d.device_id, s)); }
static inline int shim_capture_end(API, DLDevice d, void* s, void** graph) { return IN_GO(tvmgoDeviceCaptureEnd(DEV, d.device_id, s, (uintptr_t*)graph)); }
static inline int shim_graph_launch(API, DLDevice d, void* g, void* s) { (void)api, (void)d; return IN_GO(tvmgoGraphLaunch((uintptr_t)g, s)); }
static inline int shim_graph_free(API, DLDevice d, void* g) { (void)api, (void)d; return IN_GO(tvmgoGraphFree((uintptr_t)g)); }

// What the device can do beyond the mandatory part.
enum { CAN_STREAMS = 1, CAN_WORKSPACE = 2, CAN_SCOPES = 4, CAN_TIME = 8, CAN_EVENTS = 16, CAN_PIN = 32, CAN_REPORT = 64, CAN_DESCRIBE = 128,
       CAN_ORDER_MEMORY = 256, CAN_RECORD = 512, CAN_PRIORITIZE = 1024 };

static inline TVMGODeviceAPI* shim_table(uintptr_t self, int can) {
	TVMGODeviceAPI* t = calloc(1, sizeof *t);
	if (t == NULL) return NULL;
	t->struct_size = sizeof *t;
	t->self = (void*)self;
	t->set_device = shim_set;
	t->get_attr = shim_attr;
	t->alloc_data_space = shim_alloc;
	t->free_data_space = shim_free;
	t->copy_data_from_to = shim_copy;
	t->stream_sync = shim_sync;
	if (can & CAN_STREAMS) {
		t->create_stream = shim_stream_create;
		t->free_stream = shim_stream_free;
		t->set_stream = shim_stream_set;
		t->sync_stream_from_to = shim_stream_order;
	}
	if (can & CAN_WORKSPACE) {
		t->alloc_workspace = shim_workspace;
		t->free_workspace = shim_workspace_free;
	}
	if (can & CAN_SCOPES) t->alloc_data_space_with_scope = shim_scoped;
	if (can & CAN_TIME) {
		t->timer_create = shim_timer;
		t->timer_start = shim_timer_start;
		t->timer_stop = shim_timer_stop;
		t->timer_elapsed_ns = shim_timer_read;
		t->timer_free = shim_timer_free;
	}
	if (can & CAN_EVENTS) {
		t->event_create = shim_event;
		t->event_record = shim_event_record;
		t->event_wait = shim_event_wait;
		t->event_sync = shim_event_sync;
		t->event_query = shim_event_query;
		t->event_free = shim_event_free;
	}
	if (can & CAN_PIN) {
		t->pinned_alloc = shim_pinned;
		t->pinned_free = shim_pinned_free;
	}
	if (can & CAN_REPORT) t->memory_stats = shim_stats;
	if (can & CAN_DESCRIBE) t->target_property = shim_property;
	if (can & CAN_ORDER_MEMORY) {
		t->alloc_on_stream = shim_alloc_on;
		t->free_on_stream = shim_free_on;
	}
	if (can & CAN_RECORD) {
		t->capture_begin = shim_capture_begin;
		t->capture_end = shim_capture_end;
		t->graph_launch = shim_graph_launch;
		t->graph_free = shim_graph_free;
	}
	if (can & CAN_PRIORITIZE) {
		t->stream_priority_range = shim_priorities;
		t->create_stream_with_priority = shim_stream_urgent;
	}
	return t;
}

static inline int shim_create(void* ctx, const TVMGODeviceAPI** out) { return IN_GO(tvmgoDeviceCreate(ctx, (TVMGODeviceAPI**)out)); }

static inline tvmgo_ret shim_register(int32_t type, const char* name, char** aliases, void* table, uintptr_t ctx) {
	TVMGODeviceSpec spec = {sizeof spec, type, name, (const char* const*)aliases, table, table == NULL ? shim_create : NULL, (void*)ctx};
	tvmgo_ret r = {0, 0};
	if (TVMGODeviceAPIRegister(&spec) != 0) r.err = (uintptr_t)tvmgo_error_take();
	return r;
}
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"

	"tvmgo/dlpack"
)

// RegisterDeviceAPI makes a kind of device known to Go (by its names in package dlpack), to C, and to modules (as
// "device_api.<name>"). A number or a name that is in use is ErrInvalidArgument. The registration lasts as long as the
// process.
func RegisterDeviceAPI(spec DeviceSpec) error {
	op := "register device " + spec.Name
	if (spec.New == nil) == (spec.Table == nil) {
		return fail(op, ErrInvalidArgument, "exactly one of New and Table is needed")
	}
	if !spec.Type.Known() {
		if err := dlpack.RegisterDeviceType(spec.Type, spec.Name, spec.Aliases...); err != nil {
			return fail(op, ErrInvalidArgument, "%v", err)
		}
	}
	name := C.CString(spec.Name)
	defer C.free(unsafe.Pointer(name))
	aliases := cStrings(spec.Aliases)
	defer freeStrings(aliases, len(spec.Aliases))
	var ctx cgo.Handle
	if spec.New != nil {
		ctx = cgo.NewHandle(spec.New)
	}
	_, err := result(op, C.shim_register(C.int32_t(spec.Type), name, aliases, spec.Table, C.uintptr_t(ctx)))
	if err != nil && ctx != 0 {
		ctx.Delete()
	}
	return err
}

// cStrings copies strings into a NULL-terminated C array.
func cStrings(list []string) **C.char {
	p := (**C.char)(C.calloc(C.size_t(len(list)+1), C.size_t(unsafe.Sizeof(uintptr(0)))))
	for i, s := range list {
		unsafe.Slice(p, len(list))[i] = C.CString(s)
	}
	return p
}

func freeStrings(p **C.char, n int) {
	for _, s := range unsafe.Slice(p, n) {
		C.free(unsafe.Pointer(s))
	}
	C.free(unsafe.Pointer(p))
}

//export tvmgoDeviceCreate
func tvmgoDeviceCreate(ctx unsafe.Pointer, out **C.TVMGODeviceAPI) C.int {
	return guard(func() error {
		dev, err := cgo.Handle(uintptr(ctx)).Value().(func() (DeviceAPI, error))()
		if err != nil {
			return err
		}
		if dev == nil {
			return fail("", ErrFailed, "its constructor gave no device")
		}
		h := cgo.NewHandle(dev) // kept as long as the process, like the table
		*out = C.shim_table(C.uintptr_t(h), C.int(abilities(dev)))
		if *out == nil {
			h.Delete()
			return fail("", ErrOutOfMemory, "no memory for the table")
		}
		return nil
	})
}

func abilities(dev DeviceAPI) int {
	can := 0
	if _, ok := dev.(StreamAPI); ok {
		can |= C.CAN_STREAMS
	}
	if _, ok := dev.(WorkspaceAPI); ok {
		can |= C.CAN_WORKSPACE
	}
	if _, ok := dev.(ScopedAllocator); ok {
		can |= C.CAN_SCOPES
	}
	if _, ok := dev.(TimerAPI); ok {
		can |= C.CAN_TIME
	}
	if _, ok := dev.(EventAPI); ok {
		can |= C.CAN_EVENTS
	}
	if _, ok := dev.(PinnedAllocator); ok {
		can |= C.CAN_PIN
	}
	if _, ok := dev.(MemoryReporter); ok {
		can |= C.CAN_REPORT
	}
	if _, ok := dev.(TargetProperties); ok {
		can |= C.CAN_DESCRIBE
	}
	if _, ok := dev.(StreamAllocator); ok {
		can |= C.CAN_ORDER_MEMORY
	}
	if _, ok := dev.(GraphCapturer); ok {
		can |= C.CAN_RECORD
	}
	if _, ok := dev.(StreamPrioritizer); ok {
		can |= C.CAN_PRIORITIZE
	}
	return can
}
