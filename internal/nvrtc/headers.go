package nvrtc

import (
	"os"
	"path/filepath"
	"slices"
)

// includeDirs returns the include folders of CUDA for a library: the first folder with the CUDA headers, the first with
// the headers that they include (crt), and the first with the CUDA C++ library, which CUDA 13 keeps in a subfolder.
func includeDirs(library string) []string {
	libraryDir := filepath.Dir(library)
	candidates := []string{
		filepath.Join(libraryDir, "../include"),                 // beside a toolkit's lib64; the wheels of CUDA 13
		filepath.Join(libraryDir, "../../cuda_runtime/include"), // the wheels of CUDA 11 and 12
		filepath.Join(libraryDir, "../../cuda_nvcc/include"),
		filepath.Join(libraryDir, "../../cuda_cccl/include"),
		filepath.Join(libraryDir, "../../include"), // the packages of Debian
	}
	for _, variable := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if dir := os.Getenv(variable); filepath.IsAbs(dir) {
			candidates = append(candidates, filepath.Join(dir, "include"))
		}
	}
	candidates = append(candidates, "/usr/local/cuda/include")
	var list []string
	for _, header := range []string{"cuda_fp16.h", "crt/mma.h", "cuda/std/cstdint"} {
		if dir := firstWith(header, candidates); dir != "" && !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return list
}

// firstWith returns the first folder that has the header itself or in its subfolder "cccl"; "" when none has it.
func firstWith(header string, candidates []string) string {
	for _, p := range candidates {
		for _, dir := range []string{p, filepath.Join(p, "cccl")} {
			if info, err := os.Stat(filepath.Join(dir, header)); err == nil && info.Mode().IsRegular() {
				return dir
			}
		}
	}
	return ""
}
