//! A guest's processor has the features of its machine's profile, and its kernel computes checksums accordingly.

use mountmark_model::processor::FEATURES;

use crate::lab::Lab;

/// Fails unless the guest has the features HAS and none of LACKS, and its mounted ext4 uses the implementation DRIVER
/// of crc32c. ERMS and FSRM move one byte per step, which is slow by a clock that counts steps.
const LOOK: &str = r#"
[[task]]
id = "look"
title = "look at the processor"
run = '''
flags=" $(grep -m 1 ^flags /proc/cpuinfo) "
for feature in HAS; do
    case "$flags" in *" $feature "*) ;; *) echo "no $feature" >&2; exit 1 ;; esac
done
for feature in LACKS erms fsrm; do
    case "$flags" in *" $feature "*) echo "$feature" >&2; exit 1 ;; esac
done
drivers=$(grep -A 3 '^driver *: crc32c' /proc/crypto)
echo "$drivers" | grep -A 3 ': DRIVER$' | grep -q '^refcnt *: [2-9]' || { echo "$drivers" >&2; exit 1; }
'''
"#;

#[test]
fn a_guests_processor_is_the_profiles() {
    let Some(lab) = Lab::with_guests("a_guests_processor_is_the_profiles", 1) else { return };
    let all = FEATURES.map(|feature| feature.name).join(" ");
    for (machine, has, lacks, driver) in
        [("modern", all.as_str(), "", "crc32c-intel"), ("p3-2006", "", all.as_str(), "crc32c-generic")]
    {
        let look = LOOK.replace("HAS", has).replace("LACKS", lacks).replace("DRIVER", driver);
        let suite = lab.suite("look", &look);
        let plan = ["--fs", "ext4", "--suite", &suite, "--machine", machine, "--disk", "ram", "--repeat", "1"];
        let results = lab.run(&plan).results();
        results.is_ok("ext4", &["look"]);
        let said = results.run["machine"]["processor"].as_array().expect("a list of features").iter();
        assert_eq!(said.map(|name| name.as_str().unwrap()).collect::<Vec<_>>().join(" "), has, "{machine}");
    }
}
