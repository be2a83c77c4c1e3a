package runtime

/*
#include "bridge/bridge.h"
#include "profile/profile.h"

static tvmgo_ret tvmgo_go_profile_new(int64_t limit) {
  tvmgo_profile* p = tvmgo_profile_new(limit);
  return p == NULL ? (tvmgo_ret){0, (uintptr_t)tvmgo_error_take()} : (tvmgo_ret){(uintptr_t)p, 0};
}
static void tvmgo_go_profile_release(uintptr_t p) { tvmgo_profile_release((tvmgo_profile*)p); }
static tvmgo_ret tvmgo_go_profile_begin(uintptr_t p) {
  int rc = tvmgo_profile_begin((tvmgo_profile*)p);
  return (tvmgo_ret){0, rc == 0 ? 0 : (uintptr_t)tvmgo_error_take()};
}
static tvmgo_ret tvmgo_go_profile_read(uintptr_t p, tvmgo_profile_snapshot* out) {
  int rc = tvmgo_profile_read((tvmgo_profile*)p, out);
  return (tvmgo_ret){0, rc == 0 ? 0 : (uintptr_t)tvmgo_error_take()};
}
*/
import "C"

import (
	"context"
	"fmt"
	"io"
	goruntime "runtime"
	"strings"
	"time"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/globals"
	"tvmgo/internal/value"
	"tvmgo/profile"
)

// maxProfileEvents is the limit of NewProfile: 40 bytes each.
const maxProfileEvents = 1 << 20

// Profile records what calls do: functions and instructions of virtual machines, nodes of graphs, launches of kernels
// with their time on streams, copies, and the memory in use. Calls record if they run in Do, or get a context of
// WithProfile. Any number of goroutines may use one at once; other calls at the same time are not recorded and have no
// cost.
//
// A profile keeps the first 2^20 events, and counts those beyond. The collector frees it.
type Profile struct{ p *C.tvmgo_profile }

// NewProfile makes a profile without events. Its times count from now.
func NewProfile() (*Profile, error) {
	o, err := result("new profile", C.tvmgo_go_profile_new(maxProfileEvents))
	if err != nil {
		return nil, err
	}
	return profileOf(o), nil
}

// profileOf takes over a reference.
func profileOf(o object) *Profile {
	p := &Profile{(*C.tvmgo_profile)(o.pointer())}
	goruntime.AddCleanup(p, func(c uintptr) { C.tvmgo_go_profile_release(C.uintptr_t(c)) }, uintptr(o))
	return p
}

// init gives the bodies of global functions, for C and Python. They act on the calling thread.
//
//	tvmgo.profile.start()            records the thread's calls from now on
//	tvmgo.profile.stop(read = true)  ends what start began, and returns {"trace": JSON, "table": text}; None if not read
func init() {
	globals.Set("tvmgo.profile.start", func(args ...any) (any, error) {
		const op = "tvmgo.profile.start"
		if err := value.CheckCount(op, args, 0, 0); err != nil {
			return nil, err
		}
		p, err := NewProfile()
		if err != nil {
			return nil, err
		}
		_, err = result(op, C.tvmgo_go_profile_begin(p.handle()))
		goruntime.KeepAlive(p)
		return nil, err
	})
	globals.Set("tvmgo.profile.stop", func(args ...any) (any, error) {
		const op = "tvmgo.profile.stop"
		if err := value.CheckCount(op, args, 0, 1); err != nil {
			return nil, err
		}
		read := true
		if len(args) == 1 {
			var ok bool
			if read, ok = args[0].(bool); !ok {
				return nil, fault.New(op, ErrInvalidArgument, "argument 0 says whether to read the profile: want a bool, got %T",
					args[0])
			}
		}
		c := C.tvmgo_profile_current()
		if c == nil {
			return nil, fault.New(op, ErrFailed, "nothing is recorded on this thread: call tvmgo.profile.start first")
		}
		p := profileOf(object(uintptr(unsafe.Pointer(c))))
		C.tvmgo_profile_end()
		if !read {
			return nil, nil
		}
		var trace, table strings.Builder
		if err := p.WriteTrace(&trace); err != nil {
			return nil, err
		}
		if err := p.WriteTable(&table); err != nil {
			return nil, err
		}
		return Map{{Key: "trace", Value: trace.String()}, {Key: "table", Value: table.String()}}, nil
	})
}

// check returns an error for a profile that NewProfile did not make.
func (p *Profile) check(op string) error {
	if p == nil || p.p == nil {
		return fault.New(op, ErrInvalidArgument, "the profile is empty: make one with NewProfile")
	}
	return nil
}

func (p *Profile) handle() C.uintptr_t { return C.uintptr_t(uintptr(unsafe.Pointer(p.p))) }

