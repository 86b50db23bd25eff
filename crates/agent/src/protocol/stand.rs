//! How the file system under test comes to stand on its disks, and how it is taken away again: its layers, the file system
//! on whose folder it lies, if it lies on one, and itself.

use mountmark_job::Places;
use mountmark_model::{Configuration, Site, Stack};

use super::{Act, Disk, Mount, Part, Step};

/// The folder of the file system below, in its mount point: file systems have folders of their own beside it.
const FOLDER: &str = "files";

/// How a file system stands on its disks.
pub struct Stand<'a> {
    configuration: &'a Configuration,
    stack: Stack<'a>,
    site: Site,
    below: Option<(&'a Configuration, Site)>,
}

impl<'a> Stand<'a> {
    /// Of a configuration whose disks are in these places.
    pub fn of(configuration: &'a Configuration, places: &Places) -> Stand<'a> {
        let stack = configuration.stack(places.disks());
        let base = configuration.base();
        let devices = if base.layers.is_empty() { places.disks() } else { vec![stack.device()] };
        let folder = places.below_folder();
        let below = configuration.below.as_deref();
        let below = below.map(|below| (below, Site { name: "below", ..Site::on(devices.clone(), &folder) }));
        let site = Site::on(devices, &places.test_folder);
        let site = match below {
            None => site,
            Some(_) => Site { devices: Vec::new(), below: folder.join(FOLDER).display().to_string(), ..site },
        };
        Stand { configuration, stack, site, below }
    }

    /// The device of checks and repairs.
    pub fn device(&self) -> String {
        self.stack.device()
    }

    /// Makes and attaches all that the file system stands on.
    pub fn lay(&self) -> Vec<Step<'a>> {
        let whole = |of: &'a str, act: Act<'a>| Step { of, part: Part::Whole, act };
        let mut steps: Vec<Step<'a>> =
            self.stack.make().into_iter().map(|(of, command)| whole(of, Act::Layer(command))).collect();
        steps.extend(self.attached().into_iter().map(|(of, act)| whole(of, act)));
        if let Some((below, site)) = &self.below {
            let of = below.filesystem.name.as_str();
            steps.push(whole(of, Act::Make(Disk::Below, below.make(site))));
            steps.push(whole(of, Act::Mount(Disk::Below, Mount::sound(below, site))));
            steps.push(whole(of, Act::Layer(vec!["mkdir".to_owned(), self.site.below.clone()])));
        }
        steps
    }

    /// Makes the file system itself.
    pub fn make(&self) -> Act<'a> {
        Act::Make(Disk::Test, self.configuration.make(&self.site))
    }

    /// How it is mounted itself.
    pub fn mount(&self) -> Mount {
        Mount::sound(self.configuration, &self.site)
    }

    /// Commands that unmount it.
    pub fn unmount(&self) -> Vec<Vec<String>> {
        self.configuration.unmount(&self.site)
    }

    /// Takes away what it stands on, down to the layers, when it is unmounted.
    pub fn leave(&self) -> Vec<Step<'a>> {
        let mut steps = Vec::new();
        let whole = |of: &'a str, act: Act<'a>| Step { of, part: Part::Whole, act };
        if let Some((below, site)) = &self.below {
            steps.push(whole(&below.filesystem.name, Act::Unmount(Disk::Below, below.unmount(site))));
        }
        steps.extend(self.detached().into_iter().map(|(of, act)| whole(of, act)));
        steps
    }

    /// Takes the layers away.
    pub fn detach(&self) -> Vec<Step<'a>> {
        let steps = self.stack.detach().into_iter();
        steps.map(|(of, command)| Step { of, part: Part::Whole, act: Act::Layer(command) }).collect()
    }

    /// From a mounted file system to disks of which the kernel knows nothing.
    pub fn down(&self) -> Vec<Act<'a>> {
        let mut acts = vec![Act::Unmount(Disk::Test, self.unmount())];
        acts.extend(self.leave().into_iter().chain(self.detach()).map(|step| step.act));
        acts.push(Act::Forget(Disk::Test));
        acts
    }

    /// From such disks to where the file system, or the one below it, can be mounted; `gone`: without this disk, counted from 0.
    pub fn attach(&self, gone: Option<usize>) -> Vec<Act<'a>> {
        let layers = gone.map_or_else(|| self.stack.attach(), |disk| self.stack.attach_without(disk));
        let layers = layers.into_iter().map(|(_, command)| Act::Layer(command));
        layers.chain(self.attached().into_iter().map(|(_, act)| act)).collect()
    }

    /// From such disks to a mounted file system.
    pub(super) fn up(&self) -> Vec<Act<'a>> {
        let mut acts = self.up_to_mount();
        acts.push(Act::Mount(Disk::Test, self.mount()));
        acts
    }

    /// From such disks to where it can be mounted.
    pub(super) fn up_to_mount(&self) -> Vec<Act<'a>> {
        let mut acts = self.attach(None);
        acts.extend(self.below.iter().map(|(below, site)| Act::Mount(Disk::Below, Mount::sound(below, site))));
        acts
    }

    /// How all is mounted at once, after [`Stand::attach`]; `cut`: the power failed before.
    pub fn come_up(&self, cut: bool) -> Mount {
        let of = |configuration: &Configuration, site: &Site| match cut {
            true => Mount::after_cut(configuration, site),
            false => Mount::sound(configuration, site),
        };
        match &self.below {
            None => of(self.configuration, &self.site),
            Some((below, site)) => of(below, site).with(self.mount()),
        }
    }

    /// Replays the log of what is checked, which is mounted and unmounted for it.
    pub(super) fn replay(&self) -> Vec<Act<'a>> {
        let (disk, (base, site)) = match &self.below {
            None => (Disk::Test, (self.configuration, &self.site)),
            Some((below, site)) => (Disk::Below, (*below, site)),
        };
        let mount = Act::Mount(disk, Mount::after_cut(base, site));
        vec![mount, Act::Unmount(disk, base.unmount(site)), Act::Forget(Disk::Test)]
    }

    /// Each file system's own preparations, the lowest first.
    fn attached(&self) -> Vec<(&'a str, Act<'a>)> {
        let own = |(one, disk, site): Own<'a, '_>| (name(one), Act::Attach(disk, one.attach(site)));
        self.all().into_iter().filter(|own| !own.0.filesystem.attach.is_empty()).map(own).collect()
    }

    /// The same undone, the uppermost first.
    fn detached(&self) -> Vec<(&'a str, Act<'a>)> {
        let own = |(one, disk, site): Own<'a, '_>| (name(one), Act::Detach(disk, one.detach(site)));
        self.all().into_iter().rev().filter(|own| !own.0.filesystem.detach.is_empty()).map(own).collect()
    }

    /// The lowest first.
    fn all(&self) -> Vec<Own<'a, '_>> {
        let below = self.below.iter().map(|(below, site)| (*below, Disk::Below, site));
        below.chain([(self.configuration, Disk::Test, &self.site)]).collect()
    }
}

type Own<'a, 's> = (&'a Configuration, Disk, &'s Site);

fn name(configuration: &Configuration) -> &str {
    &configuration.filesystem.name
}
