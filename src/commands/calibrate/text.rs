//! What was measured, and how well a model fits it, in words: for the terminal and as comments of the profiles.

use std::fmt::Write as _;

use anyhow::Result;
use mountmark_analyse::calibrate::{Ratio, Speed};
use mountmark_disk::flash::fit::Costs;
use mountmark_model::{Disk, Machine};
use mountmark_record::RunRecord;

use super::costs::Wanted;

/// A 4 KiB read that takes longer, in ns, may have waited for an arm.
const ARM: f64 = 2e6;

/// One line for a profile's sources.
pub fn source(run: &RunRecord) -> String {
    let environment = &run.environment;
    format!(
        "mountmark calibrate, {}: run {} on {}, Linux {}",
        run.started, run.id, environment.host_cpu, environment.host_kernel
    )
}

pub fn machine(machine: &Machine, speed: &Speed, run: &RunRecord) -> Result<String> {
    let head = format!("Made by {}.\n{}", source(run), self::speed(speed));
    Ok(format!("{}{}", commented(&head), toml::to_string(machine)?))
}

pub fn disk(disk: &Disk, wanted: &Wanted, tried: Option<&Costs>) -> Result<String> {
    let head = format!(
        "Belongs to the machine of this name: its times are {:.2} times what was measured, as that machine's are.\n\
         Fitted: latencies, rates, units; program_latency_ns and units together are the rate at which it stores. Its size,\n\
         the controller's overhead_ns, channels, page and queue_depth were not measured.\n{}",
        wanted.pace,
        costs(wanted, tried)
    );
    Ok(format!("{}{}", commented(&head), toml::to_string(disk)?))
}

fn commented(text: &str) -> String {
    text.lines().fold(String::new(), |all, line| all + format!("# {line}").trim_end() + "\n")
}

/// Processor time of each task, and what follows for the model.
pub fn speed(speed: &Speed) -> String {
    let mut text = format!("{:14} {:>11} {:>9} {:>7}\n", "processor, ms", "machine", "guest", "ratio");
    for ratio in &speed.ratios {
        let Ratio { task, machine, guest } = ratio;
        let _ = writeln!(text, "{task:14} {:>11.2} {:>9.2} {:>7.2}", machine * 1e3, guest * 1e3, ratio.value());
    }
    // The guest was measured at its quickest.
    let usual = speed.pace / f64::from(1_u32 << speed.shift);
    let parts = speed.ratios.iter().map(|ratio| usual / ratio.value());
    let (least, most) = parts.fold((f64::INFINITY, 0.0), |(least, most), part| (part.min(least), part.max(most)));
    let _ = writeln!(
        text,
        "{:.2} s of the model are 1 s of the machine, by the median of the ratios. Of single tasks the machine takes {least:.2} to\n\
         {most:.2} times what the model says.",
        speed.pace
    );
    text
}

/// What requests take: measured, as the guest should take it, and as it takes it.
pub fn costs(wanted: &Wanted, tried: Option<&Costs>) -> String {
    let mut text = format!("{:26} {:>9} {:>9}", "disk, us", "machine", "wanted");
    text += if tried.is_some() { "    model   ratio\n" } else { "\n" };
    let rows = Costs::NAMES.iter().zip(wanted.measured.values()).zip(wanted.guest.values());
    let tried = tried.map(Costs::values);
    let mut slow = Vec::new();
    for (row, ((name, measured), guest)) in rows.enumerate() {
        let _ = write!(text, "{name:26} {:>9.1} {:>9.1}", measured / 1e3, guest / 1e3);
        if let Some(tried) = tried {
            let _ = write!(text, " {:>8.1} {:>7.2}", tried[row] / 1e3, tried[row] / guest);
            slow.extend((tried[row] > 1.2 * guest).then_some(*name));
        }
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "wanted: {:.2} times the machine's, in the model's time; model: a guest with this profile.",
        wanted.pace
    );
    if !slow.is_empty() {
        let _ = writeln!(
            text,
            "Too slow in the model: {}. A guest's own way to its disk may take longer than this disk.",
            slow.join(", ")
        );
    }
    if wanted.measured.read > ARM {
        text +=
            "A read takes so long that the disk may be a turning one: this model has no arm, and the disk hdd has.\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_say_how_well_the_model_fits() {
        let ratio = |task: &str, guest| Ratio { task: task.into(), machine: 0.01, guest };
        let speed = Speed::new(vec![ratio("clear", 0.08), ratio("find", 0.02), ratio("read", 0.04)]).unwrap();
        let said = self::speed(&speed);
        assert!(said.contains("clear                10.00     80.00    8.00\n"), "{said}");
        assert!(said.contains("4.00 s of the model are 1 s") && said.contains("takes 0.50 to\n2.00 times"), "{said}");

        let measured = Costs::new([100e3, 20e3, 400e3, 500e3, 600e3, 900e3]);
        let wanted = Wanted::new(&measured, &measured, &measured, 4.0);
        let mut tried = wanted.guest;
        tried.large_write *= 2.0;
        let said = costs(&wanted, Some(&tried));
        assert!(said.contains("4 KiB read                     100.0     400.0    400.0    1.00\n"), "{said}");
        assert!(said.contains("Too slow in the model: 1 MiB written.") && !said.contains("turning"), "{said}");
        let turning = Wanted::new(&Costs { read: 9e6, ..measured }, &measured, &measured, 4.0);
        assert!(costs(&turning, None).contains("no arm"));
    }
}
