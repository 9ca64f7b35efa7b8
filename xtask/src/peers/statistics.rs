//! How much faster our kernels are than the best library of each shape.
//!
//! The best of many libraries by the same samples that it is compared by would be the luckiest one. So it is chosen by the medians of the odd
//! rounds, the first being odd, and compared on the even ones: a round r gives the gain gᵣ = ln(its seconds / our seconds). A shape's
//! ratio is exp of the mean of its gains, and a family's the geometric mean of its shapes' ratios: exp of m = Σ ḡₛ / S.
//!
//! Shapes are not drawn from anything, so that only the noise of measuring makes m uncertain. Its variance is v = Σ vₛ / S², with vₛ = sₛ² / nₛ
//! of n gains with variance s². The 95% interval is exp(m ± t·√v), t Student's for as many degrees of freedom as B. L. Welch gives to a
//! sum of variances (*The generalization of "Student's" problem when several different population variances are involved*, Biometrika 34,
//! 1947): (Σ vₛ)² / Σ vₛ² / (nₛ − 1).

use super::library::{OURS, names};
use super::results::{Results, Row};
use crate::tuning::median;

/// A ratio of throughputs with its 95% interval; above 1 we are faster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ratio {
    pub(super) ratio: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Ratio {
    pub(super) fn text(self) -> String {
        format!("{:.2} [{:.2}, {:.2}]", self.ratio, self.low, self.high)
    }
}

/// One shape against the best of some libraries.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) wkl: String,
    /// Which was best on odd rounds; none: none has enough clean samples.
    pub(super) best: Option<String>,
    /// Of the even rounds in which both have clean samples.
    gains: Vec<f64>,
}

/// A family at a number of threads.
pub(super) struct Mean {
    pub(super) family: String,
    pub(super) further: bool,
    pub(super) threads: usize,
    /// Whether our kernel was.
    pub(super) tuned: bool,
    /// Against libraries that take weights as they lie; none if some shape is unknown.
    pub(super) plain: Option<Ratio>,
    /// Against those that have packed them before.
    pub(super) prepared: Option<Ratio>,
    pub(super) shapes: Vec<Shape>,
}

/// Of all families, with their own shapes and their further ones apart.
pub(super) fn means(results: &Results) -> Vec<Mean> {
    let mut means: Vec<Mean> = Vec::new();
    for row in &results.rows {
        let known = |mean: &Mean| (&mean.family, mean.further, mean.threads) == (&row.family, row.further, row.threads);
        if means.iter().any(known) {
            continue;
        }
        let same = results
            .rows
            .iter()
            .filter(|other| (&other.family, other.further, other.threads) == (&row.family, row.further, row.threads));
        let [shapes, prepared] = [false, true]
            .map(|prepared| same.clone().map(|row| Shape::of(row, &names(prepared))).collect::<Vec<Shape>>());
        means.push(Mean {
            family: row.family.clone(),
            further: row.further,
            threads: row.threads,
            tuned: row.tuned,
            plain: of(&shapes),
            prepared: of(&prepared),
            shapes,
        });
    }
    means
}

/// The ratio of a family; none if some shape's is unknown.
fn of(shapes: &[Shape]) -> Option<Ratio> {
    let known: Vec<(f64, f64, f64)> = shapes.iter().map(Shape::moments).collect::<Option<_>>()?;
    let count = known.len() as f64;
    let mean = known.iter().map(|(mean, ..)| mean).sum::<f64>() / count;
    let sum: f64 = known.iter().map(|(_, variance, _)| variance).sum();
    let squares: f64 = known.iter().map(|(_, variance, n)| variance * variance / (n - 1.0)).sum();
    // Without any noise there is no uncertainty.
    let half = if squares > 0.0 { student(sum * sum / squares) * sum.sqrt() / count } else { 0.0 };
    (count > 0.0).then(|| Ratio { ratio: mean.exp(), low: (mean - half).exp(), high: (mean + half).exp() })
}

