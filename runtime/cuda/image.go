//go:build cuda

package cuda

/*
#include <stdlib.h>
#include "gobridge.h"
#include "launch.h"
*/
import "C"

import (
	"fmt"
	"strings"
	"unsafe"

	"tvmgo/blob"
	"tvmgo/internal/cudaimage"
	"tvmgo/internal/kernels"
)

// maxLog bounds what an error shows of the messages of the driver's compiler.
const maxLog = 16 << 10

// deviceText is a device as messages show it.
func deviceText(dev int) string {
	d := C.tvmgo_cu_at(C.int32_t(dev))
	return fmt.Sprintf("cuda:%d (%s, sm_%d%d)", dev, C.GoString(&d.name[0]), int(d.major), int(d.minor))
}

// on is the code on a device; the first time it is compiled, if it is source, and loaded. what wants it, for errors.
func (c *code) on(dev int, what string) (*loadedImage, error) {
	if l, ok := c.loaded[dev]; ok && l.epoch == epoch(dev) {
		return l, nil
	}
	l := &loadedImage{image: c.of.Data, epoch: epoch(dev)}
	if c.isSource() {
		var err error
		if l.image, err = c.compile(dev, what); err != nil {
			return nil, err
		}
	}
	if info, err := cudaimage.Describe(l.image); err == nil {
		l.about = &info
	}
	if err := l.load(dev, what); err != nil {
		return nil, err
	}
	c.loaded[dev] = l
	return l, nil
}

// epoch counts the contexts of a device that others have reset: what is of another one is gone.
func epoch(dev int) uint32 { return uint32(C.tvmgo_cu_epoch(C.int32_t(dev))) }

// isSource tells source from compiled code by the code itself: what a module calls its format is not always what it
// holds.
func (c *code) isSource() bool {
	if c.of.Format != sourceFormat {
		return false // the driver says what is wrong with an image that is none
	}
	info, err := cudaimage.Describe(c.of.Data)
	return err != nil || info.Format == cudaimage.Source
}

// load gives the image to the driver. It goes through C and not through the binding for the log of the driver's
// compiler, which writes into memory that options point to, and so that context and call stay on one thread.
func (l *loadedImage) load(dev int, what string) error {
	rc, log := l.give(dev, l.image)
	if older := l.inOlderPTX(); rc == C.CUDA_ERROR_UNSUPPORTED_PTX_VERSION && older != nil {
		if again, more := l.give(dev, older); again <= 0 {
			rc = again
		} else {
			log += "\nas PTX " + newestPTX() + ": " + codeText(C.CUresult(again)) + "\n" + more
		}
	}
	switch {
	case rc < 0:
		return kernels.Raised()
	case rc == C.CUDA_SUCCESS:
		return nil
	}
	return l.refused(C.CUresult(rc), dev, what, log)
}

// give is one try; the answer is the driver's code with its compiler's log, or -1 with an error raised.
func (l *loadedImage) give(dev int, image []byte) (C.int, string) {
	ended := append(image[:len(image):len(image)], 0) // where PTX ends
	log := (*C.char)(C.malloc(maxLog))
	defer C.free(unsafe.Pointer(log))
	rc := C.tvmgo_cu_load(C.tvmgo_cu_at(C.int32_t(dev)), unsafe.Pointer(&ended[0]), &l.module, log, maxLog)
	return rc, strings.TrimSpace(C.GoString(log))
}

// refused says why the driver does not take the image.
func (l *loadedImage) refused(rc C.CUresult, dev int, what, log string) error {
	image := "the image"
	if l.about != nil {
		image = fmt.Sprintf("the image (%s) is for %s", l.about.Format, l.about.For())
	} else if _, err := cudaimage.Describe(l.image); err != nil {
		image = err.Error()
	}
	if log != "" {
		log = "\n" + log
	}
	major, minor := C.tvmgo_cu_at(C.int32_t(dev)).major, C.tvmgo_cu_at(C.int32_t(dev)).minor
	text := fmt.Sprintf("%s does not load on %s: %s: %s", what, deviceText(dev), codeText(rc), image)
	if rc == C.CUDA_ERROR_INVALID_PTX && !l.fits(int(major)*10+int(minor)) {
		rc = C.CUDA_ERROR_NO_BINARY_FOR_GPU // PTX for a newer architecture is no wrong PTX
	}
	switch rc {
	case C.CUDA_ERROR_NO_BINARY_FOR_GPU:
		return kernels.NotSupported("%s: compile it for sm_%d%d, or add PTX for compute_%d%d or older%s", text, major, minor,
			major, minor, log)
	case C.CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
		return kernels.NotSupported("%s, in PTX %s, and the driver knows that of CUDA %s: update the driver, or compile "+
			"with CUDA %s or older%s",
			text, l.versionsOfPTX(), driverVersion(), driverVersion(), log)
	case C.CUDA_ERROR_JIT_COMPILER_NOT_FOUND, C.CUDA_ERROR_JIT_COMPILATION_DISABLED:
		return unavailable("%s: PTX needs the driver's compiler, libnvidia-ptxjitcompiler.so.1 (and CUDA_DISABLE_PTX_JIT "+
			"not set): install it, or compile to a cubin for sm_%d%d%s",
			text, major, minor, log)
	case C.CUDA_ERROR_INVALID_IMAGE, C.CUDA_ERROR_INVALID_PTX, C.CUDA_ERROR_INVALID_SOURCE:
		return kernels.Corrupt("%s%s", text, log)
	}
	return codeError{rc, fmt.Sprintf("%s does not load on %s: %s%s", what, deviceText(dev), image, log)}
}

