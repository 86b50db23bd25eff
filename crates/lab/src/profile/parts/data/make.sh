#!/bin/bash
# Makes the images beside this file, and what their file systems' own tools say about each block: `FIRST COUNT PART`, with
# the names of `mountmark why --format json`. Needs root, loop devices, e2fsprogs, xfsprogs, btrfs-progs, python3, zstd.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cd "$work"
mkdir m
fill() {
    mkdir m/d m/e
    for i in $(seq 300); do echo "$i" > "m/d/file-with-a-longer-name-$i"; done
    for i in 1 2 3; do head -c 700000 /dev/zero | tr '\0' a > "m/big$i"; done
    ln -s "$(printf 'x%.0s' $(seq 100))" m/slow
    cp m/d/file-with-a-longer-name-1* m/e/
    sync
    rm m/d/file-with-a-longer-name-2*
    sync
}
keep() {
    zstd -q -19 -f "$1" -o "$here/$2.img.zst"
    python3 "$here/tell.py" "$2" "$3" > "$here/$2.txt"
}
for name in ext2 ext3 ext4; do
    size=1024
    [ $name = ext4 ] && size=4096
    truncate -s 24M $name
    mkfs.$name -q -F -b $size $name
    mount -o loop $name m
    fill
    # These are in the journal alone when the image is taken.
    for i in 1 2 3; do
        mkdir m/new$i
        for j in $(seq 60); do echo "$j" > "m/new$i/a-rather-long-name-of-a-file-$j"; done
    done
    sync -f m
    cp --sparse=always $name live
    umount m
    cp --sparse=always live replayed
    e2fsck -fy replayed > /dev/null || [ $? -le 1 ]
    keep live $name replayed
done
truncate -s 300M xfs
mkfs.xfs -q -f xfs
truncate -s 128M btrfs
mkfs.btrfs -q -f btrfs
for name in xfs btrfs; do
    mount -o loop $name m
    fill
    umount m
    keep $name $name $name
done
cd /
rm -r "$work"
