use super::*;

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn array() -> Layer {
    let option = |usual: &str, values: &[(&str, &str)]| LayerOption {
        about: String::new(),
        usual: usual.into(),
        values: values.iter().map(|(word, value)| ((*word).to_owned(), (*value).to_owned())).collect(),
        gives_up: Vec::new(),
    };
    let chunks = option("64KiB", &[("64KiB", "64"), ("1MiB", "1024")]);
    let log = option("none", &[("none", ""), ("ppl", "--log")]);
    Layer {
        name: "array".into(),
        about: String::new(),
        modules: Vec::new(),
        packages: Vec::new(),
        tools: Vec::new(),
        device: "/dev/md{number}".into(),
        make: vec![words("create /dev/md{number} -n {disks} -c {chunk} {log} {devices}")],
        attach: vec![words("assemble /dev/md{number} {devices}")],
        detach: vec![words("stop /dev/md{number}")],
        attach_degraded: vec![words("assemble --degraded /dev/md{number} {devices}")],
        hole: "Its copies differ.".into(),
        room: Bytes(0),
        guests_only: String::new(),
        disks: Some(DiskCount { option: "disks".into(), least: 2, most: 4 }),
        options: [("disks", option("2", &[])), ("chunk", chunks), ("log", log)]
            .map(|(name, option)| (name.to_owned(), option))
            .into(),
    }
}

#[test]
fn options_stand_in_commands() {
    let array = array();
    let plain = array.with("array", &[]).unwrap();
    assert_eq!(plain.make, [words("create /dev/md{number} -n 2 -c 64 {devices}")]);
    let given = [("disks", "3"), ("chunk", "1MiB"), ("log", "ppl")];
    let chosen = array.with("array:…", &given).unwrap();
    assert_eq!((chosen.disks, &chosen.make[0]), (3, &words("create /dev/md{number} -n 3 -c 1024 --log {devices}")));
    for (given, said) in [
        (("disks", "9"), "takes 2 to 4 disks"),
        (("disks", "x"), "takes 2 to 4 disks"),
        (("chunk", "100"), "one of 64KiB, 1MiB"),
        (("log", "other"), "one of none, ppl"),
        (("level", "5"), "its options: chunk, disks, log"),
    ] {
        let error = array.with("array", &[given]).unwrap_err();
        assert!(error.contains(said), "{given:?}: {error}");
    }
}

#[test]
fn layers_lie_on_each_other() {
    let upper = Layer {
        device: "/dev/mapper/{name}".into(),
        make: vec![words("format {device}")],
        attach: vec![words("open {device} {name}")],
        detach: vec![words("close {name}")],
        disks: None,
        options: BTreeMap::new(),
        ..array()
    };
    let layers = [upper.with("upper", &[]).unwrap(), array().with("array", &[]).unwrap()];
    let disks = ["/dev/a".to_owned(), "/dev/b".to_owned()];
    let stack = Stack::new(&layers, disks.to_vec());
    assert_eq!(stack.device(), "/dev/mapper/layer1");
    let lines = |commands: Vec<(&str, Vec<String>)>| {
        commands.into_iter().map(|(name, words)| format!("{name}: {}", words.join(" "))).collect::<Vec<_>>()
    };
    assert_eq!(
        lines(stack.make()),
        [
            "array: create /dev/md0 -n 2 -c 64 /dev/a /dev/b",
            "array: assemble /dev/md0 /dev/a /dev/b",
            "upper: format /dev/md0",
            "upper: open /dev/md0 layer1",
        ]
    );
    assert_eq!(lines(stack.attach())[1], "upper: open /dev/md0 layer1");
    assert_eq!(lines(stack.detach()), ["upper: close layer1", "array: stop /dev/md0"]);
    assert_eq!(Stack::new(&[], disks.to_vec()).device(), "/dev/a");
    assert!(Stack::new(&[], disks.to_vec()).make().is_empty());
}

#[test]
fn a_disk_that_is_gone_is_left_out_at_the_lowest_layer() {
    let lower = array().with("array", &[]).unwrap();
    let upper = StackedLayer { name: "upper".into(), device: "/dev/mapper/{name}".into(), disks: 1, ..lower.clone() };
    let layers = [upper, lower];
    let commands = Stack::new(&layers, vec!["/dev/a".into(), "/dev/b".into()]).attach_without(0);
    let commands: Vec<String> = commands.into_iter().map(|(_, command)| command.join(" ")).collect();
    assert_eq!(commands, ["assemble --degraded /dev/md0 /dev/b", "assemble /dev/md1 /dev/md0"]);
}
