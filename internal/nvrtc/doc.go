// Package nvrtc compiles CUDA source with NVIDIA's compiler library NVRTC. It opens the library when it is first
// needed, so that this module builds without files of NVIDIA. Compiling CUDA source needs no GPU.
//
//	c, err := nvrtc.Find()
//	result, err := c.CompileCached(ctx, nvrtc.Source{Name: "add.cu", Code: code, Arch: "sm_90", Want: nvrtc.PTX})
//
// # Which library
//
// If TVMGO_NVRTC is set, it names the library, or a folder: the library's own folder, a CUDA toolkit, a folder of
// Python packages, or a virtual environment. Otherwise the package searches for
//   - libnvrtc.so.13, .12 and .11.2 on the dynamic linker's path,
//   - the toolkits in /usr/local/cuda*,
//   - the wheels nvidia-cuda-nvrtc* in $VIRTUAL_ENV and in the package folders of the python3 on the PATH, which is not
//     run.
//
// Of several libraries it opens the newest one whose code the driver can run (FindFor), or that compiles for an
// architecture (FindArch). NVRTC 11.2 is the oldest version that is supported.
//
// # Headers
//
// Sources may include the headers of CUDA (cuda_fp16.h, mma.h, cooperative_groups.h) and of the CUDA C++ library
// (cuda/std/cstdint). The package searches for their folders beside the library (in the toolkit, or in the wheels
// nvidia-cuda-runtime, nvidia-cuda-crt and nvidia-cuda-cccl), then in CUDA_HOME, CUDA_PATH and /usr/local/cuda. Each
// compilation gets these folders after its own options (IncludeDirs). A source without such headers needs none of them.
package nvrtc
