//! What the learned model asks for.

use maud::{Markup, html};

use super::model::Predictions;

/// Features that are listed.
const MOST: usize = 15;

/// Bars.
pub(super) fn section(predictions: &Predictions) -> Markup {
    let all: usize = predictions.importance.iter().map(|(_, splits)| splits).sum();
    let most = predictions.importance.first().map_or(1, |(_, splits)| *splits);
    html! {
        p.note { "How many splits of the trees ask for a feature of a store, of " (all) " splits and " (predictions.importance.len()) " features, after all records were learned. The names are those of " code { "dietcode features" } "." }
        div.scroll { table.bars.narrow {
            thead { tr { th { "Feature" } th.n { "Splits" } } }
            tbody { @for (name, splits) in predictions.importance.iter().take(MOST) { tr {
                td { code { (name) } }
                td.n.bar style=(format!("--share:{:.0}%", 100.0 * *splits as f64 / most as f64)) { (splits) }
            } } }
        } }
    }
}
