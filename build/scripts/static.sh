#!/bin/sh
# Builds a static library: one object file in which only the symbols of capi/exports.map are global. All others (of
# the Go runtime, the core, the bindings of drivers) become local, so that an application can have functions with the
# same names.
#
#   TAGS=… GOFLAGS_OF=… LDFLAGS_OF=… BINUTILS=… build/scripts/static.sh LIBRARY
#
# BINUTILS is the prefix of the names of ld, objcopy and ar for another machine, such as aarch64-linux-gnu-.
# GOFLAGS_OF and LDFLAGS_OF are further flags of go build and of its linker, as the Makefile has them for the shared
# library.
set -eu
out=$(realpath -m "${1:?usage: static.sh LIBRARY}")
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d "$(dirname "$out")/.static.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

# shellcheck disable=SC2086 # GOFLAGS_OF is a list
"${GO:-go}" build ${TAGS:+-tags "$TAGS"} -trimpath ${GOFLAGS_OF:-} -buildmode=c-archive \
  -ldflags="-s -w ${LDFLAGS_OF:-}" -o "$tmp/go.a" ./capi
sed -n 's/^ *\([A-Za-z_][A-Za-z0-9_]*\);$/\1/p' capi/exports.map >"$tmp/abi"
[ -s "$tmp/abi" ] || { echo "static.sh: no symbols in capi/exports.map" >&2; exit 1; }

# For arm64, the symbol $x says that code begins at the begin of the section. GNU ld, which searches the code for a
# sequence that some Cortex-A53 execute wrongly, reads beyond the section's end without it, and crashes (2.40).
mark=
if [ "$("${GO:-go}" env GOARCH)" = arm64 ]; then mark='--add-symbol=$x=.text:0,local'; fi

# -d allocates common symbols, so that they can become local.
"${LD:-${BINUTILS:-}ld}" -r -d --whole-archive "$tmp/go.a" -o "$tmp/all.o"
"${OBJCOPY:-${BINUTILS:-}objcopy}" --strip-unneeded --remove-section=.comment $mark \
  --keep-global-symbols="$tmp/abi" "$tmp/all.o" "$tmp/tvmgo.o"
"${AR:-${BINUTILS:-}ar}" rcsD "$tmp/library.a" "$tmp/tvmgo.o"
mv "$tmp/library.a" "$out"
