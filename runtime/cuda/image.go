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

// maxLog is the most bytes of the messages of the driver's compiler that an error contains.
const maxLog = 16 << 10

// deviceText names a device for messages, with its model and architecture.
func deviceText(dev int) string {
	d := C.tvmgo_cu_at(C.int32_t(dev))
	return fmt.Sprintf("cuda:%d (%s, sm_%d%d)", dev, C.GoString(&d.name[0]), int(d.major), int(d.minor))
}

// loadedOn returns the code that is loaded on a device. At the first call it compiles the code, if it is source, and
// loads it. Errors begin with what.
func (c *code) loadedOn(dev int, what string) (*loadedImage, error) {
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

// epoch returns the epoch of a device: objects of earlier epochs are lost (renew.c).
func epoch(dev int) uint32 { return uint32(C.tvmgo_cu_epoch(C.int32_t(dev))) }

// isSource reports whether the code is source. It checks the code itself, because modules with the format "cuda" may
// contain compiled code.
func (c *code) isSource() bool {
	if c.of.Format != sourceFormat {
		return false // if it is not a valid image, the driver reports that
	}
	info, err := cudaimage.Describe(c.of.Data)
	return err != nil || info.Format == cudaimage.Source
}

// load loads the image on a device. It uses C instead of the Go binding for two reasons: the driver's compiler writes
// its log to memory that options point to, and the context must be set on the thread that loads the image.
func (l *loadedImage) load(dev int, what string) error {
	rc, log := l.tryLoad(dev, l.image)
	if older := l.inOlderPTX(); rc == C.CUDA_ERROR_UNSUPPORTED_PTX_VERSION && older != nil {
		if again, more := l.tryLoad(dev, older); again <= 0 {
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
	return l.loadError(C.CUresult(rc), dev, what, log)
}

// tryLoad loads an image and returns the driver's code and its compiler's log, or -1 with an error raised.
func (l *loadedImage) tryLoad(dev int, image []byte) (C.int, string) {
	ended := append(image[:len(image):len(image)], 0) // PTX must end with a zero byte
	log := (*C.char)(C.malloc(maxLog))
	defer C.free(unsafe.Pointer(log))
	rc := C.tvmgo_cu_load(C.tvmgo_cu_at(C.int32_t(dev)), unsafe.Pointer(&ended[0]), &l.module, log, maxLog)
	return rc, strings.TrimSpace(C.GoString(log))
}

// loadError returns the error of a failed load, with the reason why the driver cannot load the image.
func (l *loadedImage) loadError(rc C.CUresult, dev int, what, log string) error {
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
		rc = C.CUDA_ERROR_NO_BINARY_FOR_GPU // PTX for a newer architecture is not invalid PTX
	}
	switch rc {
	case C.CUDA_ERROR_NO_BINARY_FOR_GPU:
		return kernels.NotSupported("%s: compile it for sm_%d%d, or add PTX for compute_%d%d or older%s", text, major, minor,
			major, minor, log)
	case C.CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
		return kernels.NotSupported("%s, in PTX %s, but the driver supports only the PTX of CUDA %s: update the driver, or "+
			"compile with CUDA %s or older%s",
			text, l.versionsOfPTX(), driverVersion(), driverVersion(), log)
	case C.CUDA_ERROR_JIT_COMPILER_NOT_FOUND, C.CUDA_ERROR_JIT_COMPILATION_DISABLED:
		return unavailable("%s: PTX needs the driver's compiler, libnvidia-ptxjitcompiler.so.1, and CUDA_DISABLE_PTX_JIT "+
			"must not be set: install the compiler, or compile to a cubin for sm_%d%d%s",
			text, major, minor, log)
	case C.CUDA_ERROR_INVALID_IMAGE, C.CUDA_ERROR_INVALID_PTX, C.CUDA_ERROR_INVALID_SOURCE:
		return kernels.Corrupt("%s%s", text, log)
	}
	return codeError{rc, fmt.Sprintf("%s does not load on %s: %s%s", what, deviceText(dev), image, log)}
}

// fits reports whether an image has PTX for an architecture. It is true if that cannot be determined.
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

// versionsOfPTX lists the PTX versions in the image.
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
		return "of an unknown version"
	}
	return strings.Join(list, ", ")
}

func driverVersionNumber() int { return int(C.tvmgo_cu_driver_version) }

func driverVersion() string { return versionText(driverVersionNumber()) }

// kernel loads a kernel on a device.
func (c *code) kernel(k *C.cu_function, f *blob.Function, dev int) error {
	l, err := c.loadedOn(dev, "kernel "+f.Key)
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

// others lists the kernels of an image; "" if they cannot be determined.
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
	return ", which has: " + strings.Join(list, ", ") + more
}

// checkParams compares a kernel's description with the parameters in its image, if they can be determined. With too few
// parameters in the description, the driver would read beyond the arguments.
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
					return kernels.Corrupt("kernel %s: argument %d has %d bytes in its image, but %d in its description (%v)",
						f.Key, i, size, want, f.ArgTypes[i])
				}
			}
		}
	}
	return nil
}
