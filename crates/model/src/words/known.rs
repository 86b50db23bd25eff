//! Options of programs that take settings, or nothing. Those that take files or devices are left out, and so is what is not
//! known.
//!
//! Sources: the programs' manuals and usage texts (e2fsprogs 1.47, xfsprogs 6.1, btrfs-progs 6.2, f2fs-tools 1.15, ntfs-3g 2022.10,
//! dosfstools 4.2, exfatprogs 1.2, jfsutils 1.1.15, reiserfsprogs 3.6.27, nilfs-tools 2.2, gfs2-utils 3.5, ocfs2-tools 1.8).

/// The options of a program.
pub(super) struct Known {
    /// The program's names; a subcommand follows its program after a blank.
    names: &'static [&'static str],
    /// Letters of options that take a setting.
    settings: &'static str,
    /// Letters of options that take nothing.
    plain: &'static str,
    /// Long options, with `=` if they take a setting.
    long: &'static [&'static str],
}

impl Known {
    /// What is known of a program, and how many of its words are a subcommand.
    pub(super) fn of(program: &str, first: Option<&str>) -> (Option<&'static Known>, usize) {
        let with = first.map(|first| format!("{program} {first}"));
        let find = |name: &str| PROGRAMS.iter().find(|known| known.names.contains(&name));
        match with.as_deref().and_then(find) {
            Some(known) => (Some(known), 1),
            None => (find(program), 0),
        }
    }

    /// Whether an option takes a setting; `None` if it is not known.
    pub(super) fn short(&self, letter: char) -> Option<bool> {
        let takes = self.settings.contains(letter);
        (takes || self.plain.contains(letter)).then_some(takes)
    }

    /// As [`Known::short`], of a long option.
    pub(super) fn long(&self, name: &str) -> Option<bool> {
        let found = self.long.iter().find(|known| known.trim_end_matches('=') == name)?;
        Some(found.ends_with('='))
    }
}

const fn known(
    names: &'static [&'static str],
    settings: &'static str,
    plain: &'static str,
    long: &'static [&'static str],
) -> Known {
    Known { names, settings, plain, long }
}

