//! Layers below a file system: the words behind `@` in `--fs`, and what is wrong with a file of `catalog/layers/`.
//!
//! `ext4@luks`, `xfs@lvm:stripes=4`, `ext4@luks@raid1`: after the file system its layers, the uppermost first, each with its
//! options as `key=value` behind colons. A backslash escapes an `@` that is part of an option: `btrfs:mount=subvol=\@`.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use mountmark_model::{Configuration, FileSystem, Layer, StackedLayer, names, split};

use crate::bounds::is_word;
use crate::catalogue::Origin;
use crate::check::null;
use crate::check::own_steps::braced;
use crate::error::{fault, listed};
use crate::{Catalogue, PlanError};

/// The layers of `--fs`, each as it is written.
///
/// # Errors
/// A sentence.
pub(crate) fn stacked(catalogue: &Catalogue, texts: &[&str]) -> Result<Vec<StackedLayer>, String> {
    let mut layers: Vec<StackedLayer> = Vec::new();
    let mut known = BTreeSet::new();
    for (at, text) in texts.iter().enumerate() {
        let mut parts = split(text.trim(), ':').into_iter().map(str::trim);
        let name = parts.next().unwrap_or_default();
        let layer = catalogue.get::<Layer>(name).map_err(|error| unknown(catalogue, &error, name))?;
        if !known.insert(name) {
            return Err(format!("the layer {name} is in it twice"));
        }
        let mut given = Vec::new();
        for part in parts {
            let pair = part.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty());
            let Some(pair) = pair.filter(|(key, _)| !["mkfs", "mount"].contains(key)) else {
                return Err(format!(
                    "{part:?} is no option of the layer {name}, which are written key=value; options of the file system \
                     stand before the first @: ext4:noatime@{name}"
                ));
            };
            if given.iter().any(|(key, _)| *key == pair.0) {
                return Err(format!("the option {} of the layer {name} is in it twice", pair.0));
            }
            given.push(pair);
        }
        let layer = layer.with(text.trim(), &given)?;
        if layer.disks > 1 && at + 1 < texts.len() {
            return Err(format!(
                "the layer {name} takes {} disks, and a layer below makes one: write {name} last",
                layer.disks
            ));
        }
        layers.push(layer);
    }
    Ok(layers)
}

/// Refuses a layer that is called like a file system: behind an `@` a name would be either.
pub(crate) fn named_apart(catalogue: Catalogue) -> crate::Result<Catalogue> {
    let both = catalogue.list::<Layer>().find(|layer| catalogue.get::<FileSystem>(&layer.name).is_ok());
    let Some(name) = both.map(|layer| &layer.name) else { return Ok(catalogue) };
    let of_user = [catalogue.origin::<Layer>(name), catalogue.origin::<FileSystem>(name)].into_iter().flatten();
    let path =
        of_user.filter_map(|origin| if let Origin::File(path) = origin { Some(path.display()) } else { None }).next();
    let shown = path.map_or_else(|| format!("the layer {name}"), |path| path.to_string());
    Err(fault(&shown, format!("a file system and a layer are both called {name:?}: give this one another name")))
}

fn unknown(catalogue: &Catalogue, error: &PlanError, name: &str) -> String {
    match name {
        _ if catalogue.get::<FileSystem>(name).is_ok() => {
            let upper = catalogue.list::<FileSystem>().filter(|one| one.below.is_some());
            let upper: Vec<&str> = upper.map(|one| one.name.as_str()).collect();
            format!(
                "{name} is a file system, and not a layer; those that lie on a folder of another one have one file system below \
                 them, first behind their own name: {}",
                listed(&upper)
            )
        }
        "" => "an @ is followed by no layer; `mountmark list layers` lists all".to_owned(),
        _ => format!("{error}; an @ that is part of an option or a label is written \\@"),
    }
}

/// Whether the same commands make them, however they are written.
pub(crate) fn are_alike(some: &[StackedLayer], others: &[StackedLayer]) -> bool {
    let unnamed = |layers: &[StackedLayer]| -> Vec<StackedLayer> {
        layers.iter().map(|layer| StackedLayer { name: String::new(), ..layer.clone() }).collect()
    };
    unnamed(some) == unnamed(others)
}

