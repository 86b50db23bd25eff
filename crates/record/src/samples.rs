//! A cell's figures. What they are of is the same in most cells of a configuration, so it is held once, and each cell has
//! its values alone.

use std::sync::Arc;

use mountmark_model::Sample;

/// What a figure is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    task: Arc<str>,
    iteration: u32,
    metric: Arc<str>,
}

impl Place {
    fn with(&self, value: f64) -> SampleRef<'_> {
        SampleRef { task: &self.task, iteration: self.iteration, metric: &self.metric, value }
    }

    fn is(&self, (task, iteration, metric): (&str, u32, &str)) -> bool {
        *self.task == *task && self.iteration == iteration && *self.metric == *metric
    }
}

/// One of [`Samples`], with the fields of a [`Sample`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleRef<'a> {
    pub task: &'a str,
    pub iteration: u32,
    pub metric: &'a str,
    pub value: f64,
}

impl SampleRef<'_> {
    /// By itself.
    pub fn owned(&self) -> Sample {
        let SampleRef { task, iteration, metric, value } = *self;
        Sample { task: task.to_owned(), iteration, metric: metric.to_owned(), value }
    }
}

/// The figures of a cell, in the order in which they were measured.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    places: Arc<Vec<Place>>,
    values: Vec<f64>,
}

impl PartialEq for Samples {
    fn eq(&self, other: &Samples) -> bool {
        let is_same = Arc::ptr_eq(&self.places, &other.places) || self.places == other.places;
        is_same && self.values == other.values
    }
}

impl Samples {
    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = SampleRef<'_>> + Clone {
        self.into_iter()
    }

    /// Whether they are known to be of the same as those of another cell.
    pub(crate) fn is_like(&self, other: &Samples) -> bool {
        Arc::ptr_eq(&self.places, &other.places)
    }

    pub fn first(&self) -> Option<SampleRef<'_>> {
        self.iter().next()
    }

    /// Each with its value to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (SampleRef<'_>, &mut f64)> {
        self.places.iter().zip(&mut self.values).map(|(place, value)| (place.with(*value), value))
    }

    pub fn push(&mut self, Sample { task, iteration, metric, value }: Sample) {
        let places = Arc::make_mut(&mut self.places);
        // Those of a task follow one another.
        places.push(named(places.last(), (&task, iteration, &metric)));
        self.values.push(value);
    }

    pub fn clear(&mut self) {
        *self = Samples::default();
    }

    /// Keeps those that are `wanted`.
    pub fn retain(&mut self, mut wanted: impl FnMut(&SampleRef) -> bool) {
        *self = self.iter().filter(|sample| wanted(sample)).map(|sample| sample.owned()).collect();
    }
}

impl FromIterator<Sample> for Samples {
    fn from_iter<I: IntoIterator<Item = Sample>>(all: I) -> Samples {
        let mut samples = Samples::default();
        samples.extend(all);
        samples
    }
}

impl From<Vec<Sample>> for Samples {
    fn from(all: Vec<Sample>) -> Samples {
        all.into_iter().collect()
    }
}

impl Extend<Sample> for Samples {
    fn extend<I: IntoIterator<Item = Sample>>(&mut self, all: I) {
        all.into_iter().for_each(|sample| self.push(sample));
    }
}

impl<'a> IntoIterator for &'a Samples {
    type Item = SampleRef<'a>;
    type IntoIter = std::iter::Map<
        std::iter::Zip<std::slice::Iter<'a, Place>, std::slice::Iter<'a, f64>>,
        fn((&'a Place, &'a f64)) -> SampleRef<'a>,
    >;

    fn into_iter(self) -> Self::IntoIter {
        self.places.iter().zip(&self.values).map(|(place, value)| place.with(*value))
    }
}

/// Makes the samples of one cell after another, which share what their values are of.
#[derive(Default)]
pub struct Reader {
    known: Vec<Arc<Vec<Place>>>,
    /// Which of these the values so far fit.
    like: usize,
    /// What they are of, if they fit none.
    own: Option<Vec<Place>>,
    values: Vec<f64>,
}

/// Of how many known lists another one is looked for.
const MOST: usize = 16;

impl Reader {
    /// The next figure of the cell.
    pub fn push(&mut self, place: (&str, u32, &str), value: f64) {
        let at = self.values.len();
        self.values.push(value);
        if let Some(own) = &mut self.own {
            own.push(named(own.last(), place));
            return;
        }
        let fits = |known: &Arc<Vec<Place>>| known.get(at).is_some_and(|known| known.is(place));
        if self.known.get(self.like).is_some_and(fits) {
            return;
        }
        let so_far = self.known.get(self.like).map_or(&[][..], |known| &known[..at]);
        let mut latest = (0..self.known.len()).rev().take(MOST);
        if let Some(like) = latest
            .find(|one| fits(&self.known[*one]) && self.known[*one].get(..at).is_some_and(|known| known == so_far))
        {
            self.like = like;
            return;
        }
        let mut own = so_far.to_vec();
        own.push(named(own.last(), place));
        self.own = Some(own);
    }

    /// The samples of the cell, whose figures have ended.
    pub fn end(&mut self) -> Samples {
        let values = self.values.to_vec();
        self.values.clear();
        let known = self.known.get(self.like).filter(|_| self.own.is_none());
        let places = match known {
            Some(known) if known.len() == values.len() => known.clone(),
            _ => {
                let own = self.own.take().or_else(|| Some(known?[..values.len()].to_vec())).unwrap_or_default();
                self.like = self.known.len();
                self.known.push(Arc::new(own));
                self.known[self.like].clone()
            }
        };
        Samples { places, values }
    }
}

/// A place, with the text of the last one's task if that is the same.
fn named(last: Option<&Place>, (task, iteration, metric): (&str, u32, &str)) -> Place {
    let task = match last {
        Some(last) if *last.task == *task => last.task.clone(),
        _ => task.into(),
    };
    Place { task, iteration, metric: metric.into() }
}
