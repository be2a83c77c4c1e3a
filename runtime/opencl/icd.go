//go:build opencl

package opencl

/*
#include <stdlib.h>
#include "icd.h"
*/
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"
)

// icdFiles lists the files that name the drivers for the loader, and where it looks for them.
func icdFiles() (where string, files []string) {
	where = "/etc/OpenCL/vendors"
	for _, variable := range []string{"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"} {
		if v := os.Getenv(variable); v != "" {
			where = v
			break
		}
	}
	if strings.HasSuffix(where, ".icd") {
		return where, []string{where}
	}
	files, _ = filepath.Glob(filepath.Join(where, "*.icd"))
	return where, files
}

// brokenDrivers says of each driver that is named and cannot be opened, why. Loaders pass over those in silence.
func brokenDrivers() []string {
	var broken []string
	_, files := icdFiles()
	for _, file := range files {
		text, err := os.ReadFile(file)
		library := strings.TrimSpace(string(text))
		switch {
		case err != nil:
			broken = append(broken, err.Error())
		case library == "" || strings.ContainsAny(library, "\n\x00"):
			broken = append(broken, file+" does not name one library")
		default:
			if cause := whyNotOpened(library); cause != "" {
				broken = append(broken, fmt.Sprintf("%s names a driver that cannot be opened: %s", file, cause))
			}
		}
	}
	return broken
}

// whyNotOpened tries a driver's library; "" when it opens.
func whyNotOpened(library string) string {
	name := C.CString(library)
	defer C.free(unsafe.Pointer(name))
	var why [256]C.char
	if C.tvmgo_cl_opens(name, &why[0], C.size_t(len(why))) != 0 {
		return ""
	}
	return C.GoString(&why[0])
}

// noDriver says that the loader has no driver, and why where that can be seen.
func noDriver(loader, code string) error {
	where, files := icdFiles()
	cause := "no file in " + where + " names one"
	if broken := brokenDrivers(); len(broken) > 0 {
		cause = strings.Join(broken, "; ")
	} else if len(files) > 0 {
		cause = strings.Join(files, ", ") + ": what is named there has no platform"
	}
	return unavailable("%s was opened and finds no OpenCL driver: %s (%s): install a driver (Debian: pocl-opencl-icd "+
		"for CPUs), or set OCL_ICD_VENDORS to the folder of its .icd file",
		loader, cause, code)
}
