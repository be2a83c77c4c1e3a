package runtime

/*
#include <stdlib.h>
#include "bridge/bridge.h"
*/
import "C"

import (
	"errors"
	"io/fs"
	"os"
	"runtime/cgo"
	"sync"
	"syscall"
	"unsafe"

	"tvmgo/internal/datamodule"
	"tvmgo/internal/fault"
	"tvmgo/internal/signaturefile"
)

// Verifier decides whether a module may be loaded, by its signature. A *trust.Keys of package tvmgo/trust is one.
type Verifier interface {
	// Verify returns nil if content may be loaded, else an error that says why not. name is the path of the file, and
	// signature the content of the file with that name and ".minisig"; nil if there is none. content may be much larger
	// than what fits on the heap; it is valid during the call only, and must not be changed. Several goroutines may call
	// Verify at once.
	Verify(name string, content, signature []byte) error
}

// WithTrust loads only what the verifier accepts: Load and LoadFS read the signature of x.so from x.so.minisig beside
// it, and LoadBytes gets it from [WithSignature]. The error is ErrUntrusted, and errors.Is finds the error of the
// verifier.
//
// What was checked is what runs: Load copies the file into memory, checks the copy and opens that (see PrivateCopy), so
// that a later change of the file has no effect, and a change during the check is an error. The copy costs memory of
// the size of the file. The check covers what Load opens itself: the module file; an archive with its objects; the
// metadata beside the code of a kernel, which needs a signature of its own; and what loaders and constructors load in
// turn. A file that a loader of the program opens is refused, because it could not be checked. So is a library that the
// dynamic linker would open beside the file ($ORIGIN); the folders of the system are trusted. Weights (WithParams) are
// data and not checked: trust.Keys.VerifyFile does that.
//
// With the environment variable TVMGO_TRUSTED_KEYS, a file of public keys or a folder with them, every Load and LoadFS
// of the process checks signatures, also from C; the program must import tvmgo/trust for it. With both, both must
// accept the file. Bytes are part of the program: the environment does not apply to LoadBytes.
func WithTrust(v Verifier) LoadOption {
	return func(c *loadConfig) {
		if v == nil {
			v = noVerifier{}
		}
		c.trust = v
	}
}

// WithSignature gives the signature of the bytes that LoadBytes loads, for WithTrust: the content of a .minisig file.
func WithSignature(signature []byte) LoadOption {
	return func(c *loadConfig) { c.signature = signature }
}

// noVerifier accepts nothing: who asks for a check gets one.
type noVerifier struct{}

func (noVerifier) Verify(string, []byte, []byte) error {
	return errors.New("the verifier is nil: give runtime.WithTrust the keys that you trust")
}

// untrusted makes an error of a verifier.
func untrusted(name string, err error) error { return fault.Wrap("load "+name, ErrUntrusted, err) }

// handle returns a handle of the verifier for C, 0 if there is none, and what releases it.
func (c *loadConfig) handle() (C.uintptr_t, func()) {
	if c.trust == nil {
		return 0, func() {}
	}
	h := cgo.NewHandle(c.trust)
	return C.uintptr_t(h), h.Delete
}

// inherit takes over the verifier of the load that this one is within: this one may continue on another thread.
func (c *loadConfig) inherit() {
	if h := C.tvmgo_trust_verifier(); c.trust == nil && h != 0 {
		c.trust = cgo.Handle(h).Value().(Verifier)
	}
}

// opened returns the checked copy of an open file, which it closes; or the file itself if this load checks none.
func (c *loadConfig) opened(path string, f *os.File) (*os.File, error) {
	verifier, release := c.handle()
	defer release()
	cpath := C.CString(path)
	defer C.free(unsafe.Pointer(cpath))
	copied, err := result("", C.tvmgo_bridge_trust_open(cpath, C.int(f.Fd()), verifier))
	if err != nil {
		f.Close()
		return nil, err
	}
	if copied == 0 {
		return f, nil
	}
	return os.NewFile(uintptr(copied)-1, path), f.Close()
}

// Loaders of files in this module open them by package datamodule.
func init() {
	datamodule.Opened = (&loadConfig{}).opened
}

// verifyBytes checks bytes that are in memory.
func (c *loadConfig) verifyBytes(data []byte) error {
	if c.trust == nil {
		return nil
	}
	if c.signature == nil {
		return fault.New("load "+c.name, ErrUntrusted, "it is not signed: give the signature of the bytes by "+
			"runtime.WithSignature")
	}
	return untrusted(c.name, c.trust.Verify(c.name, data, c.signature))
}

// verifyFS checks the content of a file of fsys.
func (c *loadConfig) verifyFS(fsys fs.FS, name string, data []byte) error {
	keys := C.tvmgo_trust_keys()
	if c.trust == nil && keys == nil {
		return nil
	}
	signature, err := signaturefile.ReadFS(fsys, name)
	return verify(name, data, signature, err, keys, c.trust)
}

// verify checks content by the keys that the environment names and by a verifier; both may be nil.
func verify(name string, content, signature []byte, unread error, keys *C.char, v Verifier) error {
	if unread != nil {
		return untrusted(name, &fs.PathError{Op: "read", Path: name + signaturefile.Suffix, Err: unread})
	}
	if v != nil {
		if err := v.Verify(name, content, signature); err != nil {
			return untrusted(name, err)
		}
	}
	if keys == nil {
		return nil
	}
	k, err := environment.read(C.GoString(keys))
	if err == nil {
		err = k.Verify(name, content, signature)
	}
	return untrusted(name, err)
}

// environment has the keys of TVMGO_TRUSTED_KEYS, whose value does not change.
var environment environmentKeys

type environmentKeys struct {
	mu   sync.Mutex
	keys Verifier
}

// read reads the keys once; after an error, it tries again.
func (e *environmentKeys) read(path string) (Verifier, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.keys != nil {
		return e.keys, nil
	}
	const variable = "TVMGO_TRUSTED_KEYS"
	switch {
	case signaturefile.ReadKeys == nil:
		return nil, errors.New(variable + " is set, and this program has no code that checks signatures: " +
			"import tvmgo/trust")
	case path == "":
		return nil, errors.New(variable + " is set to nothing: give it a file or a folder of public keys, or unset it")
	}
	k, err := signaturefile.ReadKeys(path)
	if err != nil {
		return nil, fault.Wrap(variable, ErrUntrusted, err)
	}
	e.keys = k
	return k, nil
}

// tvmgoTrustCheck is called by the core for the open copy of a file.
//
//export tvmgoTrustCheck
func tvmgoTrustCheck(name, path *C.char, fd C.int, size C.size_t, keys *C.char, verifier C.uintptr_t) C.int {
	return guard(func() error {
		var content []byte
		if size > 0 {
			var err error
			content, err = syscall.Mmap(int(fd), 0, int(size), syscall.PROT_READ, syscall.MAP_PRIVATE)
			if err != nil {
				return fault.New("load "+C.GoString(name), ErrOutOfMemory, "mapping it to check its signature: %v", err)
			}
			defer syscall.Munmap(content)
		}
		var v Verifier
		if verifier != 0 {
			v = cgo.Handle(verifier).Value().(Verifier)
		}
		signature, err := signaturefile.Read(C.GoString(path))
		return verify(C.GoString(name), content, signature, err, keys, v)
	})
}
