# Sourced by each case in the guest. Files and devices are the guest's own.
FS='--fs ext2'
# Some time after a mount the driver of ext2 marks inode tables as zeroed; with this it writes nothing by itself.
STILL='-o noinit_itable'
export DM_DISABLE_UDEV=1 MOUNTMARK_CACHE=/tmp/cache MOUNTMARK_OUT=/tmp/out LVM_SUPPRESS_FD_WARNINGS=1
cd /tmp; mkdir -p /var/tmp /dev/shm
# A command finds settings read-only; here the guest stands for a machine of which this is root.
for at in /sys /sys/kernel/config /proc/sys; do mount -o remount,bind,rw $at 2> /dev/null; done

# A sparse file of so many MiB.
file() { rm -f "/tmp/$1"; truncate -s "${2:-4}M" "/tmp/$1"; }

# A loop device on a new file of so many MiB; prints it.
disk() { file "$1" "${2:-4}" && losetup --show -f "/tmp/$1"; }

# The same with ext2 on it.
ext2() { file "$1" "${2:-4}" && mkfs.ext2 -q -F "/tmp/$1" && losetup --show -f "/tmp/$1"; }

# A disk in memory with this name and so many MiB; it is $d afterwards.
memory_disk() {
    mount -t configfs configfs /sys/kernel/config; n=/sys/kernel/config/nullb/$1; d=/dev/$1
    mkdir $n; echo "$2" > $n/size; echo 1 > $n/memory_backed; echo 1 > $n/power
    await test -b $d
}

# Bytes (as printf has them) at an offset of a file.
put() { printf -- "$3" | dd of="/tmp/$1" bs=1 seek="$2" conv=notrunc status=none; }

host_lab() { /run/mountmark run --lab host --suite "${SUITE:-/tmp/tiny.toml}" --repeat 1 --no-control $FS "$@" 2>&1; }

# What a case leaves goes when it ends.
undo() {
    kill $(jobs -p); cd /tmp; swapoff -a
    while read -r _ point _; do case $point in /tmp/?*) umount -l "$point" ;; esac; done < /proc/mounts
    [ -e /dev/mapper/vg* ] && lvm vgchange -qq -an
    dmsetup remove_all; mdadm -q --stop --scan; losetup -D
}
trap 'code=$?; undo > /dev/null 2>&1; exit $code' EXIT

# Waits until a command succeeds.
await() { n=0; until "$@" 2>/dev/null; do n=$((n + 1)); [ $n -lt 600 ] || fail "never: $*"; sleep 0.1; done; }

fail() { echo "$*" >&2; exit 1; }

# A suite of one task in /tmp/own.toml.
task() {
    while IFS= read -r line; do
        case $line in 'name = '*) echo 'name = "own"' ;; *'touch a b c'*) printf 'run = """\n%s\n"""\n' "$1" ;; *) printf '%s\n' "$line" ;; esac
    done < /tmp/tiny.toml > /tmp/own.toml
}

# What was said, among the kernel's messages, which take no longer lines.
tell() { echo "said of $ID ($code): $said" | tr '\n' ' ' | head -c 900 > /dev/kmsg; }

# Processes of the host lab in which cells run.
agents() {
    for p in /proc/[0-9]*; do
        ! tr '\0' ' ' < "$p/cmdline" 2> /dev/null | grep -q '^mountmark host-agent' || echo "${p#/proc/}"
    done
}

# A run that has ended leaves no mount, no process, no journal.
nothing_left() {
    sleep 1
    ! grep -q mountmark /proc/mounts || fail "mounted: $(cat /proc/mounts)"
    left=$(agents); [ -z "$left" ] || fail "an agent is left: $left"
    ! ls /tmp/cache/undo/*.json 2> /dev/null || fail 'a journal is left'
}

# refused WORDS OPTION DEVICE [OPTIONS]: the host lab refuses with these words, and changes no byte of the device
# (unless WRITES says that somebody else does).
refused() {
    words=$1; option=$2; device=$3; shift 3
    FS="--fs ext2"; [ "$option" != --dir ] || FS=
    is_read=; all=$(printf '%s' "$device" | tr + ' ')
    for one in $all; do [ -b "$one" ] && [ -z "$WRITES" ] && dd if="$one" of="/tmp/before-${one##*/}" bs=64k conv=sparse status=none 2> /dev/null && is_read=yes; done
    said=$(host_lab "$option" "$device" "$@"); code=$?
    tell
    if [ -n "$is_read" ]; then for one in $all; do cmp "$one" "/tmp/before-${one##*/}" || fail "CHANGED by the host lab: $said"; rm "/tmp/before-${one##*/}"; done; fi
    [ $code = 3 ] || [ $code = 2 ] || fail "exit code $code, not a refusal: $said"
    case $said in *"$words"*) ;; *) fail "no \"$words\" in: $said" ;; esac
    if [ "$option" = --device ]; then
        case $said in *"nothing was changed"*) ;; *) fail "it does not say that nothing was changed: $said" ;; esac
    fi
    echo "$ID: $said" >> /run/said
}

