# Makes kernels.ptx, kernels.cubin and kernels.fatbin from kernels.cu, with the compilers of
# build/scripts/requirements.txt:
#   build/.cache/venv/bin/python runtime/cuda/testdata/build.py
import ctypes, glob, os, subprocess, sysconfig

here = os.path.dirname(os.path.abspath(__file__))
nvidia = sysconfig.get_paths()["purelib"] + "/nvidia/cu13"
ctypes.CDLL(glob.glob(nvidia + "/lib/libnvrtc-builtins.so.1*")[0])
library = ctypes.CDLL(glob.glob(nvidia + "/lib/libnvrtc.so.1*")[0])


def compile(kind, arch):
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    source = open(here + "/kernels.cu", "rb").read()
    check = lambda rc: rc == 0 or exit("nvrtc: %d\n%s" % (rc, log()))

    def log():
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, text)
        return text.value.decode()

    check(library.nvrtcCreateProgram(ctypes.byref(program), source, b"kernels.cu", 0, None, None))
    options = (ctypes.c_char_p * 1)(b"--gpu-architecture=" + arch)
    check(library.nvrtcCompileProgram(program, 1, options))
    check(getattr(library, "nvrtcGet%sSize" % kind)(program, ctypes.byref(size)))
    image = ctypes.create_string_buffer(size.value)
    check(getattr(library, "nvrtcGet" + kind)(program, image))
    return image.raw


ptx = compile("PTX", b"compute_90").rstrip(b"\0")
# Nothing in it is newer than PTX 8.0, which drivers since CUDA 12.0 know.
ptx = b"\n".join(b".version 8.0" if line.startswith(b".version") else line for line in ptx.split(b"\n"))
cubin = compile("CUBIN", b"sm_90")
open(here + "/kernels.ptx", "wb").write(ptx)
open(here + "/kernels.cubin", "wb").write(cubin)

subprocess.run([nvidia + "/bin/fatbinary", "--64", "--compress=false", "--create=" + here + "/kernels.fatbin",
                "--image3=kind=ptx,sm=90,file=" + here + "/kernels.ptx",
                "--image3=kind=elf,sm=90,file=" + here + "/kernels.cubin"], check=True)
