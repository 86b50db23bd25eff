//! How a plan is stored: what cells have alike once, and of each cell where that is.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use mountmark_model::{Conditions, Fill, SourceMedium, Task};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::{Alike, Plan, PlannedCell, Pool, Tasks};

/// Cells in tables. A cell's numbers are places in them.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table<'a> {
    alike: Vec<Cow<'a, Alike>>,
    task: Vec<Cow<'a, Task>>,
    /// Places of tasks.
    order: Vec<Vec<usize>>,
    second_disk: Vec<Cow<'a, SourceMedium>>,
    conditions: Vec<Cow<'a, Conditions>>,
    fill: Vec<Cow<'a, Fill>>,
    cell: Vec<Row>,
}

/// Index, repeat, seed, point, target; then alike, order, second disk, conditions, fill.
#[derive(Serialize, Deserialize)]
struct Row(u32, u32, u64, Option<u32>, Option<u32>, usize, usize, Option<usize>, Option<usize>, Option<usize>);

#[derive(Serialize)]
struct Stored<'a> {
    #[serde(flatten)]
    head: &'a mountmark_model::Plan,
    table: Table<'a>,
}

/// The parts of a stored plan that are cells: whole ones, as older versions stored them, or a table.
#[derive(Deserialize)]
struct Read<'a> {
    #[serde(borrow)]
    cells: &'a RawValue,
    #[serde(borrow)]
    table: Option<&'a RawValue>,
}

impl Plan {
    /// As JSON for a store.
    pub fn stored(&self) -> String {
        let stored = Stored { head: &self.head, table: Table::of(&self.cells) };
        serde_json::to_string(&stored).expect("the model's types have text keys only and do not fail by themselves")
    }

    /// A stored plan, of this version or an older one.
    ///
    /// # Errors
    /// A text that is none.
    pub fn from_stored(text: &str) -> serde_json::Result<Plan> {
        let Read { cells: whole, table } = serde_json::from_str(text)?;
        let cells = match table {
            Some(table) => serde_json::from_str::<Table>(table.get())?.cells()?,
            None => serde_json::from_str::<Whole>(whole.get())?.0,
        };
        // Without them: each is kilobytes.
        let begin = whole.get().as_ptr() as usize - text.as_ptr() as usize;
        let head = [&text[..begin], "[]", &text[begin + whole.get().len()..]].concat();
        Ok(Plan { head: serde_json::from_str(&head)?, cells })
    }
}

/// Things, each once, and where they are by their places in memory.
struct Places<'a, T: Clone> {
    things: Vec<Cow<'a, T>>,
    at: HashMap<*const T, usize>,
}

impl<'a, T: Clone> Places<'a, T> {
    fn new() -> Places<'a, T> {
        Places { things: Vec::new(), at: HashMap::new() }
    }

    fn get(&mut self, thing: &'a T) -> usize {
        *self.at.entry(thing).or_insert_with(|| {
            self.things.push(Cow::Borrowed(thing));
            self.things.len() - 1
        })
    }
}

impl<'a> Table<'a> {
    fn of(cells: &'a [PlannedCell]) -> Table<'a> {
        let (mut alike, mut task, mut second_disk) = (Places::new(), Places::new(), Places::new());
        let (mut conditions, mut fill) = (Places::new(), Places::new());
        let (mut order, mut orders) = (Vec::new(), HashMap::new());
        let mut row = |cell: &'a PlannedCell| {
            let tasks: Vec<usize> = cell.tasks.iter().map(|one| task.get(one)).collect();
            let tasks = *orders.entry(tasks.clone()).or_insert_with(|| {
                order.push(tasks);
                order.len() - 1
            });
            Row(
                cell.index,
                cell.repeat,
                cell.seed,
                cell.point,
                cell.target,
                alike.get(&*cell.alike),
                tasks,
                cell.second_disk.as_deref().map(|medium| second_disk.get(medium)),
                cell.conditions.as_deref().map(|drawn| conditions.get(drawn)),
                cell.fill.as_deref().map(|one| fill.get(one)),
            )
        };
        let cell = cells.iter().map(&mut row).collect();
        Table {
            alike: alike.things,
            task: task.things,
            order,
            second_disk: second_disk.things,
            conditions: conditions.things,
            fill: fill.things,
            cell,
        }
    }

    fn cells(self) -> serde_json::Result<Vec<PlannedCell>> {
        let (alike, task) = (shared(self.alike), shared(self.task));
        let (media, conditions, fills) = (shared(self.second_disk), shared(self.conditions), shared(self.fill));
        let tasks = |order: Vec<usize>| -> serde_json::Result<Tasks> {
            Ok(Tasks(order.into_iter().map(|at| place(&task, at)).collect::<serde_json::Result<_>>()?))
        };
        let orders: Vec<Tasks> = self.order.into_iter().map(tasks).collect::<serde_json::Result<_>>()?;
        let cell = |Row(index, repeat, seed, point, target, like, order, medium, drawn, fill)| {
            Ok(PlannedCell {
                index,
                repeat,
                point,
                target,
                seed,
                second_disk: medium.map(|at| place(&media, at)).transpose()?,
                conditions: drawn.map(|at| place(&conditions, at)).transpose()?,
                fill: fill.map(|at| place(&fills, at)).transpose()?,
                tasks: place(&orders, order)?,
                alike: place(&alike, like)?,
            })
        };
        self.cell.into_iter().map(cell).collect()
    }
}

fn shared<T: Clone>(things: Vec<Cow<T>>) -> Vec<Arc<T>> {
    things.into_iter().map(|thing| Arc::new(thing.into_owned())).collect()
}

fn place<T: Clone>(things: &[T], at: usize) -> serde_json::Result<T> {
    let missing = || serde_json::Error::custom(format!("a cell has part {at} of {}", things.len()));
    things.get(at).cloned().ok_or_else(missing)
}

/// Whole cells, each made a planned one before the next is read.
struct Whole(Vec<PlannedCell>);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Whole, D::Error> {
        struct Cells;
        impl<'de> Visitor<'de> for Cells {
            type Value = Whole;

            fn expecting(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
                to.write_str("a list of cells")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut cells: A) -> Result<Whole, A::Error> {
                let (mut pool, mut all) = (Pool::default(), Vec::new());
                while let Some(cell) = cells.next_element()? {
                    all.push(pool.cell(cell));
                }
                Ok(Whole(all))
            }
        }
        from.deserialize_seq(Cells)
    }
}
