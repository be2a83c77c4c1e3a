#!/bin/sh
# Runs a command in an environment in which Go, C and C++ compile for arm64 and programs for arm64 run, under qemu-user.
#
#   build/scripts/arm64.sh COMMAND…            such as: build/scripts/arm64.sh go test -tags cuda,opencl ./target
#   QEMU_CPU=max,sve-default-vector-length=32 build/scripts/arm64.sh COMMAND…      an Arm CPU with SVE of 256 bits
#
# cc, gcc, c++, g++ and clang then compile for arm64. The Linux kernel starts qemu for each program for arm64, also if a
# test starts it (binfmt_misc). That needs no root from Linux 6.7 on: the setting is valid for this command alone. With
# an older kernel, Debian's package qemu-user-binfmt or qemu-user-static sets it for the machine.
set -eu
triplet=aarch64-linux-gnu
fail() { echo "arm64.sh: $*" >&2; exit 1; }

if [ "${TVMGO_ARM64:-}" != inside ]; then
  [ $# -gt 0 ] || fail "usage: arm64.sh COMMAND…"
  qemu=$(command -v qemu-aarch64) || fail "there is no qemu-aarch64: run make deps (Debian: apt install qemu-user)"
  for tool in $triplet-gcc $triplet-g++; do
    command -v $tool >/dev/null || fail "there is no $tool: run make deps (Debian: apt install g++-$triplet)"
  done
  # Compilers with the names that tests and users call. The CPU of this machine is not the one that they compile for.
  # They are outside of the source tree, which some tests hide from the programs that they run.
  bin=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/tvmgo-arm64/bin
  mkdir -p "$bin"
  outside=$(echo "$PATH" | sed "s#$bin:##g")
  wrapper() { # NAME COMMAND…
    name=$1
    shift
    cat >"$bin/.$name.$$" <<EOF
#!/bin/sh
for arg; do
  shift
  case \$arg in
    -march=native | -mcpu=native | -mtune=native) ;;
    --target=aarch64-*linux-gnu) set -- "\$@" --target=$triplet ;; # with which clang finds Debian's linker
    *) set -- "\$@" "\$arg" ;;
  esac
done
exec $* "\$@"
EOF
    chmod +x "$bin/.$name.$$"
    mv "$bin/.$name.$$" "$bin/$name"
  }
  for pair in cc:gcc gcc:gcc c++:g++ g++:g++; do
    wrapper "${pair%:*}" "$(PATH=$outside command -v "$triplet-${pair#*:}")"
  done
  for name in clang clang++; do
    path=$(PATH=$outside command -v $name) && wrapper $name "$path" --target=$triplet
  done
  for tool in ar objcopy objdump nm strip readelf ranlib; do
    ln -sf "$(PATH=$outside command -v $triplet-$tool)" "$bin/$tool"
  done
  lld=$(PATH=$outside command -v ld.lld) && ln -sf "$lld" "$bin/$triplet-ld.lld" # as gcc calls it for -fuse-ld=lld
  case :$PATH: in *:"$bin":*) ;; *) PATH=$bin:$PATH ;; esac
  export PATH QEMU_LD_PREFIX=/usr/$triplet GOARCH=arm64 CGO_ENABLED=1 CC="$bin/gcc" CXX="$bin/g++"
  export TVMGO_ARM64=inside QEMU="$qemu"
  export ASAN_OPTIONS=detect_leaks=0 # the search for leaks stops threads in a way that qemu-user lacks
  # Is the machine set up already?
  if grep -qs '^enabled' /proc/sys/fs/binfmt_misc/*aarch64*; then exec "$@"; fi
  exec unshare --user --map-root-user --mount -- "$0" "$@"
fi

mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc ||
  fail "cannot set binfmt_misc: with Linux before 6.7, install Debian's package qemu-user-static or qemu-user-binfmt"
magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
printf '%s' ":qemu-aarch64:M::$magic:$mask:$QEMU:F" >/proc/sys/fs/binfmt_misc/register
exec "$@"
