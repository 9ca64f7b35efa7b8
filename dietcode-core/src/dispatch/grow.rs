//! Grows decision trees: split where the two sides together lose least by the best single choice each, as long as that is worth it.
//!
//! What a choice loses at a shape is the logarithm of its time over the fastest's. A choice that must be made there costs more than all
//! others together lose, so that the tree is grown until it is. It needs no library, so a build script can do it.

use std::collections::BTreeMap;

use super::{MAX_DEPTH, Tree};
use crate::codegen::quantity::Quantity;
use crate::{Error, Result};

/// A shape (one value per shape variable) and the name of the micro-kernel that is to run it.
pub type Label<'a> = (&'a [i64], &'a str);

/// What a choice costs that must not be made: more than any that may be.
pub(super) const MUST: f64 = 1e9;

/// How many times as much two splits have to gain of which neither does alone: samples of a few extreme shapes invite more of those.
const AT_ONCE: f64 = 10.0;

/// The deepest tree in all, with those that its leaves have: one level less than a file has, which is for what may stand around it.
const DEEPEST: usize = MAX_DEPTH - 1;

/// From here on trees are split as evenly as possible, where choices that must be made leave no other end.
const EVEN: usize = DEEPEST / 2;

/// How many values of a quantity are tried for a split that gains only by the next one.
const THRESHOLDS: usize = 12;

/// A shape with what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    /// Of each quantity that a split may be by.
    pub(super) values: Vec<i64>,
    /// Of each choice: how much it loses, but for what is the same for all.
    pub(super) costs: Vec<f64>,
}

/// How far a tree is grown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The deepest tree, but where a choice must be made.
    pub(super) depth: usize,
    /// How much less all samples have to lose by a split.
    pub(super) worth: f64,
    /// The fewest samples on a side of a split.
    pub(super) fewest: usize,
}

/// Grows trees between choices.
#[derive(Clone, Copy)]
pub(super) struct Grower<'a> {
    /// What splits may be by.
    pub(super) quantities: &'a [Quantity<String>],
    /// What a leaf may have: a micro-kernel, or a tree that is known as a whole.
    pub(super) choices: &'a [Tree],
    /// How far.
    pub(super) limits: Limits,
}

/// Samples in their order, and once for each quantity in the order of its values, so that none of many splits has to sort them.
pub(super) struct Samples<'s> {
    all: Vec<&'s Sample>,
    by: Vec<Vec<&'s Sample>>,
}

impl<'s> Samples<'s> {
    pub(super) fn of(samples: &'s [Sample], quantities: usize) -> Samples<'s> {
        let all: Vec<&Sample> = samples.iter().collect();
        let by = |at: usize| {
            let mut sorted = all.clone();
            sorted.sort_by_key(|sample| sample.values[at]);
            sorted
        };
        Samples { by: (0..quantities).map(by).collect(), all }
    }

    /// Those on the two sides of a split.
    fn sides(&self, at: usize, most: i64) -> (Samples<'s>, Samples<'s>) {
        let sides = |samples: &Vec<&'s Sample>| -> (Vec<&'s Sample>, Vec<&'s Sample>) {
            samples.iter().copied().partition(|sample| sample.values[at] <= most)
        };
        let ((low, high), (low_by, high_by)) = (sides(&self.all), self.by.iter().map(sides).unzip());
        (Samples { all: low, by: low_by }, Samples { all: high, by: high_by })
    }
}

