//! The page: its head, the sections of each kernel and target, the panel that a click opens.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::libraries::Libraries;
use super::model::Predictions;
use super::subject::Subject;
use super::{accuracy, failures, importance, kernels, progress, provenance, regret, shapes, verdicts};
use crate::cli::counted;

/// What the browser lets the page load: what stands in it, and nothing from anywhere.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// The whole of it.
pub(super) fn page(subjects: &[Subject], libraries: &Libraries) -> Markup {
    let title = match subjects {
        [one] => format!("{} on {}", one.kernel, one.target.model()),
        all => format!("{} kernels and targets", all.len()),
    };
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                // Else a browser asks the page's host for one.
                link rel="icon" href="data:,";
                title { "dietcode: " (title) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                header { p.brand { "dietcode report" } @if subjects.len() > 1 { nav { @for subject in subjects { a href=(format!("#kernel{}", subject.number)) { (subject.kernel) " on " (subject.target.model()) } } } } }
                main { @for subject in subjects { (article(subject, libraries)) } }
                dialog #panel aria-label="Micro-kernel" {}
                (kernels::details(subjects))
                script { (PreEscaped(include_str!("script.js"))) }
            }
        }
    }
}

fn article(subject: &Subject, libraries: &Libraries) -> Markup {
    let predictions = subject.nest.as_ref().map(|nest| Predictions::of(subject, nest));
    let predictions = predictions.as_ref();
    // Estimates are the model's own.
    let compared = predictions.filter(|predictions| !predictions.points.is_empty() && subject.estimates().is_none());
    let learned = predictions.filter(|predictions| !predictions.importance.is_empty());
    let measured = !subject.instances.is_empty();
    let sections = [
        ("Verdicts", measured.then(|| verdicts::section(subject, libraries))),
        ("Best so far", measured.then(|| progress::section(subject))),
        ("Throughput over shape", measured.then(|| shapes::section(subject, predictions))),
        ("Regret", measured.then(|| regret::section(subject))),
        ("Predicted against measured", compared.map(|predictions| accuracy::section(subject, predictions))),
        ("What the model asks for", learned.map(importance::section)),
        ("Failures", Some(failures::section(subject))),
        ("Provenance", Some(provenance::section(subject))),
    ];
    let id = |n: usize| format!("k{}s{n}", subject.number);
    let sections = || sections.iter().enumerate().filter_map(|(n, (title, body))| Some((n, title, body.as_ref()?)));
    html! { article #{ "kernel" (subject.number) } {
        h1 { (subject.kernel) }
        p.sub { (subject.target.model()) " · " (counted(subject.instances.len(), "instance")) " · " (counted(subject.kernels.len(), "micro-kernel")) }
        @if let Some(which) = subject.estimates() { p.warn { "Estimates of a model, which were not timed, since no such device was there: " (which) "." } }
        nav { @for (n, title, _) in sections() { a href=(format!("#{}", id(n))) { (title) } } }
        @for (n, title, body) in sections() { section id=(id(n)) { h2 { (title) } (body) } }
    } }
}
