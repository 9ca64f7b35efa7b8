//! What people see: tables in Markdown, and a picture.

use std::collections::BTreeSet;
use std::path::Path;

use super::library::{LIBRARIES, OURS};
use super::plot::{Chart, PlotAxis, write};
use super::results::{Results, Row, on};
use super::statistics::Mean;
use crate::tuning::geometric_mean;

/// Prints all tables.
pub(super) fn print(results: &Results, means: &[Mean]) {
    let cpu = results.machine["cpu"].as_str().unwrap_or("a CPU");
    let compiler = results.machine["compiler"].as_str().unwrap_or("a compiler");
    println!("\n{}, {cpu}, {compiler}", results.date);
    let versions = columns(results)
        .into_iter()
        .filter_map(|(name, shown)| Some(format!("{shown} {}", results.libraries.get(name)?)).filter(|_| name != OURS));
    println!("{}", versions.collect::<Vec<_>>().join(", "));
    for (name, why) in &results.missing {
        println!("missing: {name}: {why}");
    }
    let figures = results.rows.iter().flat_map(|row| row.seconds.values().flatten());
    let (clean, all) = (figures.clone().flatten().count(), figures.count());
    println!("{clean} of {all} turns had three samples in which no thread lost its core\n");
    print_ratios(means);
    print_gflops(results, means);
    print_shapes(results, means);
}

/// How often we are as fast as the best library.
fn print_ratios(means: &[Mean]) {
    println!("Throughput over that of the best library of each shape, geometric mean [95% interval]\n");
    println!("| family | threads | of the best | lowest | of the best with packed weights |\n|---|---:|---:|---|---:|");
    for mean in means {
        let lowest = mean.shapes.iter().filter_map(|shape| Some((shape.ratio()?, shape)));
        let lowest = lowest.min_by(|(a, _), (b, _)| a.total_cmp(b));
        let lowest = lowest.map_or_else(String::new, |(ratio, shape)| {
            format!("{ratio:.2} at {}, {}", shape.wkl, shown(shape.best.as_deref().unwrap_or_default()))
        });
        let [plain, prepared] =
            [mean.plain, mean.prepared].map(|ratio| ratio.map_or("–".to_owned(), |found| found.text()));
        println!("| {} | {} | {plain} | {lowest} | {prepared} |", title(mean), mean.threads);
    }
    for further in means.iter().filter(|mean| mean.further) {
        let own = means
            .iter()
            .find(|own| (&own.family, own.threads, own.further) == (&further.family, further.threads, false));
        if let (Some(further_ratio), Some(own)) = (further.plain, own.and_then(|own| own.plain)) {
            let share = 100.0 * further_ratio.ratio / own.ratio;
            println!(
                "\n{} on {}: {share:.0}% of the ratio of the config's shapes",
                title(further),
                on(further.threads)
            );
        }
    }
}

fn print_gflops(results: &Results, means: &[Mean]) {
    let columns = columns(results);
    println!("\nGFLOP/s, geometric mean of each\n\n| family | threads | {} | peak |", heads(&columns));
    println!("|---|---:|{}---:|", "---:|".repeat(columns.len()));
    for mean in means {
        let rows: Vec<&Row> = results.rows.iter().filter(|row| is_of(row, mean)).collect();
        let cells = columns.iter().map(|(name, _)| cell(geometric_mean(rows.iter().map(|row| row.gflops(name)))));
        let peak = rows.iter().filter_map(|row| row.peak).max_by(f64::total_cmp);
        println!("| {} | {} | {} | {} |", title(mean), mean.threads, cells.collect::<Vec<_>>().join(" | "), cell(peak));
    }
}

fn print_shapes(results: &Results, means: &[Mean]) {
    let columns = columns(results);
    println!("\nGFLOP/s, medians\n\n| family | threads | shape | {} | best | ratio |", heads(&columns));
    println!("|---|---:|---|{}---|---:|", "---:|".repeat(columns.len()));
    for mean in means {
        for (row, shape) in results.rows.iter().filter(|row| is_of(row, mean)).zip(&mean.shapes) {
            let cells: Vec<String> = columns.iter().map(|(name, _)| cell(row.gflops(name))).collect();
            let ratio = shape.ratio().map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"));
            let best = shape.best.as_deref().map_or("–", shown);
            println!("| {} | {} | {} | {} | {best} | {ratio} |", title(mean), mean.threads, row.wkl, cells.join(" | "));
        }
    }
}

/// Draws a chart for each family and number of threads.
pub(super) fn draw(results: &Results, path: &Path) -> Result<(), String> {
    let own: Vec<&Row> = results.rows.iter().filter(|row| !row.further).collect();
    // A family is a row of charts, in the order in which it was measured.
    let place = |row: &&Row| (own.iter().position(|first| first.family == row.family), row.threads);
    let places: BTreeSet<(Option<usize>, usize)> = own.iter().map(place).collect();
    let columns_of_charts = places.iter().map(|(_, threads)| threads).collect::<BTreeSet<_>>().len();
    let charts: Vec<Chart> = places
        .iter()
        .map(|at| {
            let rows: Vec<&Row> = own.iter().filter(|row| place(row) == *at).copied().collect();
            chart(results, &rows)
        })
        .collect();
    write(&charts, columns_of_charts, path)
}

/// One for rows of a family and number of threads.
fn chart(results: &Results, rows: &[&Row]) -> Chart {
    let every = rows.len().div_ceil(MOST_LABELS);
    let label = |(at, row): (usize, &&Row)| if at % every == 0 { row.wkl.clone() } else { String::new() };
    let lines = columns(results).into_iter().map(|(name, shown)| {
        let points = rows.iter().enumerate().filter_map(|(at, row)| Some((at, row.gflops(name)?)));
        (shown.to_owned(), points.collect::<Vec<_>>())
    });
    let (family, threads) = rows.first().map_or(("", 0), |row| (row.family.as_str(), row.threads));
    Chart {
        caption: format!("{family}: GFLOP/s on {}", on(threads)),
        peak: rows.iter().filter_map(|row| row.peak).max_by(f64::total_cmp),
        axis: PlotAxis::Shapes(rows.iter().enumerate().map(label).collect()),
        // Also of those without a figure, so that a library has the same colour in all charts.
        lines: lines.collect(),
    }
}

/// More would stand on each other.
const MOST_LABELS: usize = 8;

/// Names and what they are called: ours, then the libraries that were measured.
fn columns(results: &Results) -> Vec<(&'static str, &'static str)> {
    let measured = |name: &str| results.rows.iter().any(|row| row.seconds.contains_key(name));
    let libraries = LIBRARIES.iter().map(|library| (library.name, library.shown));
    std::iter::once((OURS, OURS)).chain(libraries).filter(|(name, _)| measured(name)).collect()
}

fn shown(name: &str) -> &str {
    LIBRARIES.iter().find(|library| library.name == name).map_or(name, |library| library.shown)
}

fn title(mean: &Mean) -> String {
    let note = match (mean.further, mean.tuned) {
        (true, _) => ", further shapes",
        (false, false) => ", not tuned",
        (false, true) => "",
    };
    format!("{}{note}", mean.family)
}

fn is_of(row: &Row, mean: &Mean) -> bool {
    (&row.family, row.threads, row.further) == (&mean.family, mean.threads, mean.further)
}

fn heads(columns: &[(&str, &str)]) -> String {
    columns.iter().map(|(_, shown)| *shown).collect::<Vec<_>>().join(" | ")
}

fn cell(figure: Option<f64>) -> String {
    figure.map_or_else(|| "–".to_owned(), |figure| format!("{figure:.1}"))
}
