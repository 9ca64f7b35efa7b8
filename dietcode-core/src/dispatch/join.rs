//! From figures that were measured before, one shape at a time, to winners and the tree between them.

use std::collections::BTreeMap;

use super::select::{Scores, select};
use super::{Label, Tree, train};
use crate::Result;
use crate::measure::Summary;
use crate::search::WorkloadInstance;

/// What was measured at one instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The instance.
    pub workload: WorkloadInstance,
    /// By number of threads (0 on a device): GFLOP/s of each micro-kernel that was measured.
    pub gflops: BTreeMap<usize, Vec<Option<Summary>>>,
}

/// The winners.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// For each instance the micro-kernel's position.
    pub picks: Vec<usize>,
    /// The same for every shape, by names.
    pub tree: Tree,
}

impl Seen {
    /// The geometric mean of a micro-kernel's GFLOP/s over the numbers of threads; 0 unless it was measured at all of them.
    pub fn score(&self, micro_kernel: usize) -> f64 {
        let logs: Option<Vec<f64>> = self.gflops.values().map(|row| Some(row[micro_kernel]?.median.ln())).collect();
        logs.filter(|logs| !logs.is_empty()).map_or(0.0, |logs| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
    }
}

/// As few micro-kernels as possible that are within `tolerance` of the best of each instance. Where the pick would be slower
/// than what runs today, if that was measured, that stays.
///
/// # Errors
/// If there is no instance, or one on which nothing was measured; if the tree cannot be trained.
pub fn join(
    shape_vars: &[String],
    names: &[String],
    seen: &[Seen],
    today: &[Option<usize>],
    tolerance: f64,
) -> Result<Joined> {
    let scores: Vec<Vec<f64>> = (0..names.len()).map(|at| seen.iter().map(|seen| seen.score(at)).collect()).collect();
    let weights: Vec<f64> = seen.iter().map(|seen| seen.workload.weight).collect();
    let selected = select(Scores { scores: &scores, weights: &weights, tolerance });
    let picks: Vec<usize> = selected
        .into_iter()
        .zip(seen)
        .zip(today)
        .map(|((pick, seen), today)| {
            let shape = &seen.workload.instance.shape;
            let pick = pick.ok_or_else(|| crate::Error::input(format!("nothing was measured at shape {shape:?}")))?;
            Ok(today.filter(|today| seen.score(*today) > seen.score(pick)).unwrap_or(pick))
        })
        .collect::<Result<_>>()?;
    let labels: Vec<Label<'_>> = labels(names, seen, &picks);
    Ok(Joined { tree: train(shape_vars, &labels)?, picks })
}

/// The instances' shapes with their picks' names.
pub fn labels<'a>(names: &'a [String], seen: &'a [Seen], picks: &[usize]) -> Vec<Label<'a>> {
    let label = |(seen, pick): (&'a Seen, &usize)| (&seen.workload.instance.shape[..], names[*pick].as_str());
    seen.iter().zip(picks).map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Instance;
    use crate::testing::kernel;

    fn seen(m: i64, rows: &[(usize, &[Option<f64>])]) -> Seen {
        let nest = "#[dynamic_kernel] pub fn copy(x: &[f32; M], y: &mut [f32; M]) { for i in 0..M { y[i] = x[i]; } }";
        let instance = Instance::of(&kernel(nest), &[m]).unwrap();
        let summary = |median: &f64| Summary { median: *median, iqr: 0.0, repeats: 3 };
        let row = |row: &[Option<f64>]| row.iter().map(|g| g.as_ref().map(summary)).collect();
        Seen {
            workload: WorkloadInstance { wkl: [("M".to_owned(), m)].into(), weight: 1.0, instance },
            gflops: rows.iter().map(|(threads, gflops)| (*threads, row(gflops))).collect(),
        }
    }

    fn joined(seen: &[Seen], today: &[Option<usize>]) -> Joined {
        let names = ["a", "b", "c"].map(str::to_owned);
        join(&["M".to_owned()], &names, seen, today, 0.02).unwrap()
    }

    #[test]
    fn few_winners_that_are_nowhere_slower_than_today() {
        let two =
            [seen(16, &[(1, &[Some(10.0), Some(9.9), Some(1.0)])]), seen(64, &[(1, &[Some(10.0), Some(30.0), None])])];
        assert_eq!(joined(&two, &[None, None]).picks, [1, 1], "one that is close enough everywhere is enough");
        let kept = joined(&two, &[Some(0), Some(0)]);
        assert_eq!(kept.picks, [0, 1], "what runs today is kept where it is faster");
        assert_eq!(kept.tree.pick(&["M".to_owned()], &[16]), "a");
        assert_eq!(kept.tree.pick(&["M".to_owned()], &[64]), "b");
    }

    #[test]
    fn numbers_of_threads_are_averaged_and_none_may_be_missing() {
        let both = seen(16, &[(1, &[Some(4.0), Some(8.0), Some(9.0)]), (2, &[Some(9.0), Some(4.0), None])]);
        assert_eq!((both.score(0), both.score(2)), (6.0, 0.0));
        assert_eq!(joined(&[both], &[None]).picks, [0]);
    }

    #[test]
    fn an_instance_without_figures_is_an_error() {
        let names = ["a".to_owned()];
        assert!(join(&["M".to_owned()], &names, &[seen(16, &[(1, &[None])])], &[None], 0.02).is_err());
        assert!(join(&["M".to_owned()], &names, &[], &[], 0.02).is_err());
    }
}
