#!/bin/sh
# Prints the linker's flag for packed relative relocations (DT_RELR) if the C library of this machine can read them,
# which glibc can from 2.36 on. A library that is built here needs a glibc as new as this one in any case.
flag=-z,pack-relative-relocs
version=$(getconf GNU_LIBC_VERSION 2>/dev/null) || exit 0
printf 'glibc 2.36\n%s\n' "$version" | sort -C -V && ld --help 2>/dev/null | grep -q pack-relative-relocs &&
  echo "-Wl,$flag"
exit 0
