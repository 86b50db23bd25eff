use super::*;

#[test]
fn changes_of_a_disk_are_joined_however_they_are_given() {
    let disk = |disk: &str| LabOptions::usual().with(&guest::DISK, disk).with(&guest::IF, "write=0.5").disk().unwrap();
    assert_eq!(disk("ssd"), "ssd:write=0.5");
    assert_eq!(disk("ssd:flush=0"), "ssd:flush=0+write=0.5");
}

#[test]
fn profiles_are_of_one_kernel_and_machine() {
    let several = |option, values: &str| LabOptions::usual().with(option, values).check_one_computer();
    assert!(several(&guest::DISK, "ssd,hdd").is_ok());
    let said = several(&guest::KERNEL, "6.1,6.12").unwrap_err().to_string();
    assert_eq!(said, "profiles are of one kernel, and there are several");
}