// Do calls f and records what it does on this goroutine. When f is done, Do waits for the work that f queued on streams
// of devices, to read its times. It returns the error of f.
func (p *Profile) Do(f func() error) error {
	const op = "profile"
	if err := p.check(op); err != nil {
		return err
	}
	if f == nil {
		return fault.New(op, ErrInvalidArgument, "the function to record is nil")
	}
	goruntime.LockOSThread() // the thread has the profile
	defer goruntime.UnlockOSThread()
	if _, err := result(op, C.tvmgo_go_profile_begin(p.handle())); err != nil {
		return err
	}
	defer func() {
		C.tvmgo_profile_end()
		goruntime.KeepAlive(p)
	}()
	return f()
}

type profileKey struct{}

// WithProfile is a context whose calls of models record into p. A nil p ends that.
func WithProfile(ctx context.Context, p *Profile) context.Context {
	return context.WithValue(ctx, profileKey{}, p)
}

// ProfileFrom returns the profile of a context; nil if it has none.
func ProfileFrom(ctx context.Context) *Profile {
	p, _ := ctx.Value(profileKey{}).(*Profile)
	return p
}

// Recording returns what was recorded so far. Calls in progress may go on.
func (p *Profile) Recording() (*profile.Recording, error) {
	const op = "read profile"
	if err := p.check(op); err != nil {
		return nil, err
	}
	var s C.tvmgo_profile_snapshot
	_, err := result(op, C.tvmgo_go_profile_read(p.handle(), &s))
	if err != nil {
		return nil, err
	}
	defer func() {
		C.tvmgo_profile_snapshot_free(&s)
		goruntime.KeepAlive(p)
	}()
	sites := make([]*profile.Site, s.num_sites)
	for i, c := range unsafe.Slice(s.sites, s.num_sites) {
		if c != nil {
			sites[i] = siteOf(c)
		}
	}
	shapes := make([][]profile.Tensor, s.num_shapes)
	for i, c := range unsafe.Slice(s.shapes, s.num_shapes) {
		if c != nil {
			shapes[i] = tensorsOf(unsafe.Pointer(c))
		}
	}
	r := &profile.Recording{Dropped: int64(s.dropped)}
	all := unsafe.Slice(s.events, s.num_events)
	for _, t := range unsafe.Slice(s.threads, s.num_threads) {
		thread := profile.Thread{ID: int64(t.thread)}
		for _, e := range all[t.first : t.first+t.count] {
			thread.Events = append(thread.Events, profile.Event{
				Site: sites[e.site], Begin: time.Duration(e.begin), End: time.Duration(e.end), Tensors: shapes[e.shapes],
				OnStream: time.Duration(*(*int64)(unsafe.Pointer(&e.on_stream))), Bytes: int64(e.value),
			})
		}
		r.Threads = append(r.Threads, thread)
	}
	return r, nil
}

func siteOf(c *C.tvmgo_profile_site) *profile.Site {
	s := &profile.Site{Kind: profile.Kind(c.kind), Name: C.GoString(c.name), Function: C.GoString(c.function),
		Number: int(c.number), Stream: uint64(uintptr(c.stream)), Waits: c.waits != 0}
	if c.device.device_type != 0 {
		s.Device = deviceText(c.device)
	}
	if c.other.device_type != 0 {
		s.Other = deviceText(c.other)
	}
	return s
}

func deviceText(d C.DLDevice) string {
	return dlpack.Device{Type: dlpack.DeviceType(d.device_type), ID: int32(d.device_id)}.String()
}

// tensorsOf reads shapes: a count, then for each tensor its dtype, the number of dimensions, and these.
func tensorsOf(at unsafe.Pointer) []profile.Tensor {
	next := func() int64 {
		v := *(*int64)(at)
		at = unsafe.Add(at, 8)
		return v
	}
	list := make([]profile.Tensor, next())
	for i := range list {
		packed := next()
		dtype := dlpack.DataType{Code: uint8(packed >> 24), Bits: uint8(packed >> 16), Lanes: uint16(packed)}
		shape := make([]int64, next())
		for k := range shape {
			shape[k] = next()
		}
		list[i] = profile.Tensor{DType: dtype.String(), Bits: int(dtype.Bits) * int(dtype.Lanes), Shape: shape,
			Float: dtype.Code != dlpack.CodeInt && dtype.Code != dlpack.CodeUInt && dtype.Code != dlpack.CodeBool}
	}
	return list
}

// WriteTrace writes a trace that Perfetto (https://ui.perfetto.dev) and chrome://tracing open: a track for each thread
// of the host and for each stream, and the memory in use of each device.
func (p *Profile) WriteTrace(w io.Writer) error {
	r, err := p.Recording()
	if err != nil {
		return err
	}
	if err := r.WriteTrace(w); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

// Operators returns the table of operators, the longest first.
func (p *Profile) Operators() ([]profile.OperatorStats, error) {
	r, err := p.Recording()
	if err != nil {
		return nil, err
	}
	return r.Operators(), nil
}

// WriteTable writes the table of operators.
func (p *Profile) WriteTable(w io.Writer) error {
	r, err := p.Recording()
	if err != nil {
		return err
	}
	if err := r.WriteTable(w); err != nil {
		return fmt.Errorf("write table of operators: %w", err)
	}
	return nil
}