# A run on an image is killed while its task sleeps.
killed() {
    rm -f /tmp/state; mkdir -p /tmp/mnt; file image 44
    /run/mountmark run --lab host --suite /tmp/slow.toml --repeat 1 --no-control --fs ext2 --image /tmp/image --disk-size 44MiB > first 2>&1 & p=$!
    await grep -q sleeping /tmp/state; kill -9 $p; wait $p; await eval 'test -z "$(losetup -j /tmp/image)"'
}
cleaned() { said=$(/run/mountmark clean 2>&1) || fail "$1: $said"; code=0; tell; case $said in *"$2"*) ;; *) fail "$1: $said" ;; esac; }

# changed NAME COMMAND: what the command writes into the image of a killed run is not cleaned away.
changed() {
    killed; sleep 1; eval "$2" || fail "$1: cannot"; sync; cp --sparse=always /tmp/image /tmp/before
    cleaned "$1" '/tmp/image, the image of a host lab that is gone: it holds'
    cmp /tmp/image /tmp/before || fail "$1: CHANGED"
}

# A device $d for tests, and what must stay: a file system on the device $e, and in files.
kept() {
    d=$(disk under 40); file two 4; mkfs.ext2 -q -F -L KEPT /tmp/two; e=$(losetup --show -f /tmp/two); cp /tmp/two /tmp/precious
    cp /tmp/two /kept.img; cp /tmp/two /tmp/kept.img; cp --sparse=always /tmp/under /tmp/empty
    u=$(blkid -p -o value -s UUID $e); n=$(cat /sys/block/${e#/dev/}/dev)
}

# foreign WORDS FS: no option reaches what is kept, and the refusal says so; @ words as in options.toml. The bytes of the device
# under test are compared by `unchanged`, behind some of these; that nothing wrote to it, each time.
foreign() {
    words=$(filled "$1"); fs=$(filled "$2"); before=$(written)
    said=$(FS= host_lab --device $d --fs "$fs"); code=$?
    [ $code = 2 ] || fail "$ID: exit code $code, not a refusal: $said"
    case $said in *"$words"*'leave it away'*'nothing was changed'*) ;; *) fail "$ID: no \"$words\" in: $said" ;; esac
    for file in $e /kept.img /tmp/kept.img; do cmp $file /tmp/precious || fail "$ID: CHANGED: $file"; done
    [ "$(written)" = "$before" ] || fail "$ID: CHANGED: the device under test"
}
unchanged() { sync; cmp $d /tmp/empty || fail "$ID: CHANGED: the device under test"; }
# Sectors that were written to the device under test; a write that is still in the cache counts.
written() { sync; read -r _ _ _ _ _ _ sectors _ < /sys/block/${d#/dev/}/stat; echo $sectors; }
filled() { printf '%s' "$1" | sed "s,@E,$e,g; s,@N,$n,g; s,@U,$u,g"; }

# own FIELDS: a file system of the user's own, whose commands are separated by |.
own() {
    mkdir -p /tmp/config/mountmark/catalog/filesystems; export XDG_CONFIG_HOME=/tmp/config
    fields=$(filled "$1" | tr '|' '\n')
    field() { printf '%s\n' "$fields" | grep -E "^($1) = "; }
    {
        printf 'name = "own"\nabout = "own"\nmount_type = "ext2"\nmodules = []\nmin_size = "1 MiB"\n'
        field 'mkfs|mount_options'
        echo '[fsck]'; field command || echo 'command = ["e2fsck", "-n", "{device}"]'; echo 'clean = [0]'
        echo '[recovery]'; field 'repair|before_mount'; field repair > /dev/null || echo 'repair = ["e2fsck", "-y", "{device}"]'
        echo 'done = [0]'; echo 'source = "none"'
    } > /tmp/config/mountmark/catalog/filesystems/own.toml
}

# Two empty disks $a and $b for layers, and a mapping and an array of others, which must stay.
two() {
    a=$(disk a 256); b=$(disk b 256)
    e=$(disk other 4); dmsetup create mountmark_other --table "0 8192 linear $e 0"
    f=$(disk f 40); g=$(disk g 40)
    mdadm --create /dev/md9 -q --run --metadata 1.2 --level 1 --raid-devices 2 --assume-clean $f $g
}
others_stay() {
    dmsetup info mountmark_other > /dev/null || fail 'CHANGED: the mapping of others is gone'
    grep -q '^md9 : active' /proc/mdstat || fail "CHANGED: the array of others was stopped: $(cat /proc/mdstat)"
}
no_layers() {
    ! ls -d /dev/mapper/mountmark_*_* /dev/mountmark_* 2> /dev/null || fail 'a mapping is left'
    ! grep '^md[0-9]\{4,\} ' /proc/mdstat || fail 'an array is left'
}
# A run on layers of $a and $b whose task sleeps; its number is $p.
slow() {
    rm -f /tmp/state; for d in $a $b; do wipefs -q -a $d; dd if=/dev/zero of=$d bs=1M count=256 status=none; done
    /run/mountmark run --lab host --suite /tmp/slow.toml --repeat 1 --no-control --fs ext2@luks@raid1 --device $a+$b > first 2>&1 & p=$!
    await grep -q sleeping /tmp/state
}
# The same, killed.
slow_killed() { slow; kill -9 $p; wait $p; await eval 'test -z "$(agents)"'; }