// fits says whether an image has PTX for an architecture, as far as that is seen.
func (l *loadedImage) fits(device int) bool {
	if l.about == nil {
		return true
	}
	for _, p := range l.about.Parts {
		var arch int
		var letter string
		n, _ := fmt.Sscanf(p.Arch, "sm_%d%s", &arch, &letter)
		if p.Format == cudaimage.PTX && (n == 0 || arch < device && letter == "" || arch == device) {
			return true
		}
	}
	return false
}

// ptxVersions are those in the image.
func (l *loadedImage) versionsOfPTX() string {
	var list []string
	if l.about != nil {
		for _, p := range l.about.Parts {
			if p.PTXVersion != "" {
				list = append(list, p.PTXVersion)
			}
		}
	}
	if list == nil {
		return "of a version that cannot be seen"
	}
	return strings.Join(list, ", ")
}

func driverVersionNumber() int { return int(C.tvmgo_cu_driver_version) }

func driverVersion() string { return versionText(driverVersionNumber()) }

// kernel loads a kernel on a device.
func (c *code) kernel(k *C.cu_function, f *blob.Function, dev int) error {
	l, err := c.on(dev, "kernel "+f.Key)
	if err != nil {
		return err
	}
	if err := l.checkParams(f); err != nil {
		return err
	}
	rc := C.tvmgo_cu_built_make(k, C.tvmgo_cu_at(C.int32_t(dev)), l.module)
	switch {
	case rc < 0:
		return kernels.Raised()
	case rc == C.CUDA_SUCCESS:
		return nil
	case rc == C.CUDA_ERROR_NOT_FOUND:
		return kernels.Corrupt("kernel %s is not in the image%s", f.Name, l.others(f.Name))
	}
	return codeError{C.CUresult(rc), fmt.Sprintf("kernel %s on %s", f.Key, deviceText(dev))}
}

// others says which kernels an image has, as far as that is seen.
func (l *loadedImage) others(name string) string {
	if l.about == nil {
		return ""
	}
	list := l.about.Kernels()
	for _, other := range list {
		if strings.HasPrefix(other, "_Z") && strings.Contains(other, name) {
			return fmt.Sprintf(", but %s: put extern \"C\" before it in its source", other)
		}
	}
	if list == nil {
		return ""
	}
	const most = 16
	more := ""
	if len(list) > most {
		list, more = list[:most], fmt.Sprintf(" and %d more", len(list)-most)
	}
	return "; there are: " + strings.Join(list, ", ") + more
}

// checkParams compares a kernel's description with its parameters, where the image tells them: the driver would read
// beyond ours.
func (l *loadedImage) checkParams(f *blob.Function) error {
	if l.about == nil {
		return nil
	}
	for _, p := range l.about.Parts {
		for _, k := range p.Kernels {
			if k.Name != f.Name || k.Params == nil {
				continue
			}
			if len(k.Params) != len(f.ArgTypes) {
				return kernels.Corrupt("kernel %s has %d arguments in its image, but %d in its description", f.Key, len(k.Params),
					len(f.ArgTypes))
			}
			for i, size := range k.Params {
				want := 8
				if f.ArgTypes[i].Bits == 32 { // handles have 64
					want = 4
				}
				if i < len(f.ArgExtraTags) && f.ArgExtraTags[i] == blob.ExtraTagTensorMap {
					want = C.sizeof_CUtensorMap
				}
				if size != want {
					return kernels.Corrupt("kernel %s: argument %d has %d bytes in its image, but %d in its description (%v)", f.Key,
						i, size, want, f.ArgTypes[i])
				}
			}
		}
	}
	return nil
}
