//! How much others used the machine while something was measured.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// The rounds of a measurement, by whether others used the cores meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disturbance {
    /// Rounds in which no other process did.
    pub clean: u32,
    /// Rounds in which another process did. They were repeated, and count only where there are not enough of the others.
    pub disturbed: u32,
}

impl Disturbance {
    /// Whether the machine was in use: other processes used the cores in more rounds than not.
    pub fn is_in_use(self) -> bool {
        self.disturbed > self.clean
    }
}

impl AddAssign for Disturbance {
    fn add_assign(&mut self, other: Disturbance) {
        self.clean = self.clean.saturating_add(other.clean);
        self.disturbed = self.disturbed.saturating_add(other.disturbed);
    }
}
