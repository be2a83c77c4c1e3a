#!/bin/sh
# A C compiler whose programs and libraries run with glibc 2.28 (GLIBC) and newer, whatever glibc this machine has:
# "zig cc" of the wheel ziglang, which build/scripts/deps.sh installs and which has the headers of every glibc.
# `make tarball` and `make deb` set CC to it; GOARCH selects the machine.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
case ${GOARCH:-$(uname -m)} in
  amd64 | x86_64) arch=x86_64 ;;
  arm64 | aarch64) arch=aarch64 ;;
  *) echo "portable-cc.sh: GOARCH=$GOARCH: it can be amd64 or arm64" >&2; exit 1 ;;
esac
zig=$root/build/.cache/zig/ziglang/zig
[ -x "$zig" ] || { echo "portable-cc.sh: there is no $zig: run make deps" >&2; exit 1; }
ZIG_GLOBAL_CACHE_DIR=$root/build/.cache/zig-cache ZIG_LOCAL_CACHE_DIR=$root/build/.cache/zig-cache
export ZIG_GLOBAL_CACHE_DIR ZIG_LOCAL_CACHE_DIR

# The bindings of drivers name folders of this machine, whose headers and libraries are of another glibc. Without -g,
# what is shipped has no debug information: zig keeps it in spite of -s. Go links for arm64 with an option that zig's
# linker does not know, and does not need.
for arg; do
  shift
  case $arg in
    -Wl,--no-warn-search-mismatch) ;;
    -g | -I/usr/include | -I/usr/include/* | -I/usr/local/* | -L/usr/lib | -L/usr/lib/* | -L/usr/local/* | -L/opt/*) ;;
    *) set -- "$@" "$arg" ;;
  esac
done
exec "$zig" cc -target "$arch-linux-gnu.${GLIBC:-2.28}" "$@"
