//! What a search was worth: for each instance, what is dispatched beside the default, the best on record, and libraries.

use std::collections::{BTreeMap, BTreeSet};

use dietcode::core::paired::Verdict;
use dietcode::core::search::Outcome;
use maud::{Markup, html};

use super::failures;
use super::kernels::button;
use super::libraries::Libraries;
use super::subject::Subject;
use crate::cli::counted;
use crate::cli::table::{gflops, place};

/// A row of the table.
struct Row {
    instance: usize,
    threads: usize,
    /// What is dispatched; without a tuned file, the best on record.
    name: String,
    is_default: bool,
    figure: Option<f64>,
    default: Option<f64>,
    duel: Option<(Verdict, usize)>,
    best: Option<f64>,
}

/// The cards and the table.
pub(super) fn section(subject: &Subject, libraries: &Libraries) -> Markup {
    let rows = rows(subject);
    let names = libraries.names(subject);
    let what = if subject.tuned.is_some() { "Dispatched" } else { "Best on record" };
    html! {
        (cards(subject, &rows, libraries, &names))
        p.note {
            @if subject.tuned.is_some() { "Dispatched is what the tuned file has at an instance." }
            @else { "There is no tuned file that holds, so the first kernel is the best on record." }
            " Figures are medians of GFLOP/s as the search screened them; ratios above 1 are in favour of the first. What is screened is compiled in less time than a build takes, and some of it is slower. A duel, the paired test of the finals, is of the code of a build: a win or a loss is certain to 99% and more than 2%."
            @if names.is_empty() { " Libraries stand here where " code { "--bench" } " names the figures of a comparison." }
        }
        div.scroll { table.sortable {
            thead { tr {
                th { "Instance" } th { "On" } th { (what) } th.n { "GFLOP/s" } th.n { "Default" } th { "Duel with the default" } th.n { "Best on record" }
                @for name in &names { th.n { (name) } th.n { "× " (name) } }
            } }
            tbody { @for row in &rows { tr {
                td data-v=(row.instance) { (subject.label(row.instance)) }
                td data-v=(row.threads) { (place(row.threads)) }
                td { (button(subject, &row.name)) }
                td.n { (gflops(row.figure)) }
                td.n { (gflops(row.default)) }
                td { @if row.is_default { span.quiet { "is the default" } } @else { (duel(row.duel)) } }
                td.n { (gflops(row.best)) }
                @for name in &names {
                    @let figure = libraries.figure(subject, row.instance, row.threads, name);
                    td.n { (gflops(figure)) } (ratio(row.figure, figure))
                }
            } } }
        } }
    }
}

fn rows(subject: &Subject) -> Vec<Row> {
    let duels = duels(subject);
    let row = |threads: usize, instance: usize| {
        let best = subject.best(threads, instance)?;
        let name = subject.dispatched(instance).unwrap_or(best.0).to_owned();
        let figure = |name: &str| subject.kernels.get(name).and_then(|kernel| kernel.figure(threads, instance));
        let default = subject.default(instance);
        Some(Row {
            instance,
            threads,
            figure: figure(&name),
            default: default.and_then(figure),
            duel: duels.get(&(instance, name.clone())).copied(),
            best: Some(best.1),
            is_default: default == Some(&*name),
            name,
        })
    };
    let points = subject.threads.iter().flat_map(|threads| (0..subject.instances.len()).map(move |at| (*threads, at)));
    points.filter_map(|(threads, at)| row(threads, at)).collect()
}

/// The last verdicts against the default, by instance and challenger.
fn duels(subject: &Subject) -> BTreeMap<(usize, String), (Verdict, usize)> {
    let mut duels = BTreeMap::new();
    for record in &subject.records {
        let Outcome::Verdict { against, shapes, verdict, pairs } = &record.outcome else { continue };
        if against == "default" {
            let at = shapes.iter().filter_map(|shape| subject.instances.binary_search(shape).ok());
            duels.extend(at.map(|at| ((at, record.name.clone()), (*verdict, *pairs))));
        }
    }
    duels
}

fn duel(duel: Option<(Verdict, usize)>) -> Markup {
    let Some((verdict, pairs)) = duel else { return html! { span.quiet { "none on record" } } };
    let after = if pairs == 0 { "by figures".to_owned() } else { counted(pairs, "pair") };
    html! { span class=(format!("verdict {verdict}")) { (verdict) } span.quiet { " " (after) } }
}

/// A ratio as a number with a bar behind it, whose middle is 1 and whose ends are √½ and √2.
fn ratio(one: Option<f64>, other: Option<f64>) -> Markup {
    let Some(ratio) = one.zip(other).map(|(one, other)| one / other) else { return html! { td.n { "–" } } };
    let reach = (ratio.log2().clamp(-0.5, 0.5) * 100.0).abs();
    let side = if ratio < 1.0 { "less" } else { "more" };
    html! { td.n.ratio data-v=(format!("{ratio:.4}")) { span class=(format!("bar {side}")) style=(format!("--reach:{reach:.0}%")) {} (format!("{ratio:.2}")) } }
}

fn cards(subject: &Subject, rows: &[Row], libraries: &Libraries, names: &[String]) -> Markup {
    let mean = |ratios: Vec<f64>| {
        (!ratios.is_empty()).then(|| (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp())
    };
    let against = |other: &dyn Fn(&Row) -> Option<f64>| {
        mean(rows.iter().filter_map(|row| Some(row.figure? / other(row)?)).collect())
    };
    let verdicts = |asked: Verdict| {
        let of_kind = rows.iter().filter(|row| row.duel.is_some_and(|(verdict, _)| verdict == asked));
        of_kind.map(|row| row.instance).collect::<BTreeSet<_>>().len()
    };
    html! {
        div.cards {
            @for name in names {
                @if let Some(times) = against(&|row| libraries.figure(subject, row.instance, row.threads, name)) {
                    (card(&format!("{times:.2}×"), &format!("the speed of {name}, geometric mean")))
                }
            }
            @if rows.iter().any(|row| row.duel.is_some()) {
                (card(&format!("{} / {} / {}", verdicts(Verdict::Wins), verdicts(Verdict::Equal), verdicts(Verdict::Loses)), "instances: the duel with the default won / equal / lost"))
            }
            (card(&subject.kernels.len().to_string(), "micro-kernels tried"))
            (card(&subject.records.len().to_string(), "records"))
            (card(&failures::count(subject).to_string(), "failures"))
        }
    }
}

fn card(figure: &str, what: &str) -> Markup {
    html! { div.card { b { (figure) } span { (what) } } }
}
