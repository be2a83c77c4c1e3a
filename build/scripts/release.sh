#!/bin/sh
# Makes what is shipped: a tarball that can be unpacked anywhere, Debian packages, a bill of materials (SPDX), and the
# checksums of all. `make tarball`, `make deb` and `make release` call it with TAGS and GO:
#
#   DIST=… OUT=… GOARCH=… TRIPLET=… VERSION=… SOVERSION=… build/scripts/release.sh tarball|deb|all
#
# DIST is a build by portable-cc.sh. The same commit gives the same bits in OUT, whatever the folder, the user, the time
# and the umask are: the time of all files is that of the commit, or of SOURCE_DATE_EPOCH.
set -eu
cd "$(dirname "$0")/../.."
what=${1:?usage: release.sh tarball|deb|all}
case $what in tarball | deb | all) ;; *) echo "release.sh: $what: it is tarball, deb or all" >&2; exit 1 ;; esac
: "${DIST:?}" "${OUT:?}" "${GOARCH:?}" "${VERSION:?}" "${SOVERSION:?}" "${TRIPLET:?}"
GLIBC=${GLIBC:-2.28}
umask 022
export LC_ALL=C TZ=UTC
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || true)}
case $SOURCE_DATE_EPOCH in
  '') echo "release.sh: no commit is known: set SOURCE_DATE_EPOCH" >&2; exit 1 ;;
  *[!0-9]*) echo "release.sh: SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH: it is a number of seconds" >&2; exit 1 ;;
esac
export SOURCE_DATE_EPOCH

name=tvmgo-$VERSION-linux-$GOARCH
mkdir -p "$OUT"
OUT=$(cd "$OUT" && pwd)
tmp=$(mktemp -d "$OUT/.release.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

# The bill of materials and the licences. What the C compiler adds: start files of glibc and helpers of the compiler.
created=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
zig=$(cut -d= -f3 build/.cache/zig/version 2>/dev/null || true)
run_go() { env -u GOARCH -u CC -u CXX -u CGO_ENABLED -u CGO_LDFLAGS "${GO:-go}" "$@"; }
bill() {
  run_go run ./build/sbom -name "$name" -created "$created" -o "$tmp/$name.spdx.json" -licences "$tmp/licences" \
    -c "glibc start files=$GLIBC=LGPL-2.1-or-later" -c "zig compiler-rt=$zig=MIT" \
    "$DIST/bin/tvmgo" "$DIST/lib/libtvmgo.so.$VERSION" "$DIST/lib/libtvmgo_runtime.so.$VERSION"
}

# Installs under a folder with a prefix and the folder of libraries, and sets the files' times.
install_to() {
  ${MAKE:-make} --no-print-directory -s install-files DIST="$DIST" DESTDIR="$1" PREFIX="$2" LIBDIR="$3" >/dev/null
}
same_time() { find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +; }

documents() { # of all packages, below a folder
  mkdir -p "$1"
  cp LICENSE NOTICE README.md CHANGELOG.md "$1/"
  cp "$tmp/$name.spdx.json" "$1/tvmgo.spdx.json"
  cp -r "$tmp/licences" "$1/licences"
  chmod -R u=rwX,go=rX "$1"
}

manual() { # the page tvmgo(1)
  sed "s/@DATE@/${created%T*}/; s/@VERSION@/$VERSION/" build/package/tvmgo.1.in
}

tarball() {
  install_to "$tmp/tar" "/$name" lib
  documents "$tmp/tar/$name/share/doc/tvmgo"
  mkdir -p "$tmp/tar/$name/share/man/man1"
  manual >"$tmp/tar/$name/share/man/man1/tvmgo.1"
  same_time "$tmp/tar"
  tar -C "$tmp/tar" --sort=name --format=ustar --owner=0 --group=0 --numeric-owner -cf - "$name" |
    gzip -9n >"$tmp/$name.tar.gz"
  mv "$tmp/$name.tar.gz" "$OUT/"
}

bill
if [ "$what" != deb ]; then tarball; fi
if [ "$what" != tarball ]; then
  install_to "$tmp/deb" /usr "lib/$TRIPLET"
  manual >"$tmp/tvmgo.1"
  documents "$tmp/documents"
  GLIBC=$GLIBC sh build/scripts/deb.sh "$tmp" "$OUT"
fi
mv "$tmp/$name.spdx.json" "$OUT/"
(cd "$OUT" && find . -maxdepth 1 -type f ! -name 'SHA256SUMS*' -printf '%f\n' | sort | xargs sha256sum >"$tmp/sums")
mv "$tmp/sums" "$OUT/SHA256SUMS"
echo "$OUT:"
sed 's/^/  /' "$OUT/SHA256SUMS"
