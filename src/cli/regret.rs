//! How far what is dispatched stays behind the best, as people read it.

use dietcode::core::dispatch::{Region, Regret, Selected};

use super::counted;
use super::table::{Legend, grid};

/// What each micro-kernel adds to those above it, over the range.
pub(crate) fn selection(regret: &Regret, legend: &mut Legend) -> String {
    let mut before: Option<f64> = None;
    let row = |Selected { micro_kernel, mean }: &Selected| {
        let gain = before.replace(*mean).map(|before| format!("{:.1}%", 100.0 * (before / mean - 1.0)));
        let is_used = regret.regions.iter().any(|region| region.micro_kernel == *micro_kernel);
        let used = if is_used { "yes" } else { "no" };
        [legend.letter(micro_kernel), format!("{mean:.3}"), gain.unwrap_or_else(|| "–".to_owned()), used.to_owned()]
    };
    let rows: Vec<[String; 4]> = regret.selected.iter().map(row).collect();
    let table = grid(["kernel", "mean regret", "gain", "dispatched"], rows);
    let (shapes, mean, worst) = (counted(regret.shapes, "shape"), regret.mean, regret.worst);
    format!(
        "\nTime over that of the best contestant, at {shapes} of {}: with each of these and those above it\n{table}\nas dispatched: {mean:.3} in the mean, {worst:.3} at worst\n",
        range(regret)
    )
}

/// The same by the regions of the decision tree, the worst first.
pub(crate) fn regions(regret: &Regret, legend: &mut Legend) -> String {
    let row = |region: &&Region| {
        let Region { shape, micro_kernel, shapes, mean, worst } = region;
        let kernel = legend.letter(micro_kernel);
        [shape.clone(), kernel, shapes.to_string(), format!("{mean:.3}"), format!("{worst:.3}")]
    };
    let rows: Vec<[String; 5]> = worst_first(regret).iter().map(row).collect();
    let table = grid(["region", "kernel", "shapes", "mean regret", "worst"], rows);
    format!("\nThe same by the regions of the decision tree, the worst first\n{table}\n")
}

/// The regions of the decision tree, the worst first.
pub(crate) fn worst_first(regret: &Regret) -> Vec<&Region> {
    let mut regions: Vec<&Region> = regret.regions.iter().collect();
    regions.sort_by(|a, b| b.worst.total_cmp(&a.worst).then(b.shapes.cmp(&a.shapes)));
    regions
}

/// `T=1..512`.
pub(crate) fn range(regret: &Regret) -> String {
    let text = |(var, [least, most]): (&String, &[i64; 2])| match least == most {
        true => format!("{var}={least}"),
        false => format!("{var}={least}..{most}"),
    };
    regret.range.iter().map(text).collect::<Vec<_>>().join(",")
}
