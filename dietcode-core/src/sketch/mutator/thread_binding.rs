//! The mutator of threads: the same number of them, along other axes; or another number, where it is drawn for itself.
//!
//! ```text
//! i_thread, j_thread = 8, 32  →  16, 16
//! ```
//!
//! Source: `MutateThreadBinding` of MetaSchedule.

use super::Move;
use super::choice::{Use, numbers};
use crate::sketch::footprint::Footprint;
use crate::sketch::sample::{factorisations, is_bound_to_threads};

pub(super) fn moves(footprint: &Footprint, values: &[i64]) -> Vec<Move> {
    let bound = |var: &usize| footprint.vars[*var].level().is_some_and(is_bound_to_threads);
    let vars: Vec<usize> = (0..footprint.vars.len()).filter(bound).collect();
    let threads = vars.iter().fold(1i64, |all, var| all.saturating_mul(values[*var]));
    let most = vec![threads; vars.len()];
    let others = factorisations(threads, &most).into_iter().map(|factors| vars.iter().copied().zip(factors).collect());
    others.chain(numbers(footprint, values, Use::Threads)).collect()
}
