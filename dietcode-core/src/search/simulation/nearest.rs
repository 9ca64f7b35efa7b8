//! The candidate on record that comes closest to one that is not.

use std::collections::BTreeMap;

use super::Pool;
use crate::ir::Name;
use crate::schedule::Trace;

/// The nearest of some candidates (positions in the pool) with the instructions of a trace; of equal ones the first. None: there
/// is none of this sketch.
pub(super) fn nearest(pool: &Pool, among: &[usize], trace: &Trace) -> Option<usize> {
    let of_sketch = |at: &usize| pool.candidates[*at].trace.instructions == trace.instructions;
    let distance = |at: &usize| distance(&pool.candidates[*at].trace.decisions, &trace.decisions);
    among.iter().copied().filter(of_sketch).min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// The sum of the squared differences of the decisions' logarithms: from 2 to 4 is as far as from 16 to 32. Decisions may be 0,
/// which is as far from 1 as 1 is from 3.
fn distance(a: &BTreeMap<Name, i64>, b: &BTreeMap<Name, i64>) -> f64 {
    let log = |value: i64| (value.max(0) as f64 + 1.0).log2();
    let apart = |(var, value): (&Name, &i64)| b.get(var).map_or(1.0, |other| (log(*value) - log(*other)).powi(2));
    a.iter().map(apart).sum()
}

#[cfg(test)]
mod tests {
    use super::super::Recorded;
    use super::*;
    use crate::ir::ForKind;
    use crate::schedule::Instruction;

    #[test]
    fn what_is_on_record_is_nearest_to_itself_and_other_sketches_are_none() {
        let sketch = |kind| Trace::new([Instruction::Kind(kind, "i".into())]);
        let of = |value: i64| sketch(ForKind::Serial).with(BTreeMap::from([("i_block".into(), value)]));
        let recorded = |value| Recorded { name: String::new(), trace: of(value), structure: None, gflops: Vec::new() };
        let candidates = [1, 4, 16].map(recorded).to_vec();
        let pool = Pool { goals: Vec::new(), candidates, start: Vec::new() };
        assert_eq!([1, 4, 16].map(|value| nearest(&pool, &[0, 1, 2], &of(value))), [Some(0), Some(1), Some(2)]);
        assert_eq!(nearest(&pool, &[0, 2], &of(9)), Some(2));
        assert_eq!(nearest(&pool, &[0, 1, 2], &sketch(ForKind::Parallel)), None);
    }

    #[test]
    fn sizes_are_near_by_their_ratio() {
        let of = |value: i64| BTreeMap::from([(Name::from("i_block"), value)]);
        assert_eq!(distance(&of(8), &of(8)), 0.0);
        assert!(distance(&of(8), &of(16)) < distance(&of(8), &of(2)));
        assert!(distance(&of(100), &of(101)) < distance(&of(1), &of(2)));
    }
}
