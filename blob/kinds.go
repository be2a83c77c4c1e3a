package blob

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Scanner advances r over exactly one payload of a module kind and leaves it right behind. It reports damage through
// [Reader.Fail] or as its own error. The layout says which generation wrote the payload.
type Scanner func(r *Reader, layout Layout) error

// Kinds knows the extent of legacy payloads by kind. Safe for concurrent use.
type Kinds struct {
	mu       sync.RWMutex
	scanners map[string]Scanner
}

// jsonSuffix marks the accelerator runtimes that share one payload format ("dnnl_json", …).
const jsonSuffix = "_json"

// NewKinds returns a table of the built-in scanners.
func NewKinds() *Kinds { return &Kinds{scanners: maps.Clone(builtinScanners)} }

var defaultKinds = sync.OnceValue(NewKinds)

// DefaultKinds is the table that [Parse] uses by default and [Register] adds to.
func DefaultKinds() *Kinds { return defaultKinds() }

// Register adds a scanner to [DefaultKinds].
func Register(kind string, scan Scanner) error { return DefaultKinds().Register(kind, scan) }

// Register adds a scanner. A kind that has one already is an error.
func (k *Kinds) Register(kind string, scan Scanner) error {
	if kind == "" || kind == LibraryKey || kind == ImportTreeKey || scan == nil {
		return fmt.Errorf("blob: register scanner: kind %q and the scanner must be proper", kind)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, taken := k.scanners[kind]; taken {
		return fmt.Errorf("blob: register scanner: module kind %q has one already", kind)
	}
	if k.scanners == nil {
		k.scanners = map[string]Scanner{}
	}
	k.scanners[kind] = scan
	return nil
}

// Lookup returns the scanner of a kind or nil. Kinds that end in "_json" have one unless another was registered.
func (k *Kinds) Lookup(kind string) Scanner {
	k.mu.RLock()
	scan := k.scanners[kind]
	k.mu.RUnlock()
	if scan == nil && strings.HasSuffix(kind, jsonSuffix) {
		return scanJSONRuntime
	}
	return scan
}

// Names lists the kinds that have a scanner of their own, sorted.
func (k *Kinds) Names() []string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return slices.Sorted(maps.Keys(k.scanners))
}

// scan runs a scanner. A failure of the reader counts, whatever the scanner returned.
func (r *Reader) scan(scan Scanner, kind string, layout Layout) error {
	err := scan(r, layout)
	if r.err != nil {
		return inKind(r.err, kind)
	}
	if err != nil {
		return fmt.Errorf("blob: offset %d: payload of module kind %q: %w", r.Offset(), kind, err)
	}
	return nil
}

// inKind adds the kind to what a format error was reading.
func inKind(err error, kind string) error {
	var format *FormatError
	if !errors.As(err, &format) {
		return err
	}
	return &FormatError{Offset: format.Offset, What: fmt.Sprintf("module of kind %q: %s", kind, format.What), Problem: format.Problem}
}

// LoaderImport returns the package of ours whose import brings the loader of a module kind, or "" if there is none.
func LoaderImport(kind string) string {
	switch kind {
	case "cuda":
		return "tvmgo/runtime/cuda"
	case "opencl":
		return "tvmgo/runtime/opencl"
	case "vulkan":
		return "tvmgo/runtime/vulkan"
	}
	return ""
}

// Unsupported says why nothing loads modules of a kind that is well known, and what to do; "" of others.
func Unsupported(kind string) string {
	switch kind {
	case "GraphExecutorFactory", "GraphRuntimeFactory":
		return "this version cannot run graph executor files: run them with Apache TVM, or export the functions alone, without the graph"
	case "relax.Executable", "relax.VMExecutable":
		return "this version cannot run Relax files: run them with Apache TVM, or export the functions alone, without the executable"
	}
	return ""
}