impl Grower<'_> {
    /// A tree between some of the choices, by their positions, with so many splits above it; of equal ones the first. `leaf` makes what
    /// stands where samples have one.
    pub(super) fn grow(
        &self,
        samples: &Samples<'_>,
        of: &[usize],
        level: usize,
        leaf: &dyn Fn(&Samples<'_>, usize) -> Tree,
    ) -> Tree {
        let fits = |choice: &&usize| level + self.choices[**choice].depth() <= DEEPEST;
        let fitting: Vec<usize> = of.iter().filter(fits).copied().collect();
        let of = if fitting.is_empty() { of } else { &fitting };
        let depth = self.limits.depth.saturating_sub(level);
        let (taken, lost) = best(&samples.all, of);
        let must = lost >= MUST;
        if lost == 0.0 || level == DEEPEST || (depth == 0 && !must) {
            return leaf(samples, taken);
        }
        let next = self.next_split(samples, of, depth, lost);
        // What must be chosen at a single shape may have a leaf of its own, where others lose much in one of more shapes.
        let finer =
            || Grower { limits: Limits { fewest: 1, ..self.limits }, ..*self }.next_split(samples, of, depth, lost);
        let is_labelled = samples.all.iter().any(|sample| of.iter().any(|choice| sample.costs[*choice] >= MUST));
        let next = match (next, if is_labelled { finer() } else { None }) {
            (Some(next), Some(finer)) if next.losses > finer.losses + AT_ONCE * self.limits.worth => Some(finer),
            (next, finer) => next.or(finer),
        };
        let even = if must && level >= EVEN { self.most_even_split(samples, of, true) } else { None };
        // As in a chequered pattern, where no split gains anything, and neither do two.
        let next = even.or(next).or_else(|| if must { self.most_even_split(samples, of, false) } else { None });
        let Some(Split { at, most, .. }) = next else { return leaf(samples, taken) };
        let (low, high) = samples.sides(at, most);
        let grow = |side| self.grow(side, of, level + 1, leaf);
        let (low, high) = (grow(&low), grow(&high));
        if low == high { low } else { Tree::split_by(self.quantities[at].clone(), most, low, high) }
    }

    /// The same between all of them, each as it stands at its leaves.
    pub(super) fn tree(&self, samples: &[Sample]) -> Tree {
        let samples = Samples::of(samples, self.quantities.len());
        let all: Vec<usize> = (0..self.choices.len()).collect();
        let leaf = |_: &Samples<'_>, taken: usize| self.choices[taken].clone();
        self.grow(&samples, &all, 0, &leaf)
    }

    /// A split that is worth it where all samples lose so much together.
    fn next_split(&self, samples: &Samples<'_>, of: &[usize], depth: usize, lost: f64) -> Option<Split> {
        let worth = |losses: f64, times: f64| lost - losses > times * self.limits.worth;
        let next = self.best_split(samples, of).filter(|split| worth(split.losses, 1.0));
        next.or_else(|| {
            let ahead = || self.best_with_next(samples, of).filter(|split| worth(split.losses, AT_ONCE));
            if depth > 1 && worth(0.0, AT_ONCE) { ahead() } else { None }
        })
    }

    /// The split after which the two sides lose least; the first of equal ones.
    fn best_split(&self, samples: &Samples<'_>, of: &[usize]) -> Option<Split> {
        let splits = (0..self.quantities.len()).flat_map(|at| self.splits(samples, of, at));
        splits.min_by(|a, b| a.losses.total_cmp(&b.losses))
    }

    /// The same, but of equal ones that with the most even sides: where none gains anything, one that leaves a single sample would go on
    /// for long. With `is_deep`, the most even one of all.
    fn most_even_split(&self, samples: &Samples<'_>, of: &[usize], is_deep: bool) -> Option<Split> {
        let finest = Grower { limits: Limits { fewest: 1, ..self.limits }, ..*self };
        let splits = (0..self.quantities.len()).flat_map(|at| finest.splits(samples, of, at));
        let losses = |split: &Split| if is_deep { 0.0 } else { split.losses };
        splits.min_by(|a, b| losses(a).total_cmp(&losses(b)).then(a.uneven.cmp(&b.uneven)))
    }

    /// The one, of a few by each quantity, after which they lose least once each is split again. Where one side needs a second split
    /// before it gains, no single one shows that: a convolution's channels make vectors along them worth it where there are many of
    /// both, and there are few among all samples.
    fn best_with_next(&self, samples: &Samples<'_>, of: &[usize]) -> Option<Split> {
        let few = |at: usize| {
            let all = self.splits(samples, of, at);
            let step = all.len().div_ceil(THRESHOLDS).max(1);
            all.into_iter().skip(step / 2).step_by(step)
        };
        let least = |side: &Samples<'_>| {
            let whole = best(&side.all, of).1;
            let split = || self.best_split(side, of).map_or(whole, |split| split.losses.min(whole));
            if whole == 0.0 { 0.0 } else { split() }
        };
        let with_next = |split: Split| {
            let (low, high) = samples.sides(split.at, split.most);
            Split { losses: least(&low) + least(&high), ..split }
        };
        let splits = (0..self.quantities.len()).flat_map(few).map(with_next);
        splits.min_by(|a, b| a.losses.total_cmp(&b.losses))
    }

    /// The splits of samples by one quantity (its position).
    fn splits(&self, samples: &Samples<'_>, of: &[usize], at: usize) -> Vec<Split> {
        let sorted = &samples.by[at];
        let (mut lost, mut high) = (vec![0.0; of.len()], vec![0.0; sorted.len() + 1]);
        for (place, sample) in sorted.iter().enumerate().rev() {
            lose(&mut lost, sample, of);
            high[place] = least(&lost);
        }
        lost.fill(0.0);
        let mut splits = Vec::new();
        for (place, pair) in sorted.windows(2).enumerate() {
            lose(&mut lost, pair[0], of);
            let [below, above] = [pair[0], pair[1]].map(|sample| sample.values[at]);
            let sides = [place + 1, sorted.len() - place - 1];
            if below < above && sides[0].min(sides[1]) >= self.limits.fewest {
                let losses = least(&lost) + high[place + 1];
                splits.push(Split { losses, uneven: sides[0].abs_diff(sides[1]), at, most: middle(below, above) });
            }
        }
        splits
    }
}

