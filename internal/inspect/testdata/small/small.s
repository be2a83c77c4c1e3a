# A module of about a kilobyte: a function with metadata, a context slot, an import, and a blob with an imported module
# of kind cuda.
#   as --32 small.s -o s.o &&
#     ld -m elf_i386 -shared -s -z noseparate-code -z norelro --hash-style=sysv s.o -o small32.so
#   as --64 --defsym WIDE=1 small.s -o s.o &&
#     ld -m elf_x86_64 -shared -s -z noseparate-code -z norelro --hash-style=gnu s.o -o small64.so
.text
.globl __tvm_ffi_f, __tvm_ffi__metadata_f, __tvm_ffi__doc_f, __tvm_ffi__library_ctx, __tvm_ffi__library_bin
.type __tvm_ffi_f, @function
.type __tvm_ffi__metadata_f, @function
.type __tvm_ffi__doc_f, @function
.type __tvm_ffi__library_ctx, @object
.type __tvm_ffi__library_bin, @object
__tvm_ffi_f:
__tvm_ffi__metadata_f:
__tvm_ffi__doc_f:
  ret
.data
__tvm_ffi__library_ctx: .quad 0
.ifdef WIDE
.quad TVMFFIFunctionCall, expf
.else
.long TVMFFIFunctionCall, expf
.endif
.section .rodata
__tvm_ffi__library_bin:
.quad 207                                   # bytes that follow
.quad 3, 0, 1, 1, 1, 1                      # module 0 imports module 1
.quad 4
.ascii "_lib"
.quad 4
.ascii "cuda"
.quad 127                                   # bytes of the module
.quad 3
.ascii "ptx"
.quad 1, 1                                  # one function, its key
.ascii "k"
.quad 1
.ascii "k"
.quad 2                                     # argument types: handle, int32
.byte 3, 64, 1, 0, 0, 32, 1, 0
.quad 2, 10                                 # launch tags
.ascii "blockIdx.x"
.quad 11
.ascii "threadIdx.x"
.quad 2, 0                                  # extra tags
.quad 5
.ascii "//PTX"
