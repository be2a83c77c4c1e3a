package blob

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"tvmgo/internal/modulekind"
)

// Scanner reads exactly one payload of a module kind from r. It reports corrupt bytes by [Reader.Fail] or by its own
// error. The layout identifies the generation that wrote the payload.
type Scanner func(r *Reader, layout Layout) error

// Kinds maps module kinds to the scanners of their legacy payloads. It is safe for concurrent use.
type Kinds struct {
	mu       sync.RWMutex
	scanners map[string]Scanner
}

// NewKinds returns a table with the scanners of the kinds that TVM defines.
func NewKinds() *Kinds {
	k := &Kinds{scanners: map[string]Scanner{}}
	for _, kind := range modulekind.All() {
		scan := formScanners[kind.Form]
		if scan == nil || kind.Family {
			continue
		}
		k.scanners[kind.Name] = scan
		if kind.OldName != "" {
			k.scanners[kind.OldName] = scan
		}
	}
	return k
}

var defaultKinds = sync.OnceValue(NewKinds)

// DefaultKinds returns the table that [Parse] uses by default and that [Register] adds to.
func DefaultKinds() *Kinds { return defaultKinds() }

// Register adds a scanner to [DefaultKinds].
func Register(kind string, scan Scanner) error { return DefaultKinds().Register(kind, scan) }

// Register adds a scanner. It is an error if the kind has one already.
func (k *Kinds) Register(kind string, scan Scanner) error {
	if kind == "" || kind == LibraryKey || kind == ImportTreeKey || scan == nil {
		return fmt.Errorf("blob: register scanner: kind %q: a name and a scanner are needed", kind)
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

// Lookup returns the scanner of a kind, or nil. Kinds that end in "_json" share a scanner unless one was registered.
func (k *Kinds) Lookup(kind string) Scanner {
	k.mu.RLock()
	scan := k.scanners[kind]
	k.mu.RUnlock()
	if scan == nil {
		if known := modulekind.Find(kind); known != nil && known.Family {
			return formScanners[known.Form]
		}
	}
	return scan
}

// Names returns the kinds that have a scanner of their own, sorted.
func (k *Kinds) Names() []string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return slices.Sorted(maps.Keys(k.scanners))
}

// scan runs a scanner. An error of the reader takes precedence over the scanner's result.
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

// inKind adds the kind of the module to a format error.
func inKind(err error, kind string) error {
	var format *FormatError
	if !errors.As(err, &format) {
		return err
	}
	return &FormatError{Offset: format.Offset, What: fmt.Sprintf("module of kind %q: %s", kind, format.What),
		Problem: format.Problem}
}

// LoaderImport returns the package of this Go module that must be imported to load modules of a kind, or "" if none
// does.
func LoaderImport(kind string) string {
	if k := modulekind.Find(kind); k != nil {
		return k.Import
	}
	return ""
}

// Unsupported explains why modules of a known kind cannot be used, and what to do instead; "" for other kinds.
func Unsupported(kind string) string {
	if k := modulekind.Find(kind); k != nil {
		return k.Unsupported
	}
	return ""
}
