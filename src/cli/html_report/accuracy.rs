//! How far predictions were from what was measured afterwards.

use dietcode::core::paired::median;
use maud::{Markup, html};

use super::chart::{Scale, chart, mark, ticks};
use super::kernels::{key, legend};
use super::model::{Predicted, Predictions};
use super::subject::Subject;
use crate::cli::table::{gflops, place};

/// Points of a chart; of more, these many, evenly.
const MOST: usize = 1500;

/// One chart for each number of threads.
pub(super) fn section(subject: &Subject, predictions: &Predictions) -> Markup {
    html! {
        p.note {
            "Each point is a micro-kernel at an instance. It is predicted here by a learned model that was shown the earlier trials, whatever model the search had: the trials are cut into four parts, and each is predicted by what is learned from those before it; the first by the analytic model alone, as everything is below 32 micro-kernels. On the line, both are equal."
            @if predictions.left_out > 0 { " Left out: the last " (predictions.left_out) " micro-kernels." }
        }
        div.charts { @for threads in &subject.threads { (of_threads(subject, predictions, *threads)) } }
        (legend(subject))
    }
}

fn of_threads(subject: &Subject, predictions: &Predictions, threads: usize) -> Markup {
    let all: Vec<&Predicted> = predictions.points.iter().filter(|point| point.threads == threads).collect();
    let figures = || all.iter().flat_map(|point| [point.predicted, point.measured]);
    let (least, most) =
        figures().fold((f64::INFINITY, 0.0f64), |(least, most), figure| (least.min(figure), most.max(figure)));
    if all.is_empty() {
        return html! {};
    }
    let ends = (least / 1.1, most * 1.1);
    let scales = (Scale::x(ends.0, ends.1, true), Scale::y(ends.0, ends.1, true));
    let step = all.len().div_ceil(MOST);
    // Those that are told apart lie above the others.
    let mut drawn: Vec<&&Predicted> = all.iter().step_by(step).collect();
    drawn.sort_by_key(|point| subject.series(&point.name).is_some());
    let caption = format!(
        "Predicted against measured on {}: median error {:.0}%, rank correlation {:.2}",
        place(threads),
        100.0 * median_error(&all),
        rank_correlation(&all)
    );
    let body = html! {
        line.diagonal x1=(scales.0.at(ends.0)) y1=(scales.1.at(ends.0)) x2=(scales.0.at(ends.1)) y2=(scales.1.at(ends.1)) {}
        @for point in drawn {
            @let (series, x, y) = (subject.series(&point.name), scales.0.at(point.predicted), scales.1.at(point.measured));
            path class=(series.map_or_else(|| "point other".to_owned(), |n| format!("point s{n}"))) data-kernel=(key(subject, &point.name))
                d=(mark(series.unwrap_or(0), x, y, if series.is_some() { 4.0 } else { 2.2 })) {
                title { (point.name) " at " (subject.label(point.instance)) ": predicted " (gflops(Some(point.predicted))) ", measured " (gflops(Some(point.measured))) " GFLOP/s" }
            }
        }
    };
    html! { figure {
        figcaption { (caption) @if step > 1 { ", one point in " (step) } }
        (chart(&caption, (&scales.0, &scales.1), &ticks(&scales.0), ["predicted, GFLOP/s", "measured, GFLOP/s"], &body))
    } }
}

/// Of |predicted / measured − 1|.
fn median_error(points: &[&Predicted]) -> f64 {
    let errors = points.iter().map(|point| (point.predicted / point.measured - 1.0).abs());
    median(errors.collect()).unwrap_or_default()
}

/// Spearman's.
fn rank_correlation(points: &[&Predicted]) -> f64 {
    let ranked = |figure: fn(&Predicted) -> f64| ranks(&points.iter().map(|point| figure(point)).collect::<Vec<_>>());
    let (predicted, measured) = (ranked(|point| point.predicted), ranked(|point| point.measured));
    let mean = (points.len() as f64 - 1.0) / 2.0;
    let (mut both, mut one, mut other) = (0.0, 0.0, 0.0);
    for (a, b) in predicted.iter().zip(&measured) {
        both += (a - mean) * (b - mean);
        one += (a - mean).powi(2);
        other += (b - mean).powi(2);
    }
    if one * other > 0.0 { both / (one * other).sqrt() } else { 0.0 }
}

/// From 0; those of equal values are their mean.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut at = 0;
    while at < order.len() {
        let equal = order[at..].iter().take_while(|other| values[**other] == values[order[at]]).count();
        order[at..at + equal].iter().for_each(|which| ranks[*which] = at as f64 + (equal as f64 - 1.0) / 2.0);
        at += equal;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_equal_values_are_their_mean() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [2.5, 0.0, 2.5, 1.0]);
    }

    #[test]
    fn errors_and_correlations_are_those_of_the_points() {
        let point =
            |predicted, measured| Predicted { name: String::new(), instance: 0, threads: 1, predicted, measured };
        let all = [point(1.0, 10.0), point(2.0, 20.0), point(9.0, 10.0)];
        let all: Vec<&Predicted> = all.iter().collect();
        assert!((median_error(&all) - 0.9).abs() < 1e-12);
        // Ranks 0 1 2 and ½ 2 ½: both are orthogonal.
        assert!(rank_correlation(&all).abs() < 1e-12 && rank_correlation(&all[..2]) > 0.999);
    }
}
