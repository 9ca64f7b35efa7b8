//! Throughput over the instances, by micro-kernel.

use maud::{Markup, html};

use super::chart::{Scale, Tick, around, chart, mark, points, ticks};
use super::kernels::{key, legend};
use super::model::Predictions;
use super::subject::Subject;
use crate::cli::table::{gflops, place};

/// Characters that have room below an axis.
const AXIS: usize = 60;

/// One chart for each number of threads.
pub(super) fn section(subject: &Subject, predictions: Option<&Predictions>) -> Markup {
    html! {
        p.note {
            "Marks on lines are measured."
            @if predictions.is_some_and(|predictions| !predictions.curves.is_empty()) { " Dashed lines are what the model expects that has learned from all of these records, also between the instances." }
            " Shown are the micro-kernels that are dispatched, the defaults, and the best on record; where the pointer rests on one, the others fade."
        }
        div.charts { @for threads in &subject.threads { (of_threads(subject, predictions, *threads)) } }
        (legend(subject))
    }
}

fn of_threads(subject: &Subject, predictions: Option<&Predictions>, threads: usize) -> Markup {
    let axis = Along::of(subject);
    let figure = |name: &str, at: usize| subject.kernels.get(name)?.figure(threads, at);
    let all = || subject.shown.iter().enumerate();
    let curve =
        |name: &String| predictions.and_then(|p| p.curves.get(&(name.clone(), threads))).filter(|_| axis.is_number);
    let measured = all().flat_map(|(_, name)| (0..subject.instances.len()).filter_map(move |at| figure(name, at)));
    let predicted = all().filter_map(|(_, name)| curve(name)).flatten().map(|(_, gflops)| *gflops);
    let (low, high) = around(measured.chain(predicted));
    let y = Scale::y(low, high, false);
    let scales = (&axis.scale, &y);
    let caption = format!("GFLOP/s on {}", place(threads));
    let body = html! {
        @for (n, name) in all() { @if let Some(curve) = curve(name) {
            polyline class=(format!("line predicted s{n}")) data-kernel=(key(subject, name)) points=(points(scales, curve.iter().copied())) { title { (name) ", predicted" } }
        } }
        @for (n, name) in all() {
            @let along = (0..subject.instances.len()).filter_map(|at| Some((axis.values[at], figure(name, at)?)));
            polyline class=(format!("line thin s{n}")) data-kernel=(key(subject, name)) points=(points(scales, along)) {}
        }
        @for (n, name) in all() { @for at in 0..subject.instances.len() { @if let Some(measured) = figure(name, at) {
            path class=(format!("point s{n}")) data-kernel=(key(subject, name)) d=(mark(n, axis.scale.at(axis.values[at]), y.at(measured), 4.5)) {
                title { (name) " at " (subject.label(at)) ": " (gflops(Some(measured))) " GFLOP/s" }
            }
        } } }
    };
    html! { figure { figcaption { (caption) } (chart(&caption, scales, &axis.ticks, [&axis.label, "GFLOP/s"], &body)) } }
}

/// The axis of the instances: the only variable that varies, on a logarithmic scale, or else their order.
struct Along {
    scale: Scale,
    /// Of each instance.
    values: Vec<f64>,
    ticks: Vec<Tick>,
    label: String,
    is_number: bool,
}

impl Along {
    fn of(subject: &Subject) -> Along {
        let last = subject.instances.len().saturating_sub(1) as f64;
        let single = match &*subject.varying() {
            [var] if subject.instances.iter().all(|shape| shape.get(*var).is_some_and(|value| *value > 0)) => {
                Some((*var).to_owned())
            }
            _ => None,
        };
        let Some(var) = single else {
            let every = subject.instances.len().div_ceil(8).max(1);
            let at = || (0..subject.instances.len()).step_by(every);
            let is_short = at().map(|at| subject.label(at).len()).sum::<usize>() <= AXIS;
            let name = |at: usize| if is_short { subject.label(at) } else { (at + 1).to_string() };
            let ticks = at().map(|at| (at as f64, name(at))).collect();
            let label = if is_short { "instance" } else { "instance, in the order of the regret's columns" }.to_owned();
            let scale = Scale::x(-0.5, last + 0.5, false);
            return Along {
                scale,
                values: (0..=last as usize).map(|at| at as f64).collect(),
                ticks,
                label,
                is_number: false,
            };
        };
        let values: Vec<f64> = subject.instances.iter().map(|shape| shape[&var] as f64).collect();
        let scale = Scale::x(values[0] / 1.15, values[values.len() - 1] * 1.15, true);
        let constant: Vec<String> = subject.instances[0]
            .iter()
            .filter(|(name, _)| **name != var)
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let label = if constant.is_empty() { var } else { format!("{var} ({})", constant.join(", ")) };
        Along { ticks: ticks(&scale), scale, values, label, is_number: true }
    }
}
