//! What a person reads at the end.

use dietcode::core::search::geometric_mean;

use super::result::{Compared, Outcome};
use crate::cli::table::{gflops, grid};

/// Failures in words, the rest is in the file.
const MOST_SENTENCES: usize = 20;

/// The device, what was checked, and one line for each config and precision.
pub(super) fn text(outcome: &Outcome) -> String {
    let mut text = heading(outcome);
    if let Some(note) = outcome.note {
        text += &format!("{note}\n");
    }
    let sentences = outcome.sentences();
    sentences.iter().take(MOST_SENTENCES).for_each(|sentence| text += &format!("  failed: {sentence}\n"));
    if sentences.len() > MOST_SENTENCES {
        text += &format!("  and {} more\n", sentences.len() - MOST_SENTENCES);
    }
    text + &table(&outcome.comparisons)
}

fn heading(outcome: &Outcome) -> String {
    let device = &outcome.device;
    let (major, minor) = device.capability;
    let checks: Vec<_> = outcome.micro_kernels.iter().flat_map(|m| &m.checks).collect();
    let passed = checks.iter().filter(|check| check.failure.is_none()).count();
    let spills = outcome.micro_kernels.iter().filter(|m| m.report.iter().any(|report| report.spills())).count();
    let mut text = format!(
        "{}: {}, sm_{major}{minor}, {} multiprocessors; {}\n{} micro-kernels ({spills} spill registers): {passed} of {} \
         checks passed\n",
        device.name,
        device.model,
        device.multiprocessors,
        outcome.toolchain,
        outcome.micro_kernels.len(),
        checks.len()
    );
    if let Some(copy) = outcome.copy_bytes_per_second {
        text += &format!("device memory: {:.0} GB/s read and written\n", copy.median / 1e9);
    }
    if let Some(measurer) = &outcome.measurer {
        text += &format!("one micro-kernel timed twice differs by {:.2} %\n", 100.0 * measurer.spread);
    }
    if let Some(why) = &device.no_cublas {
        text += &format!("no comparison with cuBLAS: {why}\n");
    }
    if let Some(why) = &device.no_conditions {
        text += &format!("samples are without clocks and temperature: {why}\n");
    }
    if !outcome.complete {
        text += &format!("{}: not all was checked and measured\n", outcome.ended_by());
        outcome.left_out.iter().for_each(|sentence| text += &format!("  left out: {sentence}\n"));
    }
    text
}

/// Geometric means over the instances.
fn table(comparisons: &[Compared]) -> String {
    if comparisons.is_empty() {
        return String::new();
    }
    let head = ["config", "precision", "shapes", "dietcode", "default", "cuBLAS", "of cuBLAS", "worst", "best"];
    let row = |same: &[Compared]| {
        let mean = |implementation: &str| mean(same.iter().map(|c| c.gflops(implementation)));
        let ratios: Vec<f64> = same.iter().filter_map(|c| Some(c.gflops("dietcode")? / c.gflops("cublas")?)).collect();
        let share = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"));
        [
            same[0].problem.clone(),
            same[0].precision.to_owned(),
            same.len().to_string(),
            gflops(mean("dietcode")),
            // Where the default is what is dispatched, it is not timed again.
            gflops(self::mean(same.iter().map(|c| c.gflops("default").or_else(|| c.gflops("dietcode"))))),
            gflops(mean("cublas")),
            share(self::mean(ratios.iter().map(|ratio| Some(*ratio)))),
            share(ratios.iter().copied().reduce(f64::min)),
            share(ratios.iter().copied().reduce(f64::max)),
        ]
    };
    let table = grid(head, comparisons.chunk_by(|a, b| a.problem == b.problem && a.precision == b.precision).map(row));
    format!("GFLOP/s: geometric means over the shapes of medians, measured by turns\n{table}\n")
}

/// None if one is missing, or there is none.
fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let all: Vec<f64> = values.collect::<Option<_>>()?;
    (!all.is_empty()).then(|| geometric_mean(all.into_iter()))
}

#[cfg(test)]
mod tests {
    use super::mean;

    #[test]
    fn a_mean_is_of_all_or_of_none() {
        assert!((mean([Some(2.0), Some(8.0)].into_iter()).unwrap() - 4.0).abs() < 1e-12);
        assert_eq!(mean([Some(2.0), None].into_iter()), None);
        assert_eq!(mean(std::iter::empty()), None);
    }
}
