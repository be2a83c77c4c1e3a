package blob

import (
	"fmt"
	"strings"
)

// Layout is one of the formats of blobs. It also determines how many fields a binary [FunctionInfo] has.
type Layout uint8

const (
	// Legacy is TVM v0.20 and older: entries with keys, payloads without a length, the import tree last.
	Legacy Layout = iota
	// LegacyFFI is TVM v0.21 alone: like Legacy, but a FunctionInfo has a fourth field.
	LegacyFFI
	// Modern is TVM v0.22 and newer: the import tree first, payloads with their length.
	Modern
)

// Symbols under which libraries export their blob. In a system library, its prefix precedes them.
const (
	LegacySymbol    = "__tvm_dev_mblob"
	LegacyFFISymbol = "__tvm_ffi_library_bin"
	ModernSymbol    = "__tvm_ffi__library_bin"
)

// Keys of entries that are not serialized modules.
const (
	LibraryKey    = "_lib"         // the library that carries the blob
	ImportTreeKey = "_import_tree" // legacy layouts only
)

// LayoutOf returns the layout for a symbol, with or without the prefix of a system library.
func LayoutOf(symbol string) (Layout, bool) {
	switch {
	case strings.HasSuffix(symbol, LegacySymbol):
		return Legacy, true
	case strings.HasSuffix(symbol, LegacyFFISymbol):
		return LegacyFFI, true
	case strings.HasSuffix(symbol, ModernSymbol):
		return Modern, true
	}
	return 0, false
}

// Symbol returns the name under which a library exports a blob of this layout.
func (l Layout) Symbol() string {
	switch l {
	case Legacy:
		return LegacySymbol
	case LegacyFFI:
		return LegacyFFISymbol
	}
	return ModernSymbol
}

// String returns the name of the layout, for messages.
func (l Layout) String() string {
	switch l {
	case Legacy:
		return "legacy"
	case LegacyFFI:
		return "legacy-ffi"
	case Modern:
		return "modern"
	}
	return fmt.Sprintf("layout(%d)", uint8(l))
}

// hasExtraTags reports whether a binary FunctionInfo ends with arg_extra_tags.
func (l Layout) hasExtraTags() bool { return l != Legacy }
