//! How far micro-kernels stay behind the best: at the instances, as records have it, and over the range, as the tuned file has it.

use dietcode::core::dispatch::Regret;
use maud::{Markup, html};

use super::kernels::button;
use super::subject::Subject;
use crate::cli::regret::{judged, range, worst_first};
use crate::cli::table::place;

/// Columns of the map.
const MOST: usize = 48;

/// A map for each number of threads, and one of the regions.
pub(super) fn section(subject: &Subject) -> Markup {
    html! {
        p.note { "A figure is the time of a micro-kernel over that of the best on record: 1.00 is the best. A frame stands around what is dispatched." @if subject.instances.len() > MOST { " Shown are the first " (MOST) " instances." } }
        @for threads in &subject.threads { (map(subject, *threads)) }
        @if let Some(regret) = subject.tuned.as_ref().and_then(|tuned| tuned.regret.as_ref()) { (regions(subject, regret)) }
        @else if subject.tuned.is_some() { p.note { "The tuned file has no regret over a range." } }
    }
}

fn map(subject: &Subject, threads: usize) -> Markup {
    let columns = 0..subject.instances.len().min(MOST);
    let cell = |name: &str, at: usize| {
        let regret = subject.best(threads, at).zip(subject.kernels.get(name).and_then(|k| k.figure(threads, at)));
        let is_used = subject.dispatched(at).is_some_and(|used| used == name);
        html! { @match regret {
            Some(((_, best), figure)) => td class=(format!("heat h{}{}", shade(best / figure), if is_used { " used" } else { "" })) title=(format!("{name} at {}: {figure:.1} of {best:.1} GFLOP/s", subject.label(at))) { (format!("{:.2}", best / figure)) },
            None => td.heat.none title=(format!("{name} was not measured at {}", subject.label(at))) { "·" },
        } }
    };
    html! {
        h4 { "At the instances, on " (place(threads)) }
        div.scroll { table.map {
            thead { tr { th {} @for at in columns.clone() { th.n { (subject.label(at)) } } } }
            tbody { @for name in &subject.shown { tr { th { (button(subject, name)) } @for at in columns.clone() { (cell(name, at)) } } } }
        } }
    }
}

fn regions(subject: &Subject, regret: &Regret) -> Markup {
    let cell =
        |value: f64| html! { td class=(format!("heat h{}", shade(value))) data-v=(value) { (format!("{value:.3}")) } };
    html! {
        h4 { "Over " (range(regret)) ", by regions of the decision tree" }
        p.note { "Time over that of the best contestant at " (regret.shapes) " shapes: " (format!("{:.3} in the mean, {:.3} at worst.", regret.mean, regret.worst)) }
        @if let Some(held_out) = &regret.held_out { p.note { (judged(held_out)) } }
        div.scroll { table.sortable.map {
            thead { tr { th { "Region" } th { "Micro-kernel" } th.n { "Shapes" } th.n { "Mean" } th.n { "Worst" } } }
            tbody { @for region in worst_first(regret) { tr { td { (region.shape) } td { (button(subject, &region.micro_kernel)) } td.n { (region.shapes) } (cell(region.mean)) (cell(region.worst)) } } }
        } }
    }
}

/// Of the shades from 0, the best, to 6.
fn shade(regret: f64) -> usize {
    [1.02, 1.05, 1.1, 1.2, 1.5, 2.0].iter().take_while(|bound| regret > **bound).count()
}
