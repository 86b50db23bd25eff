//! Figures whose repeats fall into groups: how often noise makes them, and how often two modes are found.
//!
//! `cargo test --release -p mountmark-findings --test groups -- --ignored --nocapture` prints the tables.

mod support;

use mountmark_findings::{Dependence, Options, findings};
use mountmark_stats::groups::{FEWEST, FEWEST_OF_THREE, cut, cuts, largest, largest_of_three};
use mountmark_stats::random::Random;

use support::{plan, run};

/// Kinds of noise with one mode: the distribution of a logarithm.
#[derive(Clone, Copy, Debug)]
enum One {
    Normal,
    Uniform,
    Laplace,
    Exponential,
    Gumbel,
    /// Student's t with 3 degrees of freedom.
    Heavy,
    /// Of the figure itself, with a coefficient of variation of 0.3.
    Figure,
}

impl One {
    const ALL: [One; 7] =
        [One::Normal, One::Uniform, One::Laplace, One::Exponential, One::Gumbel, One::Heavy, One::Figure];

    fn draw(self, random: &mut Random) -> f64 {
        let mut unit = || 1.0 - random.unit();
        match self {
            One::Normal => random.normal(),
            One::Uniform => unit(),
            One::Laplace => unit().ln() - unit().ln(),
            One::Exponential => -unit().ln(),
            One::Gumbel => -(-unit().ln()).ln(),
            One::Heavy => {
                let chi: f64 = (0..3).map(|_| random.normal().powi(2)).sum();
                random.normal() / (chi / 3.0).sqrt()
            }
            One::Figure => (1.0 + 0.3 * random.normal()).max(0.01).ln(),
        }
    }

    fn sample(self, n: usize, random: &mut Random) -> Vec<f64> {
        let mut out: Vec<f64> = (0..n).map(|_| self.draw(random)).collect();
        out.sort_unstable_by(f64::total_cmp);
        out
    }
}

/// Share of samples of noise that are cut.
fn falsely_cut(noise: One, n: usize, samples: u32) -> f64 {
    let mut random = Random::named(n as u64, "groups");
    let cut = (0..samples).filter(|_| cut(&noise.sample(n, &mut random)).is_some()).count();
    cut as f64 / f64::from(samples)
}

/// Share of samples of two modes a factor of 2 apart that are cut between the modes. A sample in one mode is none.
fn found(n: usize, share: f64, within: f64, samples: u32) -> f64 {
    let mut random = Random::named(n as u64, "modes");
    let (mut right, mut all) = (0, 0);
    for _ in 0..samples {
        let modes: Vec<bool> = (0..n).map(|_| random.unit() < share).collect();
        let low = modes.iter().filter(|high| !**high).count();
        let mut values: Vec<f64> =
            modes.iter().map(|high| f64::from(*high) * 2f64.ln() + within * random.normal()).collect();
        values.sort_unstable_by(f64::total_cmp);
        all += u32::from((1..n).contains(&low));
        right += u32::from((1..n).contains(&low) && cut(&values) == Some(low));
    }
    f64::from(right) / f64::from(all.max(1))
}

/// Shares of samples of three equally frequent modes, each a factor of 1.5 above the one before, that are told as these
/// three groups, and as two. A sample without one of the modes is none.
fn found_three(n: usize, within: f64, samples: u32) -> [f64; 2] {
    let mut random = Random::named(n as u64, "three modes");
    let (mut told, mut all) = ([0_u32; 2], 0);
    for _ in 0..samples {
        let modes: Vec<f64> = (0..n).map(|_| (3.0 * random.unit()).floor()).collect();
        let below = |mode: f64| modes.iter().filter(|one| **one < mode).count();
        let (first, second) = (below(1.0), below(2.0));
        if first == 0 || second == first || second == n {
            continue;
        }
        let mut values: Vec<f64> = modes.iter().map(|mode| mode * 1.5f64.ln() + within * random.normal()).collect();
        values.sort_unstable_by(f64::total_cmp);
        all += 1;
        match cut(&values) {
            Some(_) => told[1] += 1,
            None => told[0] += u32::from(cuts(&values) == Some([first, second])),
        }
    }
    told.map(|count| f64::from(count) / f64::from(all.max(1)))
}

