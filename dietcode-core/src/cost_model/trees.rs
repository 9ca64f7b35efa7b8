//! Gradient-boosted regression trees on histograms, deterministic, for the sums of [`Pack`].
//!
//! The kept crates do not serve: of `forust-ml` (0.8.0) the objective sees one row at a time, while a gradient here is one of a program's rows
//! together, so that each round would be a model of its own that sorts all features again; it brings `rand` 0.8, a second `thiserror` and
//! `syn`. What is left is small. As XGBoost's `hist` method does, each feature has at most 64 bins of equally many rows; a
//! node is split where the gain
//!
//! ```text
//! G_L² / (H_L + λ) + G_R² / (H_R + λ) − G² / (H + λ)
//! ```
//!
//! is largest (T. Chen, C. Guestrin, "XGBoost", KDD 2016, equation 7), of equal gains at the first feature and bin; a leaf is
//! −η · G / (H + λ). Rows are added in their order, in `f64`, so that the bits depend on nothing else.

use super::pack_sum::Pack;

/// How the trees are grown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growing {
    /// How many trees.
    pub rounds: usize,
    /// Splits from the root to a leaf.
    pub depth: usize,
    /// η: the share of a leaf's value that counts.
    pub rate: f64,
    /// λ: what is added to hessians.
    pub lambda: f64,
    /// The least hessian of a leaf.
    pub least: f64,
}

impl Default for Growing {
    fn default() -> Growing {
        Growing { rounds: 60, depth: 6, rate: 0.2, lambda: 1.0, least: 0.05 }
    }
}

/// Bins of a feature.
const BINS: usize = 64;

/// A node: a split, whose left child is the next one, or a leaf.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Node {
    /// Rows with less go left; none: a leaf.
    pub(super) feature: Option<u16>,
    /// What is compared with, or the leaf's value.
    pub(super) value: f32,
    /// The other child.
    pub(super) right: u32,
}

/// Trees over rows of so many features.
#[derive(Clone, Debug, PartialEq)]
pub struct Trees {
    pub(super) features: usize,
    /// The trees one after the other.
    pub(super) nodes: Vec<Node>,
    /// Where each begins.
    pub(super) roots: Vec<u32>,
}

impl Trees {
    /// What they add to a row's margin.
    pub fn predict(&self, row: &[f32]) -> f32 {
        self.roots.iter().map(|root| self.leaf(*root, row)).sum()
    }

    fn leaf(&self, root: u32, row: &[f32]) -> f32 {
        let mut at = root as usize;
        loop {
            let node = &self.nodes[at];
            match node.feature {
                None => return node.value,
                Some(feature) if row[usize::from(feature)] < node.value => at += 1,
                Some(_) => at = node.right as usize,
            }
        }
    }

    /// Trains on rows of so many features, `margins` (one of each row) being what is predicted without them. Labels are of
    /// programs.
    pub fn train(
        features: usize,
        rows: &[f32],
        pack: &Pack,
        labels: &[f32],
        margins: &[f32],
        growing: &Growing,
    ) -> Trees {
        let mut trees = Trees { features, nodes: Vec::new(), roots: Vec::new() };
        let binned = Binned::of(features, rows, pack.rows());
        let mut predictions = margins.to_vec();
        let mut order: Vec<u32> = Vec::new();
        for _ in 0..growing.rounds {
            let gradients = pack.gradients(&predictions, labels);
            order.clear();
            order.extend(0..pack.rows() as u32);
            trees.roots.push(trees.nodes.len() as u32);
            let mut tree = Growth { growing, binned: &binned, gradients: &gradients, predictions: &mut predictions };
            let all = tree.histogram(&order);
            tree.grow(&mut order, all, growing.depth, &mut trees.nodes);
        }
        trees
    }

    /// How many nodes ask for each feature.
    pub fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.features];
        self.nodes.iter().filter_map(|node| node.feature).for_each(|feature| uses[usize::from(feature)] += 1);
        uses
    }
}

/// Rows by the bins of their features. Features that never differ are left out.
struct Binned {
    /// The features that differ, and the least value of each bin but the first.
    cuts: Vec<(u16, Vec<f32>)>,
    /// `[row][feature that differs]`.
    bins: Vec<u8>,
}

