use std::path::Path;

use proptest::prelude::*;

use super::super::resolve::{Files, SizeLaw};
use super::*;

fn set(folder: &Path, count: u64, sizes: SizeLaw) -> Set {
    let files = Files {
        folder: ".".to_owned(),
        count,
        directories: 0,
        sizes,
        prefix: "f".to_owned(),
        random_names: false,
        existing: false,
    };
    Set::open(folder, &files, 1).unwrap()
}

fn part(thread: u32, threads: u32, shared: bool) -> Part {
    Part { thread, threads, shared, key: 99 }
}

fn stream(thread: u32) -> Stream {
    Stream::numbered(1, "test", u64::from(thread))
}

fn sizes() -> impl Strategy<Value = SizeLaw> {
    prop_oneof![
        (1u64..50_000).prop_map(SizeLaw::Fixed),
        (0u64..20_000).prop_map(|max| SizeLaw::Uniform { min: 0, max }),
        Just(SizeLaw::Lognormal { mu: 8.0, sigma: 1.5, min: 0, max: 100_000 }),
        Just(SizeLaw::Gamma { mean: 10_000, shape: 1.5, max: 60_000 }),
    ]
}

fn ordered() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        Just(Pattern::Sequential),
        Just(Pattern::Backward),
        Just(Pattern::Shuffled),
        (1u64..40).prop_map(Pattern::Strided),
    ]
}

proptest! {
    /// All threads together hit every byte of every file exactly once.
    #[test]
    fn a_pass_covers_everything_once(
        sizes in sizes(), count in 1u64..20, block in 1u64..9000, pattern in ordered(), threads in 1u32..4, shared: bool,
    ) {
        prop_assume!(shared || count >= u64::from(threads));
        let folder = tempfile::tempdir().unwrap();
        let set = set(folder.path(), count, sizes);
        let mut seen: Vec<Vec<(u64, u64)>> = vec![Vec::new(); count as usize];
        for thread in 0..threads {
            let part = part(thread, threads, shared);
            let mut course = AccessPattern::blocks(&set, block, pattern, part, stream(thread));
            for _ in 0..course.length() {
                let place = course.place();
                prop_assert_eq!(place.offset % block, 0);
                let file = part.files(count).0 + u64::from(place.slot);
                seen[file as usize].push((place.offset, place.offset + place.length as u64));
            }
        }
        for (file, parts) in seen.iter_mut().enumerate() {
            parts.sort_unstable();
            let end = parts.iter().try_fold(0, |end, (from, to)| (end == *from && to > from).then_some(*to));
            prop_assert_eq!(end, Some(set.size(file as u64)), "file {}: {:?}", file, parts);
        }
    }

    #[test]
    fn jumps_stay_within_and_aligned(
        sizes in sizes(), count in 1u64..20, block in 1u64..9000, theta in 0.1f64..3.0, zipf: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let set = set(folder.path(), count, sizes);
        let pattern = if zipf { Pattern::Zipf(theta) } else { Pattern::Random };
        let mut course = AccessPattern::blocks(&set, block, pattern, part(0, 1, false), stream(0));
        let draws = if course.length() == 0 { 0 } else { 300 };
        for _ in 0..draws {
            let place = course.place();
            let size = set.size(u64::from(place.slot));
            prop_assert!(place.offset.is_multiple_of(block) && place.length > 0);
            prop_assert!(place.length as u64 == block.min(size - place.offset));
        }
    }
}

#[test]
fn orders_are_what_their_names_say() {
    let folder = tempfile::tempdir().unwrap();
    let set = set(folder.path(), 1, SizeLaw::Fixed(10 * 512));
    let walk = |pattern| {
        let mut course = AccessPattern::blocks(&set, 512, pattern, part(0, 1, false), stream(0));
        (0..course.length() + 2).map(|_| course.place().offset / 512).collect::<Vec<_>>()
    };
    assert_eq!(walk(Pattern::Sequential), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]);
    assert_eq!(walk(Pattern::Backward), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 9, 8]);
    assert_eq!(walk(Pattern::Strided(4)), [0, 4, 8, 1, 5, 9, 2, 6, 3, 7, 0, 4]);
    assert_eq!(walk(Pattern::SameRecord), [0; 12]);
}

#[test]
fn random_blocks_are_even_and_likely_ones_are_scattered() {
    let folder = tempfile::tempdir().unwrap();
    let set = set(folder.path(), 4, SizeLaw::Fixed(25 * 512));
    let count = |pattern| {
        let mut course = AccessPattern::blocks(&set, 512, pattern, part(0, 1, true), stream(0));
        let mut seen = vec![0u32; 100];
        for _ in 0..100_000 {
            let place = course.place();
            seen[place.slot as usize * 25 + (place.offset / 512) as usize] += 1;
        }
        seen
    };
    // Six standard deviations of a binomial count are 189.
    assert!(count(Pattern::Random).iter().all(|seen| seen.abs_diff(1000) < 189));
    let mut zipf: Vec<(u32, usize)> = count(Pattern::Zipf(1.0)).into_iter().zip(0..).collect();
    zipf.sort_unstable_by(|a, b| b.cmp(a));
    // The most likely of 100 has 1 / H(100) = 19.3 % of all; the second half of that.
    assert!(zipf[0].0.abs_diff(19_277) < 800 && zipf[1].0.abs_diff(9_639) < 600, "{zipf:?}");
    assert!(zipf[0].1.abs_diff(zipf[1].1) > 1 || zipf[1].1.abs_diff(zipf[2].1) > 1, "likely blocks lie together");
}

#[test]
fn threads_have_their_favourites_in_common() {
    let folder = tempfile::tempdir().unwrap();
    let set = set(folder.path(), 1, SizeLaw::Fixed(1 << 20));
    let favourite = |thread| {
        let mut course = AccessPattern::blocks(&set, 512, Pattern::Zipf(1.5), part(thread, 2, true), stream(thread));
        let mut seen = std::collections::HashMap::new();
        (0..2000).for_each(|_| *seen.entry(course.place().offset).or_insert(0) += 1);
        seen.into_iter().max_by_key(|(_, count)| *count).unwrap().0
    };
    assert_eq!(favourite(0), favourite(1));
}