/// This program's own catalogue, which is asked of each cell of a stored plan.
static BUILT_IN: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::built_in().unwrap_or_default());

/// Why layers of a configuration are not made on real disks. Their commands work there as root, and may be anybody's, of a
/// catalogue or a store; only this program's own are known to reach nothing but the disks under test.
pub(crate) fn foreign(configuration: &Configuration) -> Option<String> {
    let layers = &configuration.base().layers;
    if layers.is_empty() {
        return None;
    }
    let names: Vec<&str> = layers.iter().map(|layer| layer.name.as_str()).collect();
    let own = stacked(&BUILT_IN, &names).unwrap_or_default();
    let reason = |(at, layer): (usize, &StackedLayer)| {
        if own.get(at) != Some(layer) {
            return Some(format!(
                "the layer {} is not this program's own: on a real machine its commands would run as root",
                layer.name
            ));
        }
        let known = BUILT_IN.get::<Layer>(layer.name.split(':').next().unwrap_or_default()).ok()?;
        let reason = &known.guests_only;
        (!reason.is_empty()).then(|| format!("the layer {} is made in guests alone: {reason}", known.name))
    };
    let reason = layers.iter().enumerate().find_map(reason)?;
    Some(format!("{reason}; leave it out, or take --lab virtual or --lab kvm; nothing was changed"))
}

/// What is wrong with a file of `catalog/layers/`.
pub(crate) fn faults(layer: &Layer) -> Vec<String> {
    let mut faults = Vec::new();
    if !is_word(&layer.name) {
        faults.push(format!("the name {:?} must be made of letters, digits, - and _", layer.name));
    }
    names::list("packages", &layer.packages, names::package, &mut faults);
    names::list("tools", &layer.tools, names::program, &mut faults);
    names::list("modules", &layer.modules, names::module, &mut faults);
    for (field, commands) in layer.lists() {
        for command in commands {
            match command.first() {
                Some(program) => names::list(field, std::slice::from_ref(program), names::program, &mut faults),
                None => faults.push(format!("{field}: a command is empty")),
            }
            faults.extend(command.iter().find_map(|word| null(field, word)));
            let is_known = |word: &&str| OWN.contains(word) || layer.options.contains_key(*word);
            for word in command.iter().flat_map(|word| braced(word)).filter(|word| !is_known(word)) {
                faults.push(format!("{field}: {{{word}}} stands for nothing here: it is no option of the layer"));
            }
        }
    }
    if layer.attach.is_empty() || layer.detach.is_empty() {
        faults.push("give `attach` and `detach`, each at least one command".into());
    }
    let device = &layer.device;
    if !device.starts_with("/dev/") || !["{name}", "{number}"].iter().any(|word| device.contains(word)) {
        faults.push(format!("device {device:?} must be a path in /dev with {{name}} or {{number}} in it"));
    }
    for key in layer.options.keys().filter(|key| !is_word(key) || is_taken(key)) {
        faults.push(format!(
            "option {key:?}: a name is made of letters, digits, - and _, and is no word that commands have"
        ));
    }
    for (key, option) in &layer.options {
        let unknown = option.gives_up.iter().filter(|value| !option.values.contains_key(*value));
        faults.extend(
            unknown.map(|value| format!("option {key:?}: gives_up has {value:?}, which is none of its `values`")),
        );
    }
    if let Some(count) = &layer.disks {
        if !layer.options.contains_key(&count.option) {
            faults.push(format!("disks: there is no option {:?}", count.option));
        }
        if count.least == 0 || count.least > count.most {
            faults.push("disks: `least` is at least 1, and at most `most`".into());
        }
    }
    if faults.is_empty() {
        faults.extend(layer.with(&layer.name, &[]).err());
    }
    faults
}

/// Words in braces that each command of a layer gets.
const OWN: [&str; 4] = ["device", "devices", "name", "number"];