impl Binned {
    fn of(features: usize, rows: &[f32], count: usize) -> Binned {
        let mut cuts = Vec::new();
        for feature in 0..features {
            let mut values: Vec<f32> = (0..count).map(|row| rows[row * features + feature]).collect();
            values.sort_unstable_by(f32::total_cmp);
            let quantile = |bin: usize| values[bin * count / BINS];
            let mut of_feature: Vec<f32> = Vec::new();
            let distinct = 1 + values.windows(2).filter(|pair| pair[0] != pair[1]).count();
            if distinct <= BINS {
                of_feature.extend(values.windows(2).filter(|pair| pair[0] != pair[1]).map(|pair| pair[1]));
            } else {
                of_feature.extend((1..BINS).map(quantile).filter(|cut| *cut > values[0]));
                of_feature.dedup();
            }
            if !of_feature.is_empty() {
                cuts.push((feature as u16, of_feature));
            }
        }
        let mut bins = Vec::with_capacity(count * cuts.len());
        for row in rows.chunks_exact(features.max(1)).take(count) {
            bins.extend(cuts.iter().map(|(feature, cuts)| {
                let value = row[usize::from(*feature)];
                cuts.partition_point(|cut| *cut <= value) as u8
            }));
        }
        Binned { cuts, bins }
    }

    fn row(&self, row: u32) -> &[u8] {
        let width = self.cuts.len();
        &self.bins[row as usize * width..][..width]
    }
}

/// Sums of gradients and hessians: `[feature][bin]`.
type Histogram = Vec<[f64; 2]>;

struct Growth<'a> {
    growing: &'a Growing,
    binned: &'a Binned,
    gradients: &'a [(f32, f32)],
    predictions: &'a mut [f32],
}

impl Growth<'_> {
    fn histogram(&self, rows: &[u32]) -> Histogram {
        let mut sums = vec![[0.0; 2]; self.binned.cuts.len() * BINS];
        for row in rows {
            let (gradient, hessian) = self.gradients[*row as usize];
            let (gradient, hessian) = (f64::from(gradient), f64::from(hessian));
            for (of_feature, bin) in sums.chunks_exact_mut(BINS).zip(self.binned.row(*row)) {
                let sum = &mut of_feature[usize::from(*bin)];
                sum[0] += gradient;
                sum[1] += hessian;
            }
        }
        sums
    }

    /// Adds the nodes of a tree over some rows.
    fn grow(&mut self, rows: &mut [u32], histogram: Histogram, depth: usize, nodes: &mut Vec<Node>) {
        let total = rows.iter().fold([0.0; 2], |[g, h], row| {
            let (gradient, hessian) = self.gradients[*row as usize];
            [g + f64::from(gradient), h + f64::from(hessian)]
        });
        let split = if depth == 0 { None } else { self.split(&histogram, total) };
        let Some((feature, bin)) = split else {
            let value = (-self.growing.rate * total[0] / (total[1] + self.growing.lambda)) as f32;
            rows.iter().for_each(|row| self.predictions[*row as usize] += value);
            nodes.push(Node { feature: None, value, right: 0 });
            return;
        };
        let (name, cuts) = &self.binned.cuts[feature];
        let at = nodes.len();
        nodes.push(Node { feature: Some(*name), value: cuts[bin], right: 0 });
        let middle = partition(rows, |row| usize::from(self.binned.row(row)[feature]) <= bin);
        let (left, right) = rows.split_at_mut(middle);
        // Of the smaller side the sums are added up, of the other they are what is left.
        let (mut of_left, mut of_right) = (histogram, Histogram::new());
        if depth > 1 {
            let small = self.histogram(if left.len() < right.len() { left } else { right });
            for (all, small) in of_left.iter_mut().zip(&small) {
                *all = [all[0] - small[0], all[1] - small[1]];
            }
            of_right = small;
            if left.len() < right.len() {
                std::mem::swap(&mut of_left, &mut of_right);
            }
        }
        self.grow(left, of_left, depth - 1, nodes);
        nodes[at].right = nodes.len() as u32;
        self.grow(right, of_right, depth - 1, nodes);
    }

    /// The feature and the last bin of the left side.
    fn split(&self, histogram: &Histogram, [gradient, hessian]: [f64; 2]) -> Option<(usize, usize)> {
        let Growing { lambda, least, .. } = *self.growing;
        let score = |g: f64, h: f64| g * g / (h + lambda);
        let whole = score(gradient, hessian);
        // Gains below this are rounding.
        let mut best = (1e-6 * whole.max(1e-6), None);
        for (feature, (sums, (_, cuts))) in histogram.chunks_exact(BINS).zip(&self.binned.cuts).enumerate() {
            let [mut g, mut h] = [0.0; 2];
            for (bin, sum) in sums[..cuts.len()].iter().enumerate() {
                [g, h] = [g + sum[0], h + sum[1]];
                if h < least {
                    continue;
                }
                if hessian - h < least {
                    break;
                }
                let gain = score(g, h) + score(gradient - g, hessian - h) - whole;
                if gain > best.0 {
                    best = (gain, Some((feature, bin)));
                }
            }
        }
        best.1
    }
}

