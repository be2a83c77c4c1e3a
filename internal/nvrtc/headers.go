package nvrtc

import (
	"os"
	"path/filepath"
	"slices"
)

// includeDirs are the folders of CUDA's headers for a library: of the first place that has them, of the first that has
// those that they include, and of the first that has the C++ library, which since CUDA 13 lies below the others.
func includeDirs(library string) []string {
	beside := filepath.Dir(library)
	places := []string{
		filepath.Join(beside, "../include"),                 // a toolkit's lib64, and the wheels of CUDA 13
		filepath.Join(beside, "../../cuda_runtime/include"), // the wheels of CUDA 11 and 12
		filepath.Join(beside, "../../cuda_nvcc/include"),
		filepath.Join(beside, "../../cuda_cccl/include"),
		filepath.Join(beside, "../../include"), // Debian's packages
	}
	for _, variable := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if dir := os.Getenv(variable); filepath.IsAbs(dir) {
			places = append(places, filepath.Join(dir, "include"))
		}
	}
	places = append(places, "/usr/local/cuda/include")
	var list []string
	for _, header := range []string{"cuda_fp16.h", "crt/mma.h", "cuda/std/cstdint"} {
		if dir := firstWith(header, places); dir != "" && !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return list
}

func firstWith(header string, places []string) string {
	for _, p := range places {
		for _, dir := range []string{p, filepath.Join(p, "cccl")} {
			if info, err := os.Stat(filepath.Join(dir, header)); err == nil && info.Mode().IsRegular() {
				return dir
			}
		}
	}
	return ""
}
