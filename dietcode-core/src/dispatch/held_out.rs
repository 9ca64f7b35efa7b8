//! The config's budget of regret: what is dispatched is held against it at shapes of the range that decided nothing.
//!
//! ```text
//! decided, tree ──→ 16 other shapes are drawn and measured ──→ within the budget: done
//!       ↑                                                             │ not, and there is time
//!       └──── these shapes decide, too: members, labels of the tree ←─┘
//! ```

use std::collections::BTreeSet;

use super::Tree;
use super::elsewhere;
use super::finalize::{Searched, dispatched, grown};
use super::finals::Decided;
use super::regret::{HeldOut, Judgement};
use super::sampled::drawn;
use crate::Result;
use crate::config::Config;
use crate::measure::Instance;
use crate::search::{Part, Tuning};

/// How many shapes judge at a time.
const SHAPES: usize = 16;

/// The most times that others are drawn: a tree that all of these do not tell is not told by more.
const MOST: usize = 8;

/// Decides and grows anew, until shapes that had no part in it keep the budget, or the time is over, or all of the range is known, which
/// is the judge then. The figures are those of the tree as it is left. None if the config has no budget.
///
/// # Errors
/// If measuring is not possible at all, or records cannot be written.
pub(super) fn hold(
    tuning: &mut Tuning<'_>,
    searched: Searched<'_>,
    decided: &mut Decided,
    tree: &mut Tree,
) -> Result<Option<HeldOut>> {
    let Some((config, budget)) = searched.config.and_then(|config| Some((config, config.regret?))) else {
        return Ok(None);
    };
    if decided.matrix.rows.len() < 2 {
        return Ok(Some(HeldOut::unknown(budget, Judgement::Alone)));
    }
    let mut judged = HeldOut::unknown(budget, Judgement::NoTime);
    for seed in 0..MOST {
        let fresh = fresh(tuning, config, &decided.matrix.shapes, seed as u64);
        let before = decided.matrix.shapes.len();
        let matrix = &mut decided.matrix;
        let is_whole =
            elsewhere::measure(Part::HeldOut, (tuning, searched.found), matrix, &decided.picks, (&fresh, false))?;
        let judges = if fresh.is_empty() { 0..before } else { before..decided.matrix.shapes.len() };
        if judges.is_empty() {
            break;
        }
        let seen = |tuning: &Tuning<'_>, decided: &Decided, tree: &Tree| {
            let at = |shapes: Vec<usize>| dispatched((tuning, searched.found), decided, tree, shapes);
            let others = (0..judges.start).filter(|column| decided.matrix.is_measured(*column));
            HeldOut::unknown(budget, Judgement::Broken).with(&at(others.collect()), &at(judges.clone().collect()))
        };
        judged = HeldOut { decided: fresh.is_empty(), ..seen(tuning, decided, tree) };
        judged.judgement = match judged.is_within() {
            false => Judgement::Broken,
            true if !is_whole => Judgement::NoTime,
            true => Judgement::Kept,
        };
        if judged.judgement != Judgement::Broken || fresh.is_empty() {
            break;
        }
        let members = decided.matrix.members(&decided.picks, searched.most, searched.tolerance);
        decided.members = decided.matrix.with_picks(members, &decided.picks);
        *tree = grown(tuning, searched, decided)?;
        judged = HeldOut { decided: true, ..seen(tuning, decided, tree) };
        if !is_whole {
            break;
        }
    }
    Ok(Some(judged))
}

/// Grows the tree anew where other micro-kernels have instances than those that were judged: of the same shapes as before. The others
/// judge it again.
///
/// # Errors
/// If no tree leads to these micro-kernels.
pub(super) fn regrown(
    tuning: &Tuning<'_>,
    searched: Searched<'_>,
    decided: &Decided,
    held_out: Option<HeldOut>,
) -> Result<(Tree, Option<HeldOut>)> {
    let judges = held_out.filter(|held_out| !held_out.decided).map_or(0, |held_out| held_out.shapes);
    let deciding = Decided { matrix: decided.matrix.without_last(judges), ..decided.clone() };
    let tree = grown(tuning, searched, &deciding)?;
    let judged = held_out.filter(|held_out| held_out.shapes > 0).map(|held_out| {
        let before = decided.matrix.shapes.len() - held_out.shapes;
        let at = |shapes: Vec<usize>| dispatched((tuning, searched.found), decided, &tree, shapes);
        let others = (0..before).filter(|column| decided.matrix.is_measured(*column)).collect();
        let judged = held_out.with(&at(others), &at((before..decided.matrix.shapes.len()).collect()));
        match judged.judgement {
            Judgement::Kept if !judged.is_within() => HeldOut { judgement: Judgement::Broken, ..judged },
            _ => judged,
        }
    });
    Ok((tree, judged.or(held_out)))
}

/// Shapes of the range that nothing is known of.
fn fresh(tuning: &Tuning<'_>, config: &Config, known: &[Vec<i64>], seed: u64) -> Vec<Vec<i64>> {
    let def = tuning.device.def();
    let vars = Config::shape_vars(def);
    let known: BTreeSet<&[i64]> = known.iter().map(Vec::as_slice).collect();
    let is_new = |shape: &[i64]| {
        !known.contains(shape) && Instance::of(def, shape).is_ok_and(|instance| !instance.computes_nothing())
    };
    let of = drawn(config, &vars, (SHAPES, seed), is_new);
    of.iter().filter_map(|wkl| config.shape_of(&vars, wkl).ok()).collect()
}
