#!/bin/sh
# Makes a root folder that an executable for glibc runs in: root.sh EXECUTABLE FOLDER
set -eu
mkdir -p "$2/data" "$2/tmp"
cp "$1" "$2/wadi"
chmod 755 "$2/wadi"
chmod 1777 "$2/tmp"
# The loader, libc, libm, libdl and libpthread, at the paths where the loader looks.
for file in $(ldd "$1" | grep -o '/[^ ]*'); do
  cp --parents --dereference "$file" "$2"
done