impl Shape {
    /// A row against the best of these libraries.
    fn of(row: &Row, libraries: &[&str]) -> Shape {
        let rounds = |name: &str, first: usize| {
            row.seconds.get(name).into_iter().flat_map(move |all| all.iter().skip(first).step_by(2)).copied()
        };
        let odd = |name: &str| median(rounds(name, 0).flatten().collect());
        let timed = libraries.iter().filter_map(|name| Some((*name, odd(name)?)));
        let best = timed.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(name, _)| name);
        let pairs = best.into_iter().flat_map(|best| rounds(best, 1).zip(rounds(OURS, 1)));
        let gains = pairs.filter_map(|(best, ours)| Some((best? / ours?).ln())).collect();
        Shape { wkl: row.wkl.clone(), best: best.map(str::to_owned), gains }
    }

    /// The shape's ratio; none without two rounds in which both have clean samples.
    pub(super) fn ratio(&self) -> Option<f64> {
        self.moments().map(|(mean, ..)| mean.exp())
    }

    /// The mean of the gains, its variance, and of how many.
    fn moments(&self) -> Option<(f64, f64, f64)> {
        let n = self.gains.len() as f64;
        let mean = self.gains.iter().sum::<f64>() / n;
        let squares: f64 = self.gains.iter().map(|gain| (gain - mean).powi(2)).sum();
        (n >= 2.0).then(|| (mean, squares / (n - 1.0) / n, n))
    }
}

