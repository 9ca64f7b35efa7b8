//! f_MK by measurement: by what factor a micro-kernel takes longer than a model says, read off a few points.
//!
//! The model knows how instances differ: waves, padding, what is packed, where data comes from. What it does not know of a
//! micro-kernel, measurements tell where operands are small, and where they stream. How wrong it is differs between tiles that are whole and
//! edges more than between a small call and a large one of the same tiles. So the factor at an instance is a mean of those at the points,
//! which weigh by how near they are: in the time of an operation, as the model has it, and, less, in the number of operations.
//!
//! Sources: DietCode (MLSys 2022), whose micro-kernels are measured at two sizes of the grid and extended from there to all
//! instances; D. Shepard, *A two-dimensional interpolation function for irregularly-spaced data* (1968): weights of one over the square of
//! the distance.

/// By what factor a micro-kernel takes longer than a model says, by the call.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Where the points lie, and the logarithms of the factors there.
    points: Vec<(Place, f64)>,
}

/// What a model says of a micro-kernel at an instance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelledCall {
    /// Operations of a call.
    pub flops: f64,
    /// How long it takes, in any unit of time.
    pub time: f64,
}

/// Logarithms: of the operations, weighed, and of the time of one.
type Place = [f64; 2];

/// The weight of the number of operations. Of 0.02 to 0.4, 0.05 to 0.2 had the least errors at the instances of recorded searches: by two points 7%
/// in the median, for a batched product NT on one thread, where a factor that follows the number of operations alone has 17%; 13% in place of
/// 7% for NN, and about the same for a convolution and a dense layer.
const SIZE: f64 = 0.1;

/// Points are no nearer than this, so that the nearest has a weight.
const NEAREST: f64 = 1e-6;

impl Calibration {
    /// Of points, with what was measured there; none of none.
    pub fn of(points: impl IntoIterator<Item = (ModelledCall, f64)>) -> Option<Calibration> {
        let factor = |(modelled, measured): (ModelledCall, f64)| (modelled.place(), (measured / modelled.time).ln());
        let points: Vec<(Place, f64)> = points.into_iter().map(factor).collect();
        (!points.is_empty()).then_some(Calibration { points })
    }

    /// How long it is expected to take.
    pub fn expected(&self, of: ModelledCall) -> f64 {
        let place = of.place();
        let weighed = self.points.iter().map(|(point, factor)| {
            let apart = [place[0] - point[0], place[1] - point[1]];
            let weight = 1.0 / (apart[0] * apart[0] + apart[1] * apart[1]).max(NEAREST * NEAREST);
            [weight * factor, weight]
        });
        let [factors, weights] = weighed.fold([0.0; 2], |sum, of| [sum[0] + of[0], sum[1] + of[1]]);
        of.time * (factors / weights).exp()
    }
}

impl ModelledCall {
    fn place(&self) -> Place {
        // A call has one at least, also of a nest that computes nothing.
        let flops = self.flops.max(1.0);
        [SIZE * flops.ln(), (self.time / flops).ln()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(flops: f64, time: f64) -> ModelledCall {
        ModelledCall { flops, time }
    }

    fn is_near(found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() < 1e-6
    }

    #[test]
    fn points_are_met() {
        let points = [(at(1e6, 1.0), 1.5), (at(1e6, 4.0), 12.0), (at(1e9, 1000.0), 900.0)];
        let found = Calibration::of(points).unwrap();
        assert!(points.iter().all(|(modelled, measured)| is_near(found.expected(*modelled), *measured)), "{found:?}");
        assert_eq!(Calibration::of([]), None);
    }

    /// Edges take four times as long as the model says, whole tiles half as long.
    #[test]
    fn what_has_whole_tiles_is_expected_as_other_whole_tiles_are() {
        let found = Calibration::of([(at(1e6, 20.0), 80.0), (at(1e9, 1000.0), 500.0)]).unwrap();
        assert!((found.expected(at(1e6, 1.0)) / 0.5 - 1.0).abs() < 0.2, "{found:?}");
        assert!((found.expected(at(1e9, 20_000.0)) / 80_000.0 - 1.0).abs() < 0.2, "{found:?}");
    }

    #[test]
    fn where_operations_take_the_same_time_the_nearer_size_counts_more() {
        let found = Calibration::of([(at(1e3, 1e3), 1e3), (at(1e9, 1e9), 4e9)]).unwrap();
        let factor = |flops: f64| found.expected(at(flops, flops)) / flops;
        assert!(is_near(factor(1e6), 2.0), "{}", factor(1e6));
        assert!(factor(1e4) < 1.2 && factor(1e8) > 3.5);
        assert!(
            (1.0..=4.0).contains(&factor(1.0)) && (1.0..=4.0).contains(&factor(1e15)),
            "a mean of the points' factors"
        );
    }

    #[test]
    fn one_point_has_one_factor_and_two_at_one_place_have_the_mean() {
        let one = Calibration::of([(at(1e6, 2.0), 6.0)]).unwrap();
        assert!(is_near(one.expected(at(1e3, 1.0)), 3.0));
        let two = Calibration::of([(at(1e6, 1.0), 2.0), (at(1e6, 1.0), 8.0)]).unwrap();
        assert!(is_near(two.expected(at(1e6, 1.0)), 4.0) && is_near(two.expected(at(1e9, 3.0)), 12.0), "{two:?}");
    }
}