const PROGRAMS: &[Known] = &[
    known(&["mke2fs", "mkfs.ext2", "mkfs.ext3", "mkfs.ext4", "mkfs.ext4dev"], "bCeEgGiIJLmNoOrTU", "cDFjKnqSvV", &[]),
    known(&["mkfs.xfs"], "bdilLmnrs", "fCKNqV", &[]),
    known(
        &["mkfs.btrfs"],
        "AblnsmdLOR",
        "fMKqvV",
        &[
            "byte-count=", "csum=", "checksum=", "data=", "metadata=", "features=", "runtime-features=", "label=",
            "nodesize=", "sectorsize=", "force", "mixed", "nodiscard", "quiet", "verbose",
        ],
    ),
    known(&["mkfs.f2fs"], "adeEglosOtTwzC", "fimqrSV", &[]),
    known(
        &["mkfs.bcachefs", "bcachefs format"],
        "Lb",
        "fqv",
        &[
            "block_size=",
            "bucket_size=",
            "btree_node_size=",
            "errors=",
            "data_replicas=",
            "metadata_replicas=",
            "replicas=",
            "metadata_checksum=",
            "data_checksum=",
            "compression=",
            "background_compression=",
            "str_hash=",
            "fs_label=",
            "fs_size=",
            "label=",
            "group=",
            "foreground_target=",
            "background_target=",
            "promote_target=",
            "metadata_target=",
            "erasure_code",
            "discard",
            "wide_macs",
            "inodes_32bit",
            "acl",
            "force",
            "quiet",
            "verbose",
        ],
    ),
    known(
        &["mkfs.ntfs", "mkntfs"],
        "cHLpsSz",
        "CfFInqQTUvV",
        &[
            "cluster-size=", "sector-size=", "label=", "mft-zone-multiplier=", "partition-start=", "heads=",
            "sectors-per-track=", "fast", "quick", "enable-compression", "no-indexing", "force", "quiet", "verbose",
            "with-uuid", "zero-time",
        ],
    ),
    known(
        &["mkfs.vfat", "mkfs.fat", "mkfs.msdos", "mkdosfs"],
        "bDfFghiMnrRsS",
        "aAcIv",
        &["codepage=", "offset=", "variant=", "invariant"],
    ),
    known(
        &["mkfs.exfat", "mkexfatfs"],
        "nLUscbip",
        "fqvV",
        &[
            "volume-label=", "sector-size=", "cluster-size=", "boundary-align=", "pack-bitmap", "full", "quiet",
            "verbose",
        ],
    ),
    known(&["jfs_mkfs", "mkfs.jfs"], "JLs", "cfOqV", &[]),
    known(
        &["mkreiserfs", "mkfs.reiserfs"],
        "bhlostu",
        "fdqV",
        &[
            "block-size=", "hash=", "label=", "format=", "journal-size=", "journal-offset=", "transaction-max-size=",
            "quiet", "debug",
        ],
    ),
    known(
        &["mkfs.reiser4"],
        "boL",
        "yfsdn",
        &["block-size=", "override=", "label=", "yes", "no", "force", "lost-found", "discard"],
    ),
    known(&["mkfs.nilfs2"], "bBLmOP", "cfKnqvV", &[]),
    known(&["mkfs.gfs2"], "bcJjoprt", "DKOq", &[]),
    known(
        &["mkfs.ocfs2"],
        "bCLNJTM",
        "qxFvV",
        &[
            "block-size=", "cluster-size=", "label=", "node-slots=", "journal-options=", "mount=", "fs-features=",
            "fs-feature-level=", "cluster-stack=", "cluster-name=", "no-backup-super", "discard", "nodiscard", "force",
            "quiet", "verbose", "global-heartbeat",
        ],
    ),
    known(&["mkfs.hfsplus", "newfs_hfs", "mkfs.hfs"], "bcinv", "JPsw", &[]),
    known(&["mkfs.minix"], "ni", "123vc", &[]),
    known(
        &["mkfs.udf", "mkudffs"],
        "blmu",
        "",
        &[
            "label=", "lvid=", "vid=", "vsid=", "fsid=", "fullvsid=", "owner=", "organization=", "contact=", "appid=",
            "impid=", "blocksize=", "media-type=", "udfrev=", "space=", "strategy=", "spartable=", "sparspace=",
            "packetlen=", "uid=", "gid=", "mode=", "encoding=", "ad=", "vat", "closed", "noefe", "startblock=",
        ],
    ),
    known(&["e2fsck", "fsck.ext2", "fsck.ext3", "fsck.ext4"], "bBCEI", "acdDfFknprtvVy", &[]),
    known(&["xfs_repair"], "comt", "deLnPvV", &[]),
    known(&["fsck.xfs"], "", "afnpy", &[]),
    known(
        &["btrfs check", "btrfsck"],
        "srE",
        "bpQ",
        &[
            "readonly", "repair", "force", "progress", "qgroup-report", "check-data-csum", "init-csum-tree",
            "init-extent-tree", "backup", "mode=", "super=", "subvol-extents=", "tree-root=", "chunk-root=",
            "clear-space-cache=", "clear-ino-cache",
        ],
    ),
    known(&["fsck.f2fs"], "cdOpS", "aflMstVy", &["dry-run", "no-kernel-check", "kernel-check"]),
    known(&["fsck.bcachefs", "bcachefs fsck"], "", "aefknopRvy", &[]),
    known(&["fsck.exfat"], "", "abnprsvVy", &["repair", "repair-yes", "repair-no", "repair-auto", "verbose"]),
    known(&["jfs_fsck", "fsck.jfs"], "", "afnoprvV", &["omit_journal_replay", "replay_journal_only", "verbose"]),
    known(&["fsck.gfs2"], "", "afhnpqvVy", &[]),
    known(&["fsck.hfsplus", "fsck_hfs", "fsck.hfs"], "cmMR", "dfglnpqrySE", &[]),
    known(&["fsck.minix"], "", "aflmrsvV", &["list", "auto", "repair", "verbose", "super", "uncleared", "force"]),
    known(&["ntfsfix"], "", "bdnV", &["clear-bad-sectors", "clear-dirty", "no-action"]),
    known(&["fsck.ocfs2"], "br", "fFGnpuvVy", &[]),
    known(
        &["fsck.reiser4"],
        "c",
        "aFfhnpqvVy",
        &["check", "fix", "build-sb", "build-fs", "yes", "no", "auto", "quiet", "force", "preserve", "cache="],
    ),
    known(
        &["reiserfsck", "fsck.reiserfs"],
        "",
        "afnpqrVy",
        &[
            "check", "fix-fixable", "rebuild-sb", "rebuild-tree", "clean-attributes", "yes", "quiet", "force",
            "no-log", "nolog", "adjust-size", "interactive",
        ],
    ),
    known(&["fsck.vfat", "fsck.fat", "fsck.msdos", "dosfsck"], "cF", "aAbflnprStUvVwy", &["variant="]),
];
