//! The matrix by every metric, for the page's script: formatted texts and the order of figures.

use serde::Serialize;

use crate::figures::find::TaskFindings;
use crate::matrix::show::{Choice, Figure, Matrix, Row};
use crate::view::View;

/// The data that the script reads.
#[derive(Serialize)]
pub(crate) struct Data<'a> {
    /// Prefix of the ids of this run's elements.
    id: String,
    configurations: &'a [String],
    baseline: usize,
    /// Id and title.
    tasks: Vec<(&'a str, &'a str)>,
    tables: Vec<TableData>,
    /// `[configuration, task, word]` for figures missing for a known reason.
    absent: Vec<(usize, usize, &'static str)>,
}

#[derive(Serialize)]
struct TableData {
    /// As in the options of the page's list.
    id: &'static str,
    caption: String,
    rows: Vec<RowData>,
    total: Option<TotalData>,
}

/// `[tests, sums, ratios, best]`: number of tests, and by configuration their sum and its ratio to the baseline's; which
/// sums are the best.
#[derive(Serialize)]
struct TotalData(String, Vec<Option<String>>, Vec<Option<String>>, Vec<usize>);

/// `[task, unit, texts, ratios, looks, order]`: by configuration, `looks` has one letter (`b` best, `0` to `3` heat,
/// `-` none), `order` the rank within a column.
#[derive(Serialize)]
struct RowData(usize, Option<String>, Vec<Option<String>>, Vec<Option<String>>, String, Vec<Option<usize>>);

pub(crate) fn data<'a>(view: &View<'a>) -> Data<'a> {
    let findings = view.findings();
    let mut absent = Vec::new();
    for (number, task) in findings.tasks.iter().enumerate() {
        let words = (0..findings.configurations.len()).filter_map(|one| Some((one, view.trouble(one, &task.id)?)));
        absent.extend(words.map(|(configuration, word)| (configuration, number, word)));
    }
    let name =
        |task: &'a TaskFindings| (task.id.as_str(), if task.title == task.id { "" } else { task.title.as_str() });
    Data {
        id: view.id(""),
        configurations: &findings.headings,
        baseline: findings.baseline,
        tasks: findings.tasks.iter().map(name).collect(),
        tables: Choice::all(findings).into_iter().map(|choice| table(view, choice)).collect(),
        absent,
    }
}

fn table(view: &View, choice: Choice) -> TableData {
    let matrix = Matrix::new(view, choice);
    let orders: Vec<Vec<Option<usize>>> =
        (0..view.findings().configurations.len()).map(|column| order(&matrix.rows, column)).collect();
    let row = |(at, row): (usize, &Row)| {
        let texts = row.cells.iter().map(|cell| cell.as_ref().map(|figure| figure.text.clone())).collect();
        let ratios = row.cells.iter().map(|cell| cell.as_ref()?.ratio.clone()).collect();
        let looks = row.cells.iter().map(|cell| cell.as_ref().map_or('-', look)).collect();
        RowData(row.position, matrix.unit(row), texts, ratios, looks, orders.iter().map(|order| order[at]).collect())
    };
    TableData {
        id: match choice {
            Choice::Judged => "judged",
            Choice::Metric(metric) => metric.id,
        },
        caption: matrix.caption(view.repeats().as_deref()),
        rows: matrix.rows.iter().enumerate().map(row).collect(),
        total: matrix.total.as_ref().map(|total| {
            let texts = total.cells.iter().map(|cell| cell.as_ref().map(|(text, _)| text.clone()));
            let ratios = total.cells.iter().map(|cell| cell.as_ref()?.1.clone());
            TotalData(total.tests.clone(), texts.collect(), ratios.collect(), total.best.clone())
        }),
    }
}

fn look(figure: &Figure) -> char {
    if figure.is_best { 'b' } else { char::from(b'0' + figure.heat as u8) }
}

/// The rank of each row's figure in a column, the least first; `None` if there is no figure.
fn order(rows: &[Row], column: usize) -> Vec<Option<usize>> {
    let values: Vec<Option<f64>> = rows.iter().map(|row| row.found?.median(column)).collect();
    let mut order: Vec<usize> = (0..rows.len()).filter(|row| values[*row].is_some()).collect();
    order.sort_by(|a, b| values[*a].unwrap_or_default().total_cmp(&values[*b].unwrap_or_default()));
    let mut out = vec![None; rows.len()];
    order.iter().enumerate().for_each(|(place, row)| out[*row] = Some(place));
    out
}
