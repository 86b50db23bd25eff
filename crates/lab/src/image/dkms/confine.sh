# The root folder $1 becomes the root of this mount name space, and nothing else of the machine is left in it. Then all rights of
# the name space's root are given up, and the rest of the arguments is run.
set -e
root=$1
shift
mount --make-rprivate /
mount --bind "$root" "$root"
cd "$root"
mkdir -p proc dev tmp old
for device in null zero full random urandom; do
    : > "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
done
mount -t proc proc proc
pivot_root . old
cd /
umount -l /old
exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all -- \
    env -i PATH=/usr/sbin:/usr/bin HOME=/tmp TMPDIR=/tmp LC_ALL=C "$@"
