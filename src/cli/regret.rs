//! How far what is dispatched stays behind the best, as people read it.

use dietcode::core::dispatch::{HeldOut, Judgement, Region, Regret, Selected};

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
    let held_out = regret.held_out.as_ref().map_or_else(String::new, |held_out| judged(held_out) + "\n");
    let predicted = match regret.predicted {
        0 => String::new(),
        predicted => format!(" ({predicted} of them as the model predicts)"),
    };
    format!(
        "\nTime over that of the best contestant, at {shapes} of {}{predicted}: with each of these and those above it\n{table}\nas dispatched: {mean:.3} in the mean, {worst:.3} at worst\n{held_out}",
        range(regret)
    )
}

/// What came of the config's budget, in a line.
pub(crate) fn judged(held_out: &HeldOut) -> String {
    let HeldOut { budget, shapes, decided, mean, worst, judgement } = held_out;
    let bound = |bound: &Option<f64>, of: &str| bound.map(|bound| format!("{bound} {of}"));
    let bounds: Vec<String> =
        [bound(&budget.mean, "in the mean"), bound(&budget.worst, "at worst")].into_iter().flatten().collect();
    let part = match (decided, judgement) {
        (false, _) => "that decided nothing",
        (true, Judgement::Kept) => "of the range, which has no others",
        (true, _) => "that decide, too",
    };
    let seen = format!("{mean:.3} in the mean of {} {part}, {worst:.3} at worst of all", counted(*shapes, "shape"));
    let came = match judgement {
        Judgement::Kept => format!("is kept: {seen}"),
        Judgement::Alone => {
            "was not judged: what is dispatched is the only contestant, and nothing was measured against it".to_owned()
        }
        Judgement::NoTime if *shapes == 0 => "was not judged: no time was left (`--seconds` gives more)".to_owned(),
        Judgement::NoTime => {
            format!("was not judged at more, as the time was over: {seen} (`--seconds` gives more)")
        }
        Judgement::Broken if *decided && held_out.is_within() => {
            format!("was not kept before the shapes drawn last decided, too: {seen} now (`--seconds` gives more time)")
        }
        Judgement::Broken => format!("is not kept: {seen} (`--seconds` gives more time)"),
    };
    format!("the budget of {} {came}", bounds.join(" and "))
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