/// A split by a quantity, given by its position, and the largest value of the lower side.
#[derive(Clone, Copy)]
struct Split {
    /// What the two sides lose by the best choice of each.
    losses: f64,
    /// By how many samples one side has more.
    uneven: usize,
    at: usize,
    most: i64,
}

/// Adds what each choice loses to the best of them at a sample.
fn lose(lost: &mut [f64], sample: &Sample, of: &[usize]) {
    let best = of.iter().map(|choice| sample.costs[*choice]).fold(f64::INFINITY, f64::min);
    lost.iter_mut().zip(of).for_each(|(lost, choice)| *lost += sample.costs[*choice] - best);
}

fn least(lost: &[f64]) -> f64 {
    lost.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Which choice loses least on all samples together, and how much; the first of equal ones.
fn best(samples: &[&Sample], of: &[usize]) -> (usize, f64) {
    let mut lost = vec![0.0; of.len()];
    samples.iter().for_each(|sample| lose(&mut lost, sample, of));
    let all = of.iter().copied().zip(lost);
    all.min_by(|a, b| a.1.total_cmp(&b.1)).expect("there is a choice")
}

/// The geometric mean, rounded down: halves of a scale that is logarithmic.
pub(super) fn middle(low: i64, high: i64) -> i64 {
    (((low as f64) * (high as f64)).sqrt() as i64).clamp(low, high - 1)
}

/// The shape variables as quantities.
pub(super) fn variables(shape_vars: &[String]) -> Vec<Quantity<String>> {
    shape_vars.iter().cloned().map(Quantity::Var).collect()
}

/// A tree that gives each of these shapes its micro-kernel; of two for one shape, the first. None without a shape.
pub fn grow(shape_vars: &[String], labels: &[Label<'_>]) -> Option<Tree> {
    let mut by_shape: BTreeMap<&[i64], &str> = BTreeMap::new();
    for (shape, name) in labels {
        by_shape.entry(shape).or_insert(name);
    }
    let mut names: Vec<String> = by_shape.values().map(|name| (*name).to_owned()).collect();
    names.sort_unstable();
    names.dedup();
    let choices: Vec<Tree> = names.iter().cloned().map(Tree::Leaf).collect();
    let sample = |(shape, name): (&&[i64], &&str)| {
        let costs = names.iter().map(|other| if other == *name { 0.0 } else { MUST }).collect();
        Sample { values: shape.to_vec(), costs }
    };
    let samples: Vec<Sample> = by_shape.iter().map(sample).collect();
    let limits = Limits { depth: 0, worth: 0.0, fewest: 1 };
    let grower = Grower { quantities: &variables(shape_vars), choices: &choices, limits };
    if samples.is_empty() { None } else { Some(grower.tree(&samples)) }
}

/// A tree that gives each of these shapes its micro-kernel. Others go the way of the shapes they lie next to.
///
/// # Errors
///
/// If there is no shape, or one shape is to have two micro-kernels.
pub fn train(shape_vars: &[String], labels: &[Label<'_>]) -> Result<Tree> {
    let tree = grow(shape_vars, labels).ok_or_else(|| Error::check("there is no shape to grow a decision tree of"))?;
    match labels.iter().find(|(shape, name)| tree.pick(shape_vars, shape) != *name) {
        Some((shape, _)) => Err(Error::check(format!("the shape {shape:?} is to have two micro-kernels"))),
        None => Ok(tree),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reproduces(labels: &[(Vec<i64>, String)]) {
        let vars: Vec<String> = (0..labels[0].0.len()).map(|at| format!("V{at}")).collect();
        let borrowed: Vec<Label<'_>> = labels.iter().map(|(shape, name)| (&shape[..], &name[..])).collect();
        let tree = train(&vars, &borrowed).unwrap();
        for (shape, name) in &borrowed {
            assert_eq!(tree.pick(&vars, shape), *name, "{labels:?} {tree:?}");
        }
    }

    #[test]
    fn labels_without_order_are_reproduced() {
        // Numbers of a generator that needs no library.
        let mut state = 1u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..300 {
            let vars = 1 + next(3);
            let mut labels: BTreeMap<Vec<i64>, String> = BTreeMap::new();
            for _ in 0..1 + next(30) {
                let shape = (0..vars).map(|_| 1 + next(39) as i64).collect();
                labels.insert(shape, format!("kernel{}", next(4)));
            }
            reproduces(&labels.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_chequered_pattern_is_reproduced() {
        let label = |x: i64, y: i64| (vec![x, y], format!("kernel{}", (x + y) % 2));
        reproduces(&[label(1, 1), label(1, 2), label(2, 1), label(2, 2)]);
        let many = (1..8).flat_map(|x| (1..8).map(move |y| label(x, y)));
        reproduces(&many.collect::<Vec<_>>());
    }

    #[test]
    fn a_tree_reads_like_the_shapes() {
        let vars = ["M".to_string(), "N".to_string()];
        let labels: [Label<'_>; 4] =
            [(&[80, 7], "small"), (&[384, 7], "small"), (&[688, 7], "large"), (&[16, 9], "small")];
        let tree = grow(&vars, &labels).unwrap();
        assert_eq!(tree, Tree::split("M", 513, Tree::Leaf("small".into()), Tree::Leaf("large".into())));
        assert_eq!(tree.pick(&vars, &[100_000, 1]), "large");
        assert_eq!(grow(&vars, &[]), None);
    }

    #[test]
    fn contradictions_and_nothing_are_errors_and_the_first_of_two_is_grown() {
        let vars = ["M".to_string()];
        let two: [Label<'_>; 2] = [(&[1], "a"), (&[1], "b")];
        assert!(train(&vars, &[]).is_err() && train(&vars, &two).is_err());
        assert_eq!(grow(&vars, &two).unwrap(), Tree::Leaf("a".into()));
        assert_eq!(train(&vars, &[(&[1], "a"), (&[2], "a")]).unwrap(), Tree::Leaf("a".into()));
    }

    /// Ten shapes lose a little by the one choice, and one loses much by the other.
    #[test]
    fn a_leaf_has_what_loses_least_and_not_what_most_shapes_have() {
        let choices = ["often", "much"].map(|name| Tree::Leaf(name.to_owned()));
        let sample = |m: i64| {
            let costs = if m == 5 { vec![1.0, 0.0] } else { vec![0.0, 0.05] };
            Sample { values: vec![m], costs }
        };
        let samples: Vec<Sample> = (0..11).map(sample).collect();
        let tree = |depth, worth| {
            let limits = Limits { depth, worth, fewest: 1 };
            let quantities = variables(&["M".to_owned()]);
            Grower { quantities: &quantities, choices: &choices, limits }.tree(&samples)
        };
        assert_eq!(tree(0, 0.0), Tree::Leaf("much".into()));
        let exact = tree(4, 0.0);
        let picks: Vec<&str> = (0..11).map(|m| exact.pick(&["M".to_owned()], &[m])).collect();
        assert!(picks.iter().enumerate().all(|(m, pick)| (*pick == "much") == (m == 5)), "{exact:?}");
        assert_eq!(tree(4, 1.0), Tree::Leaf("much".into()), "a split that gains less is not worth it");
    }

    /// Each of many shapes has a micro-kernel of its own, and a deep tree is the best beyond them.
    #[test]
    fn no_tree_is_deeper_than_a_file_has_them_with_what_its_leaves_have() {
        let vars = ["M".to_owned()];
        for count in [30, 60, 400] {
            let own: Vec<String> = (1..=count).map(|m| format!("kernel{m}")).collect();
            let deep = (1..=31).fold(Tree::Leaf("deep".to_owned()), |tree, m| {
                Tree::split("M", 1 << 20 << m, tree, Tree::Leaf("deepest".to_owned()))
            });
            let choices: Vec<Tree> = own.iter().cloned().map(Tree::Leaf).chain([deep]).collect();
            let labelled = |m: usize| {
                let costs = (0..=count).map(|choice| if choice + 1 == m { 0.0 } else { MUST }).collect();
                Sample { values: vec![m as i64], costs }
            };
            let beyond = |m: usize| Sample {
                values: vec![m as i64],
                costs: (0..=count).map(|choice| if choice == count { 0.0 } else { 5.0 }).collect(),
            };
            let samples: Vec<Sample> = (1..=count).map(labelled).chain((count + 1..count + 50).map(beyond)).collect();
            let limits = Limits { depth: 10, worth: 0.0, fewest: 1 };
            let tree = Grower { quantities: &variables(&vars), choices: &choices, limits }.tree(&samples);
            assert!(tree.depth() < MAX_DEPTH, "{} with {count}", tree.depth());
            assert!(own.iter().enumerate().all(|(at, name)| tree.pick(&vars, &[at as i64 + 1]) == name), "{count}");
        }
    }
}