/// What noise exceeds in 4 of 1,000 samples, whatever its kind.
fn bounds(n: usize, largest: fn(&[f64]) -> [f64; 2]) -> [f64; 2] {
    const SAMPLES: usize = 200_000;
    let mut bounds = [0.0_f64; 2];
    for noise in One::ALL {
        let mut random = Random::named(n as u64, "bounds");
        let mut drawn = [Vec::new(), Vec::new()];
        for _ in 0..SAMPLES {
            let found = largest(&noise.sample(n, &mut random));
            drawn.iter_mut().zip(found).for_each(|(all, one)| all.push(one));
        }
        for (bound, all) in bounds.iter_mut().zip(&mut drawn) {
            all.sort_unstable_by(f64::total_cmp);
            *bound = bound.max(all[SAMPLES - SAMPLES / 250]);
        }
    }
    bounds
}

#[test]
#[ignore = "takes minutes; prints the bounds of stats::groups"]
fn table_of_bounds() {
    for (groups, fewest, largest) in
        [("two", FEWEST, largest as fn(&[f64]) -> [f64; 2]), ("three", FEWEST_OF_THREE, largest_of_three)]
    {
        println!("{groups} groups: with a part of one, and without");
        for n in fewest..=30 {
            let [one, more] = bounds(n, largest);
            println!("    [{one:.1}, {more:.1}], // {n}");
        }
    }
}

#[test]
#[ignore = "takes a minute; prints a table"]
fn table_of_groups() {
    println!("share of 50,000 samples of one mode that are cut");
    let sizes = [3, 4, 5, 7, 10, 11, 15, 20, 30];
    println!("{:16} {}", "repeats", sizes.map(|n| format!("{n:>6}")).join(" "));
    for noise in One::ALL {
        let shares = sizes.map(|n| format!("{:>5.2}%", 100.0 * falsely_cut(noise, n, 50_000)));
        println!("{:16} {}", format!("{noise:?}"), shares.join(" "));
    }
    println!("share of 20,000 samples with both of two modes, a factor of 2 apart, that are cut between them");
    for (share, within) in [(0.5, 0.001), (0.5, 0.01), (0.5, 0.03), (0.2, 0.001), (0.2, 0.01), (0.2, 0.03)] {
        let shares = sizes.map(|n| format!("{:>5.1}%", 100.0 * found(n, share, within, 20_000)));
        println!("{:16} {}", format!("{share} high, {within}"), shares.join(" "));
    }
    println!(
        "share of 20,000 samples with all of three modes, each a factor of 1.5 above the one before, that are cut into"
    );
    println!("these three, if they are known to depend on conditions, and that are cut into two");
    for within in [0.001, 0.01, 0.03] {
        let shares = sizes.map(|n| found_three(n, within, 20_000).map(|share| format!("{:>5.1}%", 100.0 * share)));
        println!("{:16} {}", format!("three, {within}"), shares.each_ref().map(|[three, _]| three.as_str()).join(" "));
        println!("{:16} {}", "two", shares.each_ref().map(|[_, two]| two.as_str()).join(" "));
    }
}

/// Share of figures of a run that are found to depend on conditions: in two groups, in three, and wide.
fn dependent(noise: One, repeats: u32, runs: u64) -> [f64; 3] {
    let plan = plan(7, 21, repeats);
    let options = Options { resamples: 0, ..Options::default() };
    let mut counts = [0.0; 3];
    for seed in 0..runs {
        let mut random = Random::new(seed);
        let found = findings(&run(&plan, |_, _, _| 10.0 * (0.02 * noise.draw(&mut random)).exp()), &options);
        for (_, _, dependence) in found.dependent() {
            let at = match dependence {
                Dependence::Groups { groups } => groups.len() - 2,
                Dependence::Wide { .. } => 2,
            };
            counts[at] += 1.0;
        }
    }
    counts.map(|count| count / (7 * 21 * runs) as f64)
}

#[test]
#[ignore = "takes a minute; prints a table"]
fn table_of_runs() {
    println!(
        "share of the figures of 200 runs (7 configurations, 21 tasks, 2 % of noise) in two groups, in three, and wide"
    );
    for noise in One::ALL {
        let shares = [3, 5, 10, 30].map(|repeats| {
            let [two, three, wide] = dependent(noise, repeats, 200).map(|share| 100.0 * share);
            format!("{two:>6.2}% {three:>6.3}% {wide:>5.2}%")
        });
        println!("{:16} {}", format!("{noise:?}"), shares.join("  "));
    }
}

