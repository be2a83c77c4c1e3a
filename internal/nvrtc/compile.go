package nvrtc

/*
#include <stdlib.h>
#include "compile.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"tvmgo/internal/cudaimage"
	"tvmgo/internal/dl"
)

// Kind is a format of compiled code.
type Kind int

const (
	PTX   Kind = iota // assembly text, which the driver compiles for the GPU; without a terminating zero byte
	CUBIN             // machine code for one architecture
)

func (k Kind) String() string { return [...]string{"ptx", "cubin"}[k] }

// Source is a program to compile.
type Source struct {
	Name    string            // its name in messages: "add.cu"
	Code    string            // CUDA C++
	Headers map[string]string // headers, by the names that the code includes
	Options []string          // compiler options: "--use_fast_math"; not the architecture
	Arch    string            // "sm_90", "sm_90a", "compute_90"
	Want    Kind
	Names   []string // C++ expressions, such as "&add<float>", whose lowered names the result is to contain
	// Resources requests Result.Kernels. The architecture must be a real one, such as sm_90.
	Resources bool
}

// Result is compiled code.
type Result struct {
	Image []byte
	Kind  Kind
	Log   string            // warnings; "" for none
	Names map[string]string // the lowered name of each expression in Source.Names
	// Kernels are those of the code, with the resources that they use when they are assembled for the architecture.
	Kernels []cudaimage.Kernel
}

// Compile compiles a source. The error is an *Error, which wraps ErrInvalid when the request is invalid, ErrCompile
// when the code does not compile, and the context's error when the context was cancelled before the start or, with
// NVRTC 12.9 and newer, during the compilation. Goroutines may call Compile concurrently.
func (c *Compiler) Compile(ctx context.Context, s Source) (Result, error) {
	if err := c.check(s); err != nil {
		return Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return Result{}, c.fail(s, err, "%v", err)
	}
	o, err := c.run(ctx, s)
	if err != nil {
		return Result{}, err
	}
	return c.result(s, o)
}

func (c *Compiler) fail(s Source, kind error, format string, args ...any) *Error {
	name := s.Name
	if len(name) > 200 {
		name = name[:200] + "…"
	}
	doing := fmt.Sprintf("compile %s", name)
	if _, isArch := cudaimage.ParseArch(s.Arch); isArch || kind != ErrInvalid {
		doing += " for " + s.Arch
	}
	return &Error{Doing: doing + " with " + c.String(), Why: fmt.Sprintf(format, args...), Kind: kind}
}

// isArchOption reports whether an option sets the architecture, or the next one does.
func isArchOption(option string) bool {
	name, _, _ := strings.Cut(option, "=")
	return name == "-arch" || name == "--gpu-architecture"
}

// check rejects requests that NVRTC would misunderstand.
func (c *Compiler) check(s Source) error {
	texts := []struct{ what, text string }{{"the name", s.Name}, {"the code", s.Code}}
	for name, code := range s.Headers {
		texts = append(texts, struct{ what, text string }{"the name of a header", name}, struct {
			what,
			text string
		}{"header " + strconv.Quote(name), code})
		if name == "" {
			return c.fail(s, ErrInvalid, "a header has no name")
		}
	}
	for i, o := range s.Options {
		texts = append(texts, struct{ what, text string }{fmt.Sprintf("option %d", i), o})
		if o == "" {
			return c.fail(s, ErrInvalid, "option %d is empty: leave it out", i)
		}
		if isArchOption(o) { // with two architectures NVRTC uses one of them and warns
			return c.fail(s, ErrInvalid, "option %d is %.40q, but Source.Arch sets the architecture", i, o)
		}
	}
	for i, n := range s.Names {
		texts = append(texts, struct{ what, text string }{fmt.Sprintf("name expression %d", i), n})
	}
	for _, t := range texts {
		if at := strings.IndexByte(t.text, 0); at >= 0 {
			return c.fail(s, ErrInvalid, "%s has a zero byte, at %d", t.what, at)
		}
	}
	switch {
	case s.Name == "":
		return c.fail(s, ErrInvalid, "the source has no name")
	case strings.TrimSpace(s.Code) == "":
		return c.fail(s, ErrInvalid, "the source is empty")
	case s.Want != PTX && s.Want != CUBIN:
		return c.fail(s, ErrInvalid, "kind %d is neither PTX nor CUBIN", int(s.Want))
	}
	arch, ok := cudaimage.ParseArch(s.Arch)
	if !ok {
		return c.fail(s, ErrInvalid, "%.40q is not an architecture such as sm_90, sm_90a or compute_90", s.Arch)
	}
	if c.archs != nil && !slices.Contains(c.archs, arch.Number) {
		return c.fail(s, ErrInvalid, "this NVRTC does not support %s; it supports %s", s.Arch, c.archNames())
	}
	if s.Resources && arch.Virtual {
		return c.fail(s, ErrInvalid, "the resources of kernels are those on one real architecture: request sm_%s",
			strings.TrimPrefix(s.Arch, "compute_"))
	}
	if s.Want == CUBIN && arch.Virtual {
		return c.fail(s, ErrInvalid, "a cubin is for one real architecture: request sm_%s, or PTX",
			strings.TrimPrefix(s.Arch, "compute_"))
	}
	if (s.Want == CUBIN || s.Resources) && (c.api.cubin == nil || c.api.cubin_size == nil) {
		return c.fail(s, ErrInvalid, "this NVRTC cannot make cubins: request PTX, or set %s to a newer NVRTC", Variable)
	}
	return nil
}

func (c *Compiler) archNames() string {
	if c.archs == nil {
		return "others, which it does not report"
	}
	var list []string
	for _, a := range c.archs {
		list = append(list, fmt.Sprintf("sm_%d", a))
	}
	return strings.Join(list, ", ")
}

// options returns the options of the source, followed by the architecture and the folders of CUDA headers. The
// compiler searches the source's own folders first.
func (c *Compiler) options(s Source) []string {
	list := append(slices.Clone(s.Options), "--gpu-architecture="+s.Arch)
	for _, dir := range c.include {
		list = append(list, "--include-path="+dir)
	}
	return list
}

// output is what NVRTC and the assembler return. Its fields are those that are cached.
type output struct {
	Result // without its kernels, which may be read from the rest
	Cubin  []byte
	Report string // the log with the assembler's report
}

// result reads the kernels' resources, if they are requested.
func (c *Compiler) result(s Source, o output) (Result, error) {
	if !s.Resources {
		return o.Result, nil
	}
	var err error
	if o.Kernels, err = kernelsIn(o.Cubin, o.Report); err != nil {
		return Result{}, c.fail(s, nil, "%v", err)
	}
	return o.Result, nil
}

// run compiles a source that was checked.
func (c *Compiler) run(ctx context.Context, s Source) (output, error) {
	options := c.options(s)
	if !s.Resources {
		return c.compile(ctx, s, options)
	}
	r, err := c.compile(ctx, s, append(slices.Clone(options), verbose))
	if errors.Is(err, ErrInvalid) { // by an NVRTC that does not know the option: spills are then not reported
		return c.compile(ctx, s, options)
	}
	return r, err
}

// compile runs NVRTC.
func (c *Compiler) compile(ctx context.Context, s Source, options []string) (output, error) {
	var m memory
	defer m.free()
	names := slices.Sorted(maps.Keys(s.Headers))
	var headers []string
	for _, n := range names {
		headers = append(headers, s.Headers[n])
	}
	stop := new(atomic.Int32) // pinned, because C reads it while Go may write it
	var pinner runtime.Pinner
	pinner.Pin(stop)
	defer pinner.Unpin()
	defer context.AfterFunc(ctx, func() { stop.Store(1) })()

	job := (*C.tvmgo_nvrtc_job)(C.calloc(1, C.sizeof_tvmgo_nvrtc_job))
	defer C.free(unsafe.Pointer(job))
	defer C.tvmgo_nvrtc_done(job)
	*job = C.tvmgo_nvrtc_job{
		code: m.text(s.Code), name: m.text(s.Name),
		num_headers: C.int(len(names)), header_code: m.list(headers), header_names: m.list(names),
		num_options: C.int(len(options)), options: m.list(options),
		num_names: C.int(len(s.Names)), names: m.list(s.Names),
		stop: (*C.int)(unsafe.Pointer(stop)),
	}
	if s.Want == CUBIN {
		job.cubin = 1
	}
	if s.Resources {
		job.assemble = 1
	}
	dl.Quietly(func() { C.tvmgo_nvrtc_run(c.api, job) })
	full := C.GoStringN(job.log, C.int(job.log_size))
	log := bounded(full)
	if s.Resources {
		log = bounded(withoutReport(full))
	}
	if job.rc != 0 {
		return output{}, c.failed(ctx, s, job, log)
	}
	if job.image_size == 0 {
		return output{}, c.fail(s, ErrInvalid, "the result contains no %s: the options request another kind of result",
			s.Want)
	}
	r := Result{Image: C.GoBytes(unsafe.Pointer(job.image), C.int(job.image_size)), Kind: s.Want, Log: log}
	if s.Want == PTX {
		r.Image = r.Image[:len(strings.TrimRight(string(r.Image), "\x00"))]
	}
	for i, lowered := range unsafe.Slice(job.lowered, len(s.Names)) {
		if r.Names == nil {
			r.Names = make(map[string]string, len(s.Names))
		}
		r.Names[s.Names[i]] = C.GoString(lowered)
	}
	o := output{Result: r}
	if s.Resources {
		o.Cubin, o.Report = C.GoBytes(unsafe.Pointer(job.cubin_image), C.int(job.cubin_size)), full
	}
	return o, nil
}

// Values of nvrtcResult that get their own error messages.
const (
	invalidOption = 5
	compilation   = 6
	nameUnknown   = 10
	cancelled     = 16
)

// failed returns the error for a result of NVRTC.
func (c *Compiler) failed(ctx context.Context, s Source, job *C.tvmgo_nvrtc_job, log string) error {
	var e *Error
	switch text := c.errorText(job.rc); job.rc {
	case invalidOption:
		e = c.fail(s, ErrInvalid, "one of these options is invalid: %s", strings.Join(c.options(s), " "))
	case compilation:
		// NVRTC reports an architecture with a wrong or missing letter as an error in the code.
		if strings.Contains(log, "--nv_arch flag") {
			e = c.fail(s, ErrInvalid, "this NVRTC does not support %s; it supports %s", s.Arch, c.archNames())
			break
		}
		e = c.fail(s, ErrCompile, "the code does not compile%s", c.headerHint(log))
	case nameUnknown:
		e = c.fail(s, ErrInvalid, "one of these name expressions is invalid: %s", strings.Join(s.Names, ", "))
	case cancelled:
		if err := ctx.Err(); err != nil {
			e = c.fail(s, err, "%v", err)
			break
		}
		fallthrough
	default:
		e = c.fail(s, nil, "%s: %s", C.GoString(job.failed), text)
	}
	e.Log = log
	return e
}

// headerHint returns the continuation of an error about a header that was not found; "" for other errors.
func (c *Compiler) headerHint(log string) string {
	install := "install the CUDA toolkit or the wheels nvidia-cuda-runtime, nvidia-cuda-crt and nvidia-cuda-cccl, " +
		"or set CUDA_HOME"
	if c.major < 13 {
		install = fmt.Sprintf("install the CUDA toolkit or the wheels nvidia-cuda-runtime-cu%d, "+
			"nvidia-cuda-nvcc-cu%[1]d and nvidia-cuda-cccl-cu%[1]d, or set CUDA_HOME", c.major)
	}
	switch {
	case !strings.Contains(log, "could not open source file") && !strings.Contains(log, "cannot open source file"):
		return ""
	case len(c.include) == 0:
		return "; no CUDA headers were found: " + install
	default:
		return fmt.Sprintf("; CUDA headers were searched for in %s: if a CUDA header is missing, %s",
			strings.Join(c.include, ", "), install)
	}
}

// memory is a list of C allocations that are freed together.
type memory []unsafe.Pointer

func (m *memory) text(s string) *C.char {
	p := C.CString(s)
	*m = append(*m, unsafe.Pointer(p))
	return p
}

func (m *memory) list(texts []string) **C.char {
	if len(texts) == 0 {
		return nil
	}
	p := (**C.char)(C.calloc(C.size_t(len(texts)), C.size_t(unsafe.Sizeof((*C.char)(nil)))))
	*m = append(*m, unsafe.Pointer(p))
	for i, t := range texts {
		unsafe.Slice(p, len(texts))[i] = m.text(t)
	}
	return p
}

func (m *memory) free() {
	for _, p := range *m {
		C.free(p)
	}
}
