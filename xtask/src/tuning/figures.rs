//! The two tables.

use std::path::Path;

use serde_json::{Value, json};

use super::runs::Run;
use crate::command::wkl_text;

/// Everything that was measured.
pub(super) struct Figures {
    pub(super) trials: String,
    pub(super) joint: Run,
    pub(super) single: Vec<Run>,
    /// Rows of `dietcode bench`.
    pub(super) compared: Vec<Value>,
}

/// What is compared, in the order of the columns; each stands in the rows under a part of its name.
const COLUMNS: [&str; 4] = ["enumerated", "joint", "single", "blas"];

/// GFLOP/s of an instance on a number of threads, as [`COLUMNS`].
struct Line {
    wkl: String,
    threads: u64,
    gflops: [Option<f64>; 4],
}

/// Prints them, and writes them as JSON.
pub(super) fn print(figures: &Figures, path: &Path) -> Result<(), String> {
    let lines = lines(&figures.compared);
    let means = [0, 1, 2, 3].map(|column| geometric_mean(lines.iter().map(|line| line.gflops[column])));
    println!("\nGFLOP/s, measured by turns\n");
    println!("| instance | threads | enumerated | joint | single | BLAS |\n|---|---|---|---|---|---|");
    for line in &lines {
        println!("| {} | {} | {} |", line.wkl, line.threads, cells(line.gflops));
    }
    println!("| geometric mean | | {} |", cells(means));
    let seconds: f64 = figures.single.iter().map(|run| run.seconds).sum();
    let share = figures.joint.seconds / seconds;
    println!("\nWall time of the search, {} trials a run\n\n| run | seconds |\n|---|---|", figures.trials);
    figures.single.iter().for_each(|run| println!("| {} alone | {:.0} |", run.name, run.seconds));
    println!("| all {} alone | {seconds:.0} |\n| together | {:.0} |", figures.single.len(), figures.joint.seconds);
    println!("| together / alone | 1/{:.1} |", 1.0 / share);
    let rows: Vec<Value> = lines.iter().map(Line::json).collect();
    let times: Vec<Value> =
        figures.single.iter().map(|run| json!({ "wkl": run.name, "seconds": run.seconds })).collect();
    let value = json!({
        "trials": figures.trials, "columns": COLUMNS, "gflops": rows, "geometric_means": means,
        "seconds": { "joint": figures.joint.seconds, "single": times, "share": share },
    });
    std::fs::write(path, format!("{value:#}\n")).map_err(|e| format!("{}: {e}", path.display()))
}

/// A strategy with a name of its own in the rows is in a column; the tuned file beside the config is in none.
fn lines(rows: &[Value]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for row in rows {
        let (Some(wkl), Some(threads)) = (row["wkl"].as_object().map(wkl_text), row["threads"].as_u64()) else {
            continue;
        };
        let at = lines.iter().position(|line| line.wkl == wkl && line.threads == threads).unwrap_or_else(|| {
            lines.push(Line { wkl: wkl.clone(), threads, gflops: [None; 4] });
            lines.len() - 1
        });
        let name = row["impl"].as_str().unwrap_or_default();
        let column = match name {
            _ if name.starts_with("blas") => Some(3),
            _ if name.ends_with("enumerated.tuned.json") => Some(0),
            _ if name.ends_with("joint.tuned.json") => Some(1),
            _ if name.ends_with(&format!("{wkl}.tuned.json")) => Some(2),
            _ => None,
        };
        if let Some(column) = column {
            lines[at].gflops[column] = row["gflops_median"].as_f64();
        }
    }
    lines.sort_by_key(|line| line.threads);
    lines
}

/// Of the middle two, the mean.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
    Some((low + high) / 2.0)
}

/// None of none, and where one of them is.
pub(crate) fn geometric_mean(figures: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let logarithms: Option<Vec<f64>> = figures.map(|figure| figure.map(f64::ln)).collect();
    let logarithms = logarithms.filter(|all| !all.is_empty())?;
    Some((logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
}

fn cells(gflops: [Option<f64>; 4]) -> String {
    gflops.map(|figure| figure.map_or_else(|| "–".to_owned(), |figure| format!("{figure:.1}"))).join(" | ")
}

impl Line {
    fn json(&self) -> Value {
        json!({ "wkl": self.wkl, "threads": self.threads, "gflops": self.gflops })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns_of_instances_and_threads() {
        let row = |name: &str, threads: u64, gflops: f64| json!({ "wkl": { "T": 5 }, "threads": threads, "impl": name, "gflops_median": gflops });
        let rows = [
            row("dietcode", 1, 1.0),
            row("a/enumerated.tuned.json", 1, 80.0),
            row("a/joint.tuned.json", 1, 90.0),
            row("a/T=5.tuned.json", 1, 91.0),
            row("blas:OpenBLAS", 1, 70.0),
            row("a/joint.tuned.json", 2, 160.0),
        ];
        let lines = lines(&rows);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].gflops, [Some(80.0), Some(90.0), Some(91.0), Some(70.0)]);
        assert_eq!(lines[1].gflops, [None, Some(160.0), None, None]);
        assert_eq!(geometric_mean([Some(2.0), Some(8.0)].into_iter()), Some(4.0));
        assert_eq!(geometric_mean([Some(2.0), None].into_iter()), None);
    }
}