/// The 97.5% quantile of Student's distribution: Abramowitz and Stegun, *Handbook of Mathematical Functions*, 26.7.5, which is right to 1% from
/// three degrees of freedom on; below, lines between those of one, two and three.
fn student(freedom: f64) -> f64 {
    if freedom < 3.0 {
        let table = [12.706, 4.303, 3.182];
        let at = (freedom - 1.0).clamp(0.0, 2.0);
        let below = (at as usize).min(1);
        return table[below] + (table[below + 1] - table[below]) * (at - below as f64);
    }
    let z: f64 = 1.959_964;
    let terms = [
        (z.powi(3) + z) / 4.0,
        (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
    ];
    z + terms.iter().rev().fold(0.0, |sum, term| (sum + term) / freedom)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;

    /// SplitMix64, twelve of which make a normal number of variance 1.
    struct Noise(u64);

    impl Noise {
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
        }
    }

    fn row(wkl: &str, seconds: &[(&str, Vec<Option<f64>>)]) -> Row {
        let seconds: BTreeMap<String, Vec<Option<f64>>> =
            seconds.iter().map(|(name, all)| ((*name).to_owned(), all.clone())).collect();
        let (family, wkl) = ("f".to_owned(), wkl.to_owned());
        Row { family, wkl, further: false, tuned: true, threads: 1, flops: 1e9, peak: None, seconds }
    }

    fn results(rows: Vec<Row>) -> Results {
        let [libraries, missing] = [BTreeMap::new(), BTreeMap::new()];
        Results { machine: Value::Null, date: String::new(), libraries, missing, rows }
    }

    #[test]
    fn who_is_best_on_odd_rounds_is_compared_on_even_ones() {
        let some = |all: [f64; 6]| all.map(Some).to_vec();
        let rows = vec![row(
            "T=5",
            &[
                (OURS, some([9.0, 1.0, 9.0, 1.0, 9.0, 1.0])),
                // Best on odd rounds, and slow on even ones.
                ("openblas", some([1.0, 4.0, 1.0, 4.0, 1.0, 4.0])),
                ("mkl", some([2.0, 0.5, 2.0, 0.5, 2.0, 0.5])),
                // A packed layout is another question.
                ("onednn_packed", some([0.1, 2.0, 0.1, 2.0, 0.1, 2.0])),
            ],
        )];
        let [mean] = &means(&results(rows))[..] else { panic!("one family") };
        assert_eq!(mean.shapes[0].best.as_deref(), Some("openblas"));
        let exact = |ratio: f64| {
            move |found: Ratio| [found.ratio, found.low, found.high].iter().all(|at| (at - ratio).abs() < 1e-12)
        };
        assert!(mean.plain.is_some_and(exact(4.0)) && mean.prepared.is_some_and(exact(2.0)), "{:?}", mean.plain);
    }

    #[test]
    fn a_round_counts_where_both_are_clean_and_less_than_two_are_unknown() {
        let ours = vec![None, Some(1.0), None, Some(1.0), None, None];
        let theirs = vec![Some(2.0), Some(2.0), None, None, Some(2.0), Some(2.0)];
        let one = row("T=5", &[(OURS, ours.clone()), ("mkl", theirs)]);
        let two = row("T=6", &[(OURS, ours), ("mkl", vec![Some(2.0); 6])]);
        let both = &means(&results(vec![one, two.clone()]))[0];
        assert_eq!((both.shapes[0].ratio(), both.shapes[1].ratio()), (None, Some(2.0)));
        assert_eq!(both.plain, None, "of a family, all shapes are known or none");
        assert!(means(&results(vec![two]))[0].plain.is_some());
        assert_eq!(means(&results(vec![row("T=5", &[(OURS, vec![Some(1.0); 6])])]))[0].plain, None, "no library");
    }

    #[test]
    fn shapes_weigh_alike_and_families_and_threads_are_apart() {
        let of = |wkl: &str, ratio: f64| row(wkl, &[(OURS, vec![Some(1.0); 4]), ("mkl", vec![Some(ratio); 4])]);
        let further = Row { further: true, ..of("T=7", 3.0) };
        let several = Row { threads: 2, ..of("T=5", 0.5) };
        let all = means(&results(vec![of("T=5", 2.0), of("T=6", 8.0), further, several]));
        let ratios: Vec<f64> = all.iter().map(|mean| mean.plain.unwrap().ratio).collect();
        assert!(
            ratios.iter().zip([4.0, 3.0, 0.5]).all(|(found, planted)| (found - planted).abs() < 1e-9),
            "{ratios:?}"
        );
    }

    /// Intervals hold the planted ratio as often as they say, whatever the noise of a shape, and are about as wide as the noise makes them.
    #[test]
    fn intervals_hold_what_was_planted() {
        let mut noise = Noise(7);
        let (planted, shapes, rounds, runs) = (1.1f64, 8, 8, 1000);
        let (mut held, mut width) = (0, 0.0);
        for _ in 0..runs {
            let rows = (0..shapes).map(|shape| {
                let spread = if shape == 0 { 0.2 } else { 0.02 };
                let mut times = |mean: f64| (0..rounds).map(|_| Some(mean * (spread * noise.normal()).exp())).collect();
                row("", &[(OURS, times(1.0)), ("mkl", times(planted))])
            });
            let found = means(&results(rows.collect()))[0].plain.unwrap();
            held += usize::from((found.low..found.high).contains(&planted));
            width += (found.high / found.low).ln() / runs as f64;
        }
        assert!((930..=970).contains(&held), "{held} of {runs}");
        // Of four gains of spread √2·0.2 in one of eight shapes, with Student's 3.18 for three degrees of freedom.
        let expected = 2.0 * 3.18 * (2.0f64).sqrt() * 0.2 / 2.0 / 8.0;
        assert!((width / expected - 1.0).abs() < 0.15, "{width} {expected}");
    }

    /// A library that is as good as four others is not 4% better for having been lucky.
    #[test]
    fn the_luckiest_of_equal_libraries_is_no_better() {
        let mut noise = Noise(9);
        let plain = names(false);
        let rows: Vec<Row> = (0..2000)
            .map(|_| {
                let mut all: Vec<(&str, Vec<Option<f64>>)> = Vec::new();
                for name in plain.iter().copied().chain([OURS]) {
                    all.push((name, (0..8).map(|_| Some((0.05 * noise.normal()).exp())).collect()));
                }
                row("", &all)
            })
            .collect();
        let found = means(&results(rows))[0].plain.unwrap();
        assert!((found.ratio - 1.0).abs() < 0.003 && found.low < 1.0 && found.high > 1.0, "{found:?}");
    }

    #[test]
    fn students_quantiles_are_those_of_tables() {
        for (freedom, quantile) in
            [(1.0, 12.706), (2.0, 4.303), (3.0, 3.182), (5.0, 2.571), (10.0, 2.228), (30.0, 2.042)]
        {
            assert!((student(freedom) / quantile - 1.0).abs() < 0.01, "{freedom}: {}", student(freedom));
        }
        assert!((student(1e9) - 1.96).abs() < 1e-4);
    }
}