#[test]
fn noise_has_no_groups_and_two_modes_have() {
    for noise in One::ALL {
        for n in [3, 4, 5, 10, 11, 30] {
            let share = falsely_cut(noise, n, 4000);
            assert!(share <= 0.012, "{noise:?}, {n}: {share}");
        }
    }
    for (n, within) in [(5, 0.01), (10, 0.03), (30, 0.03)] {
        let share = found(n, 0.5, within, 1000);
        assert!(share >= 0.9, "{n}, {within}: {share}");
    }
    for (n, within) in [(7, 0.01), (10, 0.03), (30, 0.03)] {
        let [share, _] = found_three(n, within, 1000);
        assert!(share >= 0.8, "{n}, {within}: {share}");
    }
}

/// A run in which one figure has the given repeats, and all others vary by 1 %.
fn with(repeats: &[f64]) -> mountmark_findings::Findings {
    let plan = plan(3, 6, repeats.len() as u32);
    let mut random = Random::new(5);
    let figures = run(&plan, |configuration, task, repeat| match (configuration, task) {
        (1, 2) => repeats[repeat as usize],
        _ => 20.0 * (1.0 + 0.01 * random.normal()),
    });
    findings(&figures, &Options::default())
}

#[test]
fn the_figure_that_depends_is_told_with_its_groups() {
    let found = with(&[13.6, 32.4, 13.7, 13.6, 32.6]);
    let all: Vec<_> = found.dependent().collect();
    let [(task, configuration, Dependence::Groups { groups })] = all[..] else { panic!("{all:?}") };
    assert_eq!((task.id.as_str(), configuration), ("t2", 1));
    let [low, high] = groups[..] else { panic!("{groups:?}") };
    assert_eq!((low.value, low.repeats, high.value, high.repeats), (13.6, 3, 32.5, 2));
    let verdict = task.judged().and_then(|judged| judged.verdict.clone()).expect("a verdict");
    assert!(verdict.gap.is_none_or(|gap| gap.between.is_some()), "{verdict:?}");
}

#[test]
fn a_figure_in_three_groups_is_told_with_them_beside_quiet_neighbours_alone() {
    let three = [20.1, 14.0, 29.2, 14.1, 20.2, 29.0, 14.2];
    let found = with(&three);
    let all: Vec<_> = found.dependent().collect();
    let [(_, 1, Dependence::Groups { groups })] = all[..] else { panic!("{all:?}") };
    assert_eq!(groups.iter().map(|group| group.repeats).collect::<Vec<_>>(), [3, 2, 2]);
    assert_eq!((groups[0].value, groups[2].value), (14.1, 29.1));
    let plan = plan(3, 6, 7);
    let alike = run(&plan, |configuration, task, repeat| three[(repeat as usize + configuration + task) % 7]);
    assert_eq!(findings(&alike, &Options::default()).dependent().count(), 0);
}

#[test]
fn a_wide_figure_is_told_beside_quiet_neighbours_alone() {
    let wide = [14.0, 29.0, 19.0, 23.0, 35.0];
    let found = with(&wide);
    let all: Vec<_> = found.dependent().collect();
    let [(_, 1, Dependence::Wide { min: 14.0, max: 35.0, cv, usual })] = all[..] else { panic!("{all:?}") };
    assert!((0.3..0.4).contains(cv) && (0.005..0.02).contains(usual), "{cv} {usual}");
    // Where all vary as much there is nothing to tell.
    let plan = plan(3, 6, 5);
    let alike = run(&plan, |configuration, task, repeat| wide[(repeat as usize + configuration + task) % 5]);
    assert_eq!(findings(&alike, &Options::default()).dependent().count(), 0);
}

#[test]
fn small_groups_and_few_repeats_are_none() {
    for repeats in [&[20.0, 20.4, 20.0, 20.4, 20.0][..], &[13.6, 32.5]] {
        assert_eq!(with(repeats).dependent().count(), 0, "{repeats:?}");
    }
}
