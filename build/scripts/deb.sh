#!/bin/sh
# Makes the Debian packages of build/package/debian/control.in, without debhelper, for release.sh:
#
#   GOARCH=… TRIPLET=… VERSION=… SOVERSION=… GLIBC=… SOURCE_DATE_EPOCH=… build/scripts/deb.sh FROM OUT
#
# FROM has an installation with the prefix /usr (deb), the documents of all packages (documents) and the manual page
# (tvmgo.1).
set -eu
from=${1:?usage: deb.sh FROM OUT} out=${2:?usage: deb.sh FROM OUT}
full=$VERSION-0tvmgo1 # a revision that Debian's own packages do not use
lib=usr/lib/$TRIPLET
maintainer=${DEB_MAINTAINER:-tvmgo maintainers <maintainers@tvmgo.example.org>}
case $maintainer in
  ?*" <"?*@?*">") ;;
  *) echo "deb.sh: DEB_MAINTAINER=$maintainer: it is a name and an address, as in A <a@example.org>" >&2; exit 1 ;;
esac
when=$(date -u -R -d "@$SOURCE_DATE_EPOCH")

# The files of a package, as patterns below the installation.
files_of() {
  case $1 in
    libtvmgo0) echo "$lib/libtvmgo.so.*" ;;
    libtvmgo-runtime0) echo "$lib/libtvmgo_runtime.so.*" ;;
    libtvmgo-dev) echo "usr/include $lib/libtvmgo.so $lib/libtvmgo_runtime.so $lib/*.a $lib/pkgconfig $lib/cmake" ;;
    tvmgo) echo "usr/bin" ;;
    *) echo "deb.sh: package $1: say here which files it has" >&2; exit 1 ;;
  esac
}

stanza() { # the fields of a package
  sed -e '/^#/d' -e "s/@GLIBC@/$GLIBC/g; s/@VERSION@/$full/g" build/package/debian/control.in |
    awk -v RS= -v name="Package: $1" '$0 ~ "^" name "\n" { print }'
}

copyright() {
  cat <<EOF
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: tvmgo
Comment: The licences of what is linked in are in third-party.gz beside this
 file, and the bill of materials is tvmgo.spdx.json.

Files: *
Copyright: 2026 the tvmgo authors
License: Apache-2.0
 On Debian systems, the text of the licence is in
 /usr/share/common-licenses/Apache-2.0.
EOF
}

changelog() {
  printf 'tvmgo (%s) unstable; urgency=medium\n\n  * Release %s: changelog.gz has what changed.\n\n -- %s  %s\n' \
    "$full" "$VERSION" "$maintainer" "$when"
}

# The licences of what is linked in, in one file.
(cd "$from/documents/licences" && find . -type f | sort | while read -r file; do
  printf '==== %s\n\n' "${file#./}"
  cat "$file"
  printf '\n'
done) | gzip -9n >"$from/third-party.gz"

for package in $(sed -n 's/^Package: //p' build/package/debian/control.in); do
  root=$from/packages/$package
  doc=$root/usr/share/doc/$package
  mkdir -p "$root/DEBIAN" "$doc"
  (cd "$from/deb" && for pattern in $(files_of "$package"); do
    for file in $pattern; do # a pattern without a file stays as it is, and cp fails
      mkdir -p "$root/${file%/*}" && cp -a "$file" "$root/${file%/*}/" || exit 1
    done
  done) || exit 1

  cp "$from/documents/tvmgo.spdx.json" "$from/documents/NOTICE" "$doc/"
  cp "$from/third-party.gz" "$doc/"
  copyright >"$doc/copyright"
  changelog | gzip -9n >"$doc/changelog.Debian.gz"
  gzip -9n <"$from/documents/CHANGELOG.md" >"$doc/changelog.gz"
  case $package in
    tvmgo)
      mkdir -p "$root/usr/share/man/man1"
      gzip -9n <"$from/tvmgo.1" >"$root/usr/share/man/man1/tvmgo.1.gz"
      ;;
    libtvmgo0 | libtvmgo-runtime0)
      name=$(echo "${package%0}" | tr - _)
      echo "$name $SOVERSION $package (>= $VERSION)" >"$root/DEBIAN/shlibs"
      echo 'activate-noawait ldconfig' >"$root/DEBIAN/triggers"
      ;;
  esac
  find "$root" -type d -exec chmod 755 {} +
  find "$root" -name '*.so.*' -type f -exec chmod 644 {} + # Debian's policy
  (cd "$root" && find usr -type f | sort | xargs md5sum >DEBIAN/md5sums)
  {
    stanza "$package" | sed -n '1p'
    printf 'Source: tvmgo\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' "$full" "$GOARCH" "$maintainer"
    printf 'Installed-Size: %s\nPriority: optional\n' "$(du -k -s --apparent-size "$root/usr" | cut -f1)"
    stanza "$package" | sed '1d'
  } >"$root/DEBIAN/control"
  find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb --root-owner-group -Zxz --build "$root" "$out/${package}_${full}_$GOARCH.deb" >/dev/null
done
