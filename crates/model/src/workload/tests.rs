use std::collections::BTreeMap;

use super::*;

const BONNIE: &str = r#"
files = { count = 1, size = "$BIG_MIB * 1 MiB" }

[[phases]]
name = "put_block"
what = "write"
block = "8 KiB"
sync = { end = true }

[[phases]]
name = "seeks"
what = { read = 9, rewrite = 1 }
pattern = "random"
threads = 3
processes = true
run = { operations = "$SEEKS" }

[[phases]]
name = "hot"
what = "stat"
files = { folder = "small", count = "$FILES * 1024", directories = 16, names = "random" }
pattern = { zipf = 0.99 }
run = { seconds = 1.5 }
data = { compressible = 4.0 }
"#;

#[test]
fn a_workload_is_read_and_written_back() {
    let workload: Workload = toml::from_str(BONNIE).unwrap();
    assert_eq!(workload.phases[0].what, Mix(BTreeMap::from([(Operation::Write, 1)])));
    assert_eq!(workload.phases[1].what.0[&Operation::Read], 9);
    assert_eq!(workload.phases[2].pattern, Pattern::Zipf(0.99));
    let again: Workload = toml::from_str(&toml::to_string(&workload).unwrap()).unwrap();
    assert_eq!(again, workload);
    let json: Workload = serde_json::from_str(&serde_json::to_string(&workload).unwrap()).unwrap();
    assert_eq!(json, workload);
}

#[test]
fn what_is_unknown_is_refused_by_name() {
    for (wrong, said) in [
        ("phases = [{ name = \"a\", what = \"reed\" }]", "reed"),
        ("phases = [{ name = \"a\", what = { read = 1, reed = 1 } }]", "reed"),
        ("phases = [{ name = \"a\", what = \"read\", blok = 1 }]", "blok"),
        ("phases = [{ name = \"a\", what = \"read\", pattern = { zipf = \"x\" } }]", "zipf"),
        ("phases = [{ name = \"a\", what = \"read\", block = -1 }]", "negative"),
        ("phases = [{ name = \"a\", what = \"read\", block = \"$\" }]", "not a quantity"),
        ("phases = [{ name = \"a\", what = \"read\", sync = { evry = 1 } }]", "evry"),
    ] {
        let error = toml::from_str::<Workload>(wrong).unwrap_err().to_string();
        assert!(error.contains(said), "{wrong}: {error}");
    }
}

#[test]
fn quantities_take_parameters() {
    let parameters = BTreeMap::from([("BIG_MIB".to_owned(), 3), ("NONE".to_owned(), 0)]);
    let value = |text: &str| text.parse::<Quantity>().unwrap().value(&parameters);
    assert_eq!(value("4 KiB"), Ok(4096));
    assert_eq!(value("$BIG_MIB * 1 MiB"), Ok(3 << 20));
    assert_eq!(value("$BIG_MIB*1 MiB/2"), Ok(3 << 19));
    assert_eq!(value("10 / 4"), Ok(2));
    assert!(matches!(value("$BIG"), Err(QuantityError::Unknown { .. })));
    assert!(matches!(value("1 / $NONE"), Err(QuantityError::Range { .. })));
    assert!(matches!(value("$BIG_MIB * 8000000 TiB * 2"), Err(QuantityError::Range { .. })));
    for bad in ["", "$", "* 2", "2 *", "2 ** 3", "$A-B", "ten"] {
        assert!(bad.parse::<Quantity>().is_err(), "{bad:?}");
    }
}

#[test]
fn operations_have_one_name() {
    for operation in Operation::ALL {
        assert_eq!(serde_json::to_value(operation).unwrap(), operation.name());
    }
    assert!(Operation::ALL.is_sorted(), "results are listed in the order of ALL");
}
