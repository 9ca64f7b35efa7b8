//! How the best of a run came with its trials.

use maud::{Markup, html};

use super::chart::{Scale, Tick, around, chart, points, ticks};
use super::subject::Subject;
use crate::cli::plot::PlotAxis;
use crate::cli::records::charts;

/// Runs that are drawn, the last ones.
const RUNS: usize = 8;

/// One chart for each number of threads.
pub(super) fn section(subject: &Subject) -> Markup {
    html! {
        p.note { "Each line is a run. A trial is a micro-kernel that was checked and measured; the first are the defaults. A line begins where each instance has a figure." }
        div.charts { @for drawn in charts(&subject.records) {
            @let PlotAxis::Trials(last) = drawn.axis else { unreachable!("progress is over trials") };
            @if last > 0 {
                @let (low, high) = around(drawn.lines.values().flatten().map(|(_, gflops)| *gflops));
                @let scales = (Scale::x(0.0, last as f64, false), Scale::y(low, high, false));
                @let left_out = drawn.lines.len().saturating_sub(RUNS);
                figure {
                    figcaption { (drawn.caption) }
                    @let whole: Vec<Tick> = ticks(&scales.0).into_iter().filter(|(trial, _)| trial.fract() == 0.0).collect();
                    (chart(&drawn.caption, (&scales.0, &scales.1), &whole, ["trial", "GFLOP/s"], &html! {
                        @for (n, (name, line)) in drawn.lines.iter().skip(left_out).enumerate() {
                            polyline class=(format!("line s{n}")) points=(points((&scales.0, &scales.1), steps(line, last).into_iter())) { title { (name) } }
                        }
                    }))
                    p.legend { @for (n, name) in drawn.lines.keys().skip(left_out).enumerate() {
                        span.run { span class=(format!("swatch s{n}")) {} (name) }
                    } @if left_out > 0 { span.quiet { (left_out) " earlier runs are left out" } } }
                }
            }
        } }
    }
}

/// A line that stays until it rises, up to the last trial.
fn steps(line: &[(usize, f64)], last: usize) -> Vec<(f64, f64)> {
    let mut steps: Vec<(f64, f64)> = Vec::new();
    for (trial, gflops) in line {
        match steps.last() {
            Some((_, before)) if before == gflops => continue,
            Some((_, before)) => steps.push((*trial as f64, *before)),
            None => {}
        }
        steps.push((*trial as f64, *gflops));
    }
    steps.extend(steps.last().map(|(_, gflops)| (last as f64, *gflops)));
    steps
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_line_has_corners_where_it_rises() {
        let line = [(3, 1.0), (4, 1.0), (5, 1.0), (6, 2.0), (7, 2.0)];
        assert_eq!(super::steps(&line, 9), [(3.0, 1.0), (6.0, 1.0), (6.0, 2.0), (9.0, 2.0)]);
    }
}
