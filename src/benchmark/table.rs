//! What a person reads: the configurations from worst to best, who failed, and the winner.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell, CellAlignment, Table};

use super::results::{Baseline, Entry, Outcome, Run};
use super::winner;

/// The text of a run; only the best so many if a number is given.
pub(super) fn text(run: &Run, top: Option<usize>) -> String {
    let shape: Vec<String> = run.shape.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let place = if run.threads == 0 { String::new() } else { format!(", threads: {}", run.threads) };
    let mut parts = vec![format!(
        "\n{} at {}, alpha = {}, beta = {}{place}: medians of {} repeats ± IQR, the worst first\n",
        run.kernel,
        shape.join(", "),
        run.alpha,
        run.beta,
        run.reps
    )];
    parts.extend(run.baselines.iter().map(|baseline| format!("{}\n", baseline_line(baseline, run.flops))));
    let ranking = run.ranking();
    let shown = top.unwrap_or(ranking.len()).min(ranking.len());
    parts.push(table(run, &ranking[ranking.len() - shown..]));
    if shown < ranking.len() {
        parts.push(format!("{} slower ones are not shown.\n", ranking.len() - shown));
    }
    parts.push(others(run));
    parts.extend(run.stopped.iter().map(|why| format!("Incomplete: {why}.\n")));
    parts.push(ranking.last().map_or_else(|| "No configuration was measured.\n".to_owned(), |best| won(run, best)));
    parts.concat()
}

/// A baseline with its figures, and the micro-kernel that a call runs today.
pub(super) fn baseline_line(baseline: &Baseline, flops: f64) -> String {
    let micro_kernel = baseline.micro_kernel.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
    format!("{}{micro_kernel}: {}", baseline.name, figures(&baseline.outcome, flops))
}

fn table(run: &Run, ranking: &[&Entry]) -> String {
    if ranking.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    let head = ["configuration", "time", "± IQR", "GFLOP/s", "rel. error"].map(str::to_owned);
    let baselines: Vec<&str> = run.baselines.iter().map(|baseline| baseline.name.as_str()).collect();
    table.set_header(head.into_iter().chain(baselines.iter().map(|name| format!("× {name}"))));
    for entry in ranking {
        let Some(sample) = entry.outcome.sample() else { continue };
        let (time, rate) = (sample.seconds(), sample.gflops(run.flops));
        let spread = if sample.seconds.len() > 1 { seconds(time.iqr) } else { "one call".to_owned() };
        let row = [seconds(time.median), spread, gflops(rate.median), format!("{:.1e}", sample.rel_err)];
        let ratio = |name: &&str| entry.ratios.get(*name).map_or_else(|| "–".to_owned(), |r| format!("{r:.3}"));
        let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
        let cells = row.into_iter().chain(baselines.iter().map(ratio)).map(right);
        table.add_row(std::iter::once(Cell::new(&entry.name)).chain(cells));
    }
    format!("{table}\n")
}

/// Those without figures: each that failed, and how many have no micro-kernel, by reason.
fn others(run: &Run) -> String {
    let mut lines = Vec::new();
    let mut unserved: Vec<(&str, Vec<&str>)> = Vec::new();
    for baseline in &run.baselines {
        if let Outcome::Failed(failure) = &baseline.outcome {
            lines.push(format!("Failed: {} {failure}\n", baseline.name));
        }
    }
    for Entry { name, outcome, .. } in &run.configurations {
        match outcome {
            Outcome::Failed(failure) => lines.push(format!("Failed: {name} {failure}\n")),
            Outcome::Unserved(why) => match unserved.iter_mut().find(|(reason, _)| reason == why) {
                Some((_, names)) => names.push(name),
                None => unserved.push((why, vec![name])),
            },
            Outcome::Measured(_) | Outcome::NotReached => {}
        }
    }
    for (why, names) in unserved {
        let more = names.len() - 1;
        let others = if more == 0 { String::new() } else { format!(" and {more} more") };
        lines.push(format!("Not for this product: {}{others}: {why}\n", names[0]));
    }
    lines.concat()
}

fn won(run: &Run, best: &Entry) -> String {
    let ratios: Vec<String> = best.ratios.iter().map(|(name, ratio)| format!("{ratio:.3} × {name}")).collect();
    format!(
        "Best: {}, {}{}\n{}\n",
        best.name,
        figures(&best.outcome, run.flops),
        if ratios.is_empty() { String::new() } else { format!(": {}", ratios.join(", ")) },
        winner::line(&best.parameters)
    )
}

/// The last words about several runs: a line for each.
pub(super) fn summary(runs: &[Run]) -> String {
    let line = |run: &Run| match run.ranking().last() {
        Some(best) => {
            let ratios: Vec<String> = best.ratios.iter().map(|(name, ratio)| format!("{ratio:.3} × {name}")).collect();
            format!(
                "  {:<22} {}, {}, {}\n",
                run.kernel,
                best.name,
                figures(&best.outcome, run.flops),
                ratios.join(", ")
            )
        }
        None => format!("  {:<22} no configuration was measured\n", run.kernel),
    };
    std::iter::once("\nThe best of each:\n".to_owned()).chain(runs.iter().map(line)).collect()
}

/// Time and throughput, or why there are none.
pub(super) fn figures(outcome: &Outcome, flops: f64) -> String {
    match outcome {
        Outcome::Measured(sample) => {
            let (time, rate) = (sample.seconds(), sample.gflops(flops));
            format!("{} ± {}, {} GFLOP/s", seconds(time.median), seconds(time.iqr), gflops(rate.median))
        }
        Outcome::Failed(failure) => failure.to_string(),
        Outcome::Unserved(why) => why.clone(),
        Outcome::NotReached => "was not reached".to_owned(),
    }
}

/// A time, as a table has it.
pub(super) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.3} s"),
        s if s >= 1e-3 => format!("{:.3} ms", s * 1e3),
        s => format!("{:.2} µs", s * 1e6),
    }
}

fn gflops(rate: f64) -> String {
    if rate < 10.0 { format!("{rate:.3}") } else { format!("{rate:.1}") }
}
