// Package nvrtc compiles CUDA source with NVIDIA's compiler library NVRTC, which it opens when it is first needed:
// building this module needs no file of NVIDIA, and compiling CUDA source needs no GPU.
//
//	c, err := nvrtc.Find()
//	result, err := c.CompileCached(ctx, nvrtc.Source{Name: "add.cu", Code: code, Arch: "sm_90", Want: nvrtc.PTX})
//
// # Which library
//
// TVMGO_NVRTC, if it is set: the library, or a folder that holds one, be it of the library itself, of a CUDA toolkit,
// of Python packages or of a virtual environment. Otherwise: libnvrtc.so.13, .12 and .11.2 where the dynamic linker
// looks; the toolkits in /usr/local/cuda*; the wheels nvidia-cuda-nvrtc* in $VIRTUAL_ENV and in the folders of packages
// that belong to the python3 on the PATH, which is not run. Of several the newest that the driver can run is taken
// (FindFor). NVRTC 11.2 and newer are taken.
//
// # Headers
//
// Sources may include the headers of CUDA (cuda_fp16.h, mma.h, cooperative_groups.h) and of its C++ library
// (cuda/std/cstdint). Their folders are looked for beside the library (a toolkit's, or those of the wheels
// nvidia-cuda-runtime, nvidia-cuda-crt and nvidia-cuda-cccl), then in CUDA_HOME, CUDA_PATH and /usr/local/cuda, and
// given to each compilation behind its own options (IncludeDirs). A source that includes none needs none.
package nvrtc
