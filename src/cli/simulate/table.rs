//! The comparison as a person reads it.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell, CellAlignment, Table};
use dietcode::core::search::simulation::{CHECKPOINTS, Pool, Simulated};

use crate::cli::table::gflops;

/// A row for each strategy.
pub(super) fn text(pool: &Pool, simulated: &[Simulated]) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header([vec!["strategy".to_owned()], CHECKPOINTS.map(|n| format!("{n} trials")).to_vec()].concat());
    for strategy in simulated {
        let cells = CHECKPOINTS.map(|trials| {
            let checkpoint = strategy.checkpoints.iter().find(|checkpoint| checkpoint.trials == trials);
            let figures = |c: &_| cell(c, pool.best());
            checkpoint.map_or_else(|| "–".to_owned(), figures)
        });
        let row = [vec![strategy.strategy.clone()], cells.to_vec()].concat();
        table.add_row(row.into_iter().map(|text| Cell::new(text).set_alignment(CellAlignment::Right)));
    }
    let seeds = simulated.first().map_or(0, |strategy| strategy.curves.len());
    format!(
        "Weighted geometric mean of the best GFLOP/s so far over {} instances and numbers of threads: mean ± standard \
         deviation over seeds ({seeds}), and the mean's share of the best on record\n{table}\n\
         {} candidates; every search begins at {}, the best on record are {}\n",
        pool.goals.len(),
        pool.candidates.len(),
        gflops(Some(pool.mean(&pool.start))),
        gflops(Some(pool.best()))
    )
}

fn cell(checkpoint: &dietcode::core::search::simulation::Checkpoint, best: f64) -> String {
    let (mean, deviation) = (gflops(Some(checkpoint.mean)), gflops(Some(checkpoint.deviation)));
    format!("{mean} ± {deviation} ({:.0}%)", 100.0 * checkpoint.mean / best)
}
