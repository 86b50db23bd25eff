//! Time and memory for large runs.

use mountmark_model::Metric;
use mountmark_record::Sample;

use crate::tests::page::{of, report};
use crate::tests::run;
use crate::{analysis, options};

/// Time and memory for a large run, findings included; ignored, since only release builds are of interest. Peak memory
/// is that of the whole process.
/// `cargo test --release -p mountmark-findings --lib -- --ignored --nocapture large`
#[test]
#[ignore = "a measurement"]
fn large_runs_make_small_pages_soon() {
    // 210,000 samples of a large suite, of many iterations, of many file systems, and of one task.
    for (names, tasks, repeats, iterations) in [(7, 40, 30, 1), (7, 21, 3, 20), (42, 100, 2, 1), (4, 1, 3, 700)] {
        let names: Vec<String> = (0..names).map(|index| format!("ext4:variant{index}")).collect();
        let mut run = run(&names.iter().map(String::as_str).collect::<Vec<_>>(), repeats);
        run.plan.tasks = (0..tasks).map(|index| (format!("{index:03}"), format!("the test {index}"))).collect();
        let mut state = 1_u64;
        let mut samples = 0;
        for cell in &mut run.cells {
            cell.samples.clear();
            for (task, _) in &run.plan.tasks {
                for metric in &Metric::ALL[..25] {
                    for iteration in 0..iterations {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        let value = 0.001 + (state >> 40) as f64 / 1e5;
                        cell.samples.push(Sample { task: task.clone(), iteration, metric: metric.id.into(), value });
                        samples += 1;
                    }
                }
            }
        }
        let begin = std::time::Instant::now();
        let found = analysis::findings(&run, &options::Options::default());
        let analysed = begin.elapsed();
        let text = of(&[report(&run, &found)]);
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
        let all = begin.elapsed();
        println!("{samples} samples: findings {analysed:?}, with the page {all:?}, {} bytes; {peak}", text.len());
        let kib: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert!(kib < 200_000, "{peak}");
        assert!(text.len() < 3_000_000, "{} bytes", text.len());
        assert!(all.as_secs_f64() < 2.0 || cfg!(debug_assertions), "{all:?}");
    }
}
