//! The comparison as a person reads it.

use dietcode::core::search::simulation::{CHECKPOINTS, Checkpoint, Pool, Simulated};

use crate::cli::table::{gflops, grid};

/// A row for each strategy.
pub(super) fn text(pool: &Pool, simulated: &[Simulated]) -> String {
    let head = [vec!["strategy".to_owned()], CHECKPOINTS.map(|n| format!("{n} trials")).to_vec()].concat();
    let row = |strategy: &Simulated| {
        let cells = CHECKPOINTS.map(|trials| {
            let checkpoint = strategy.checkpoints.iter().find(|checkpoint| checkpoint.trials == trials);
            checkpoint.map_or_else(|| "–".to_owned(), |checkpoint| cell(checkpoint, pool.best()))
        });
        [vec![strategy.strategy.clone()], cells.to_vec()].concat()
    };
    let table = grid(head, simulated.iter().map(row));
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

fn cell(checkpoint: &Checkpoint, best: f64) -> String {
    let (mean, deviation) = (gflops(Some(checkpoint.mean)), gflops(Some(checkpoint.deviation)));
    format!("{mean} ± {deviation} ({:.0}%)", 100.0 * checkpoint.mean / best)
}
