//! f_MK by measurement: by what factor a micro-kernel takes longer than a model says, read off two points.
//!
//! The model knows how instances differ: waves, padding, what is packed, where data comes from. What it does not know of a
//! micro-kernel, two measurements tell: one where operands are small, and one where they stream. In between, the factor
//! follows the logarithm of the size, and beyond them it stays.
//!
//! Source: DietCode (MLSys 2022), whose micro-kernels are measured at two sizes of the grid and extended from there to all
//! instances.

/// By what factor a micro-kernel takes longer than a model says, by size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// The logarithms of what the model says, and of the factor; the smaller point first.
    points: [(f64, f64); 2],
}

impl Calibration {
    /// Of two points: what the model says and what was measured there, in any unit of time.
    pub fn of(points: [(f64, f64); 2]) -> Calibration {
        let mut points = points.map(|(model, measured)| (model.ln(), (measured / model).ln()));
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Calibration { points }
    }

    /// What is expected where the model says so much.
    pub fn expected(&self, model: f64) -> f64 {
        let [(small, low), (large, high)] = self.points;
        // Points of one size have one factor, between theirs.
        let along = if small < large { (model.ln() - small) / (large - small) } else { 0.5 };
        model * (low + (high - low) * along.clamp(0.0, 1.0)).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_points_are_met_and_the_factor_stays_beyond_them() {
        let found = Calibration::of([(16.0, 64.0), (1.0, 1.0)]);
        for (model, expected) in [(1.0, 1.0), (16.0, 64.0), (4.0, 8.0), (0.1, 0.1), (100.0, 400.0)] {
            assert!((found.expected(model) / expected - 1.0).abs() < 1e-9, "{model} {found:?}");
        }
    }

    #[test]
    fn points_of_one_size_have_one_factor() {
        let found = Calibration::of([(1.0, 2.0), (1.0, 8.0)]);
        assert!((found.expected(3.0) - 12.0).abs() < 1e-9, "{found:?}");
    }
}
