#!/usr/bin/env python3
"""tell.py KIND IMAGE: what each block of an image is, by the file system's own tools, as `FIRST COUNT PART`."""
import re
import subprocess
import sys


def said(*command, text=""):
    return subprocess.run(command, input=text, capture_output=True, text=True).stdout


def ranges(text):
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        yield range(int(first), int(last or first) + 1)


def ext(image):
    parts = {}

    def put(text, part):
        for blocks in ranges(text):
            parts.update(dict.fromkeys(blocks, part))

    about = said("dumpe2fs", image)
    count = int(re.search(r"Block count: +(\d+)", about)[1])
    block = int(re.search(r"Block size: +(\d+)", about)[1])
    for line in about.splitlines():
        for pattern, part in [
            (r"superblock at (\d+)", "superblock"),
            (r"Group descriptors at (\d+(?:-\d+)?)", "groups"),
            (r"Reserved GDT blocks at (\d+(?:-\d+)?)", "groups"),
            (r"[Bb]lock bitmap at (\d+)", "free_space"),
            (r"Inode bitmap at (\d+)", "free_space"),
            (r"Inode table at (\d+(?:-\d+)?)", "inodes"),
        ]:
            for found in re.findall(pattern, line):
                put(found, part)
    if block == 1024:
        parts[0] = "superblock"
    rest = [number for number in range(count) if number not in parts]
    lines = "".join("icheck " + " ".join(map(str, rest[at:at + 500])) + "\n" for at in range(0, len(rest), 500))
    owners = re.findall(r"^(\d+)\t(\d+)$", said("debugfs", "-f", "-", image, text=lines), re.M)
    for inode in sorted({int(inode) for _, inode in owners}):
        about = said("debugfs", "-R", f"stat <{inode}>", image)
        kind = re.search(r"Type: (\w+)", about)[1]
        part = {"directory": "directories", "regular": "data", "symlink": "data"}[kind]
        part = {8: "journal"}.get(inode, part)
        for logical, physical in re.findall(r"\(([^)]+)\):(\d+(?:-\d+)?)", about):
            if inode != 7:
                put(physical, "mapping" if re.search("IND|ETB", logical) else part)
        if inode == 7:
            continue
    return block, count, {at: parts.get(at, "unused") for at in range(count) if at in parts or at in rest}, {
        int(at) for at, inode in owners if inode == "7"
    }


def xfs(image):
    about = said("xfs_db", "-r", "-c", "sb 0", "-c", "p", image)
    field = lambda name: int(re.search(rf"^{name} = (\d+)", about, re.M)[1])
    block, count, group, bits = field("blocksize"), field("dblocks"), field("agblocks"), field("agblklog")
    numbers = [(at // group) << bits | at % group for at in range(count)]
    text = "blockget -n\n" + "".join(f"fsblock {number}\nblockuse\n" for number in numbers)
    kinds = re.findall(r"block \d+ \(\d+/\d+\) type (\S+)", said("xfs_db", "-r", image, text=text))
    names = {
        "sb": "superblock", "agf": "groups", "agi": "groups", "agfl": "groups", "btbno": "free_space",
        "btcnt": "free_space", "btino": "free_space", "btfino": "free_space", "btrmap": "other_trees",
        "btrefc": "other_trees", "inode": "inodes", "dir": "directories", "log": "journal", "data": "data",
        "btbmapd": "mapping", "btbmapa": "mapping", "attr": "attributes",
    }
    assert len(kinds) == count, (len(kinds), count)
    return block, count, {at: names[kind] for at, kind in enumerate(kinds) if kind in names}, set()


def btrfs(image):
    chunks = []
    tree = said("btrfs", "inspect-internal", "dump-tree", "-t", "chunk", image)
    for item in re.split(r"\n\titem ", tree):
        key = re.match(r"\d+ key \(FIRST_CHUNK_TREE CHUNK_ITEM (\d+)\)", item)
        if key:
            length, kind = re.search(r"length (\d+)", item)[1], re.search(r"type (\S+)", item)[1]
            stripes = [int(offset) for offset in re.findall(r"stripe \d+ devid \d+ offset (\d+)", item)]
            chunks.append((int(key[1]), int(length), kind, stripes))
    names = {
        "FS_TREE": "file_tree", "EXTENT_TREE": "free_space", "FREE_SPACE_TREE": "free_space", "CSUM_TREE": "checksums",
    }
    parts = {16: "superblock"}

    def put(logical, size, part):
        for begin, length, _, stripes in chunks:
            if begin <= logical < begin + length:
                for stripe in stripes:
                    for at in range(size // 4096):
                        parts[(stripe + logical - begin) // 4096 + at] = part

    tree = said("btrfs", "inspect-internal", "dump-tree", "-t", "extent", image)
    for item in re.split(r"\n\titem ", tree):
        key = re.match(r"\d+ key \((\d+) (METADATA_ITEM|EXTENT_ITEM) (\d+)\)", item)
        if key and key[2] == "METADATA_ITEM":
            root = re.search(r"tree block backref root (\S+)", item)[1]
            put(int(key[1]), 16384, names.get(root, "other_trees"))
        elif key:
            put(int(key[1]), int(key[3]), "data")
    return 4096, None, parts, set()


kind, image = sys.argv[1:]
block, count, parts, left_out = {"xfs": xfs, "btrfs": btrfs}.get(kind, ext)(image)
print(f"block {block}")
first = None
for at in sorted(parts) + [None]:
    part = parts.get(at) if at not in left_out else None
    if first is not None and (at != end or part != what):
        print(first, end - first, what)
        first = None
    if part and first is None:
        first, what = at, part
    end = (at or 0) + 1
