//! Micro-kernels: the button that stands for one wherever it is named, and what a click on it shows.

use dietcode::core::measure::Summary;
use maud::{Markup, PreEscaped, html};
use serde_json::{Value, json};

use super::chart::mark;
use super::subject::{Kernel, Subject};
use crate::cli::table::{gflops, place};

/// Traces of so many micro-kernels stand in a page, the fastest of each instance first.
const TRACES: usize = 300;

/// So many characters of a trace or a source: more is cut off, with a line that says so.
const LONGEST: usize = 60_000;

/// The marks of those that are told apart, with their names.
pub(super) fn legend(subject: &Subject) -> Markup {
    html! { p.legend { @for name in &subject.shown { (button(subject, name)) } } }
}

/// A micro-kernel's mark, letter and name; a click shows what it is.
pub(super) fn button(subject: &Subject, name: &str) -> Markup {
    let series = subject.series(name);
    if !subject.kernels.contains_key(name) {
        return html! { span.name title="not on record" { (name) } };
    }
    html! {
        button.kernel type="button" data-kernel=(key(subject, name)) {
            @if let Some(n) = series {
                svg.mark viewBox="-7 -7 14 14" aria-hidden="true" { path class=(format!("s{n}")) d=(mark(n, 0.0, 0.0, 4.5)) {} }
                b { (letter(n)) } " "
            }
            span.name { (name) }
        }
    }
}

/// What the page calls a micro-kernel: several kernels may have one of a name.
pub(super) fn key(subject: &Subject, name: &str) -> String {
    format!("{}/{name}", subject.number)
}

/// `A` of the first.
pub(super) fn letter(series: usize) -> char {
    char::from(b'A' + u8::try_from(series % 26).unwrap_or(0))
}

/// What the script shows of micro-kernels, as JSON that stands in HTML.
pub(super) fn details(subjects: &[Subject]) -> Markup {
    let all: serde_json::Map<String, Value> = subjects.iter().flat_map(of_subject).collect();
    // No tag ends inside a string, whatever a record says.
    let text = Value::Object(all).to_string().replace('<', "\\u003c");
    html! { script #details type="application/json" { (PreEscaped(text)) } }
}

fn of_subject(subject: &Subject) -> impl Iterator<Item = (String, Value)> {
    // Those that are near the best of any instance stand first.
    let share = |kernel: &Kernel| {
        let at = |((threads, instance), summary): (&(usize, usize), &Summary)| {
            Some(summary.median / subject.best(*threads, *instance)?.1)
        };
        kernel.figures.iter().filter_map(at).fold(0.0, f64::max)
    };
    let mut names: Vec<(f64, &String)> = subject.kernels.iter().map(|(name, kernel)| (share(kernel), name)).collect();
    names.sort_by(|a, b| {
        let shown = |name: &str| subject.series(name).unwrap_or(usize::MAX);
        shown(a.1).cmp(&shown(b.1)).then(b.0.total_cmp(&a.0)).then(a.1.cmp(b.1))
    });
    names.into_iter().enumerate().map(|(rank, (_, name))| (key(subject, name), detail(subject, rank, name)))
}

fn detail(subject: &Subject, rank: usize, name: &str) -> Value {
    let kernel = &subject.kernels[name];
    let figure = |((threads, at), summary): (&(usize, usize), &Summary)| {
        json!([subject.label(*at), place(*threads), gflops(Some(summary.median)), gflops(Some(summary.iqr))])
    };
    let figures: Vec<Value> = kernel.figures.iter().map(figure).collect();
    let about =
        format!("{}, trial {}, of `{}` on {}", kernel.made, kernel.trial, subject.kernel, subject.target.model());
    let mut detail = json!({ "name": name, "about": about, "figures": figures });
    if rank < TRACES {
        detail["trace"] = cut(&kernel.schedule.text()).into();
    }
    if subject.series(name).is_some() {
        detail["source"] = match subject.source(kernel) {
            Ok(source) => cut(&source).into(),
            Err(why) => format!("No source: {why}").into(),
        };
    }
    detail
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}\n… the rest is left out here", &text[..at]),
    }
}