/// Moves rows to the front for which something holds, both sides in their order; says how many.
fn partition(rows: &mut [u32], left: impl Fn(u32) -> bool) -> usize {
    let (front, back): (Vec<u32>, Vec<u32>) = rows.iter().partition(|row| left(**row));
    rows[..front.len()].copy_from_slice(&front);
    rows[front.len()..].copy_from_slice(&back);
    front.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Programs of two rows of five features: y is a function of the first three of both rows.
    fn sample(count: usize) -> (Vec<f32>, Pack, Vec<f32>) {
        let mut state = 1u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1u64 << 24) as f32
        };
        let rows: Vec<f32> = (0..count * 10).map(|at| if at % 5 == 4 { 1.0 } else { next() }).collect();
        let of_row = |row: &[f32]| if row[0] < 0.3 { 0.1 } else { 0.15 + 0.2 * row[1] * row[2] };
        let labels = rows.chunks_exact(10).map(|both| both.chunks_exact(5).map(of_row).sum()).collect();
        (rows, Pack::of(vec![2; count]), labels)
    }

    fn predicted(trees: &Trees, rows: &[f32]) -> Vec<f32> {
        rows.chunks_exact(5).map(|row| trees.predict(row)).collect()
    }

    #[test]
    fn sums_are_learned_from_sums() {
        let (rows, pack, labels) = sample(600);
        let growing = Growing { least: 0.0, ..Growing::default() };
        let trees = Trees::train(5, &rows, &pack, &labels, &vec![0.0; pack.rows()], &growing);
        assert_eq!(trees.roots.len(), growing.rounds);
        let (more, of_more, expected) = sample(900);
        let (seen, unseen) = (predicted(&trees, &rows), predicted(&trees, &more));
        assert!(pack.p_rmse(&seen, &labels) < 0.01, "{}", pack.p_rmse(&seen, &labels));
        assert!(of_more.p_rmse(&unseen, &expected) < 0.02, "{}", of_more.p_rmse(&unseen, &expected));
        // What says nothing is not asked for.
        let uses = trees.uses();
        assert_eq!(uses[4], 0);
        assert!(uses[0] > 0 && uses[1] > 0 && uses[2] > 0 && uses[3] < uses[1], "{uses:?}");
    }

    #[test]
    fn the_same_rows_give_the_same_bits() {
        let (rows, pack, labels) = sample(200);
        let train = || Trees::train(5, &rows, &pack, &labels, &vec![0.1; pack.rows()], &Growing::default());
        assert_eq!(train(), train());
    }

    #[test]
    fn a_margin_that_is_right_leaves_nothing_to_learn() {
        let (rows, pack, labels) = sample(100);
        let trees = Trees::train(5, &rows, &pack, &labels, &pack.spread(&labels), &Growing::default());
        assert!(predicted(&trees, &rows).iter().all(|x| x.abs() < 1e-6));
    }

    #[test]
    fn nothing_to_learn_from_is_no_defect() {
        let empty = Trees::train(5, &[], &Pack::default(), &[], &[], &Growing::default());
        assert_eq!(empty.predict(&[0.0; 5]), 0.0);
        // One program, and one that failed.
        let trees = Trees::train(5, &[1.0; 10], &Pack::of([1, 1]), &[1.0, 0.0], &[0.0; 2], &Growing::default());
        assert!(trees.predict(&[1.0; 5]) > 0.4);
    }
}