/// Whether commands have the word for something else, or `--fs` has.
fn is_taken(key: &str) -> bool {
    OWN.contains(&key) || ["mkfs", "mount"].contains(&key)
}

#[cfg(test)]
mod tests {
    use mountmark_model::Configuration;

    use super::*;
    use crate::configurations;

    fn one(text: &str) -> Result<Configuration, String> {
        let all = configurations(&Catalogue::built_in().unwrap(), &[text.to_owned()]);
        all.map(|mut all| all.remove(0)).map_err(|error| error.to_string())
    }

    #[test]
    fn what_gives_up_promises_is_a_value() {
        let catalogue = Catalogue::built_in().unwrap();
        let mut layer = catalogue.get::<Layer>("integrity").unwrap().clone();
        assert_eq!(faults(&layer), [] as [&str; 0]);
        layer.options.get_mut("mode").unwrap().gives_up = vec!["nothing".into()];
        assert_eq!(faults(&layer), ["option \"mode\": gives_up has \"nothing\", which is none of its `values`"]);
    }

    #[test]
    fn layers_stand_behind_the_file_system() {
        let plain = one("ext4").unwrap();
        assert_eq!((plain.layers.len(), plain.disks()), (0, 1));
        let both = one("ext4:noatime@luks@lvm:stripes=2#mine").unwrap();
        let names: Vec<&str> = both.layers.iter().map(|layer| layer.name.as_str()).collect();
        assert_eq!((names, both.disks()), (vec!["luks", "lvm:stripes=2"], 2));
        assert_eq!(
            (both.mount_options.as_slice(), both.heading().as_ref()),
            (&["noatime".to_owned()][..], "ext4@luks@lvm#mine")
        );
        assert_eq!(one("btrfs:raid1").unwrap().disks(), 2);
        let root = one(r"btrfs:mount=subvol=\@").unwrap();
        assert_eq!((root.mount_options, root.layers.len()), (vec!["subvol=@".to_owned()], 0));
    }

    #[test]
    fn mistakes_in_layers_are_named() {
        for (text, said) in [
            ("ext4@", "followed by no layer"),
            ("ext4@lusk", "did you mean luks?"),
            ("ext4:mkfs=-L a@b", r"is written \@"),
            ("ext4@luks@luks", "twice"),
            ("ext4@luks:iterations=1000:iterations=2000", "twice"),
            ("ext4@luks:mount=noatime", "before the first @"),
            ("ext4@luks:noatime", "before the first @"),
            ("ext4@luks:depth=1", "has no option"),
            ("ext4@lvm:stripes=0", "disks"),
            ("ext4@lvm:stripes=2@luks", "write lvm last"),
            ("ext4#a@luks", "label"),
            ("btrfs:raid1@luks", "takes disks itself"),
        ] {
            let error = one(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
        let twice = one("ext4@luks,ext4@luks:iterations=1000").unwrap_err();
        assert!(twice.contains("made and mounted like"), "{twice}");
    }

    #[test]
    fn real_disks_have_only_layers_that_are_known_and_taken_down() {
        let catalogue = Catalogue::built_in().unwrap();
        let mut on_disks = 0;
        for layer in catalogue.list::<Layer>() {
            let configuration = one(&format!("ext4@{}", layer.name)).unwrap();
            let refused = foreign(&configuration);
            match layer.guests_only.is_empty() {
                true => {
                    assert_eq!(refused, None, "{}", layer.name);
                    let is_found = layer.device.starts_with("/dev/mapper/{name}") || layer.device == "/dev/md{number}";
                    assert!(is_found, "{}: a killed run's {} is not found", layer.name, layer.device);
                    on_disks += 1;
                }
                false => assert!(refused.unwrap().contains("made in guests alone")),
            }
            // As a store of a stranger may have it.
            let mut forged = configuration;
            forged.layers[0].detach = vec![vec!["rm".into(), "-rf".into(), "/home".into()]];
            assert!(foreign(&forged).unwrap().contains("is not this program's own"));
        }
        assert!(on_disks > 8, "{on_disks}");
    }
}
