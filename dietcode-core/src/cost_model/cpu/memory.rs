//! How long data is on its way to a core.
//!
//! For a cache there is an outermost loop of which one iteration touches no more than fits. What is used again inside of it
//! comes from the cache; what each iteration of the loops outside brings, comes from the next level. An access that moves
//! along the loop right outside only within its rows, or not at all, has there what it had before.
//!
//! Source: the reuse distances of loop nests as in McKinley, Carr and Tseng, *Improving Data Locality with Loop
//! Transformations* (TOPLAS 1996).

use super::compute::Work;
use super::core::{BANDWIDTH, FILLED, LINE};
use super::leaf::{Access, Motion};
use crate::ir::Scope;
use crate::machine::CpuTarget;

impl Work<'_> {
    /// Clocks for what comes from the second-level cache, from the last-level cache, and from memory.
    pub(super) fn waiting(&self, target: &CpuTarget) -> [f64; 3] {
        let caches = [target.l1_bytes, target.l2_bytes, target.l3_bytes];
        // Of each access what it touches in one iteration of the loops outside of each level.
        let levels = self.trips.len();
        let of = |(at, ways): &(usize, f64)| {
            let access = &self.leaf.accesses[*at];
            (access, *ways, self.touched(access))
        };
        let moved: Vec<(&Access, f64, Vec<f64>)> = self.leaf.moved.iter().map(of).collect();
        let touched = |level: &usize| moved.iter().map(|(_, _, touched)| touched[*level]).sum::<f64>();
        let mut clocks = [0.0; 3];
        for (((clocks, bytes), bandwidth), filled) in clocks.iter_mut().zip(caches).zip(BANDWIDTH).zip(FILLED) {
            // The outermost level of loops of which one iteration fits.
            let level = (0..levels).find(|level| touched(level) <= bytes as f64 * filled).unwrap_or(levels);
            let brought =
                |(access, ways, touched): &(&Access, f64, Vec<f64>)| self.brought(access, touched, level) * ways;
            *clocks = moved.iter().map(brought).sum::<f64>() / bandwidth;
        }
        clocks
    }

    /// Bytes that an access brings into a cache that holds what the loops from `level` on touch. What fits as a whole is there
    /// from the call before.
    fn brought(&self, access: &Access, touched: &[f64], level: usize) -> f64 {
        if level == 0 {
            return 0.0;
        }
        let along_rows = matches!(access.motion(level - 1), Motion::Still | Motion::Near(_));
        let from = if along_rows { level - 1 } else { level };
        touched[from] * self.trips[..from].iter().product::<f64>()
    }

    /// Bytes that an access touches in one iteration of the loops outside of each level, in whole lines.
    fn touched(&self, access: &Access) -> Vec<f64> {
        let mut bytes = vec![if access.steps.is_empty() { 0.0 } else { access.bytes }; self.trips.len() + 1];
        for (at, dim) in access.steps.iter().enumerate() {
            let in_lines = access.scope == Scope::Global && at + 1 == access.steps.len();
            let mut range = 1.0;
            for level in (0..bytes.len()).rev() {
                if level < dim.len() {
                    range += dim[level] * (self.trips[level] - 1.0).max(0.0);
                }
                // What is left of a line comes with it.
                bytes[level] *= if in_lines { range.max(LINE / access.bytes) } else { range };
            }
        }
        bytes
    }
}
