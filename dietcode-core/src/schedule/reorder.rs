//! The primitive `reorder`.

use super::{Instruction, Schedule, legality};
use crate::Result;
use crate::ir::Name;

impl Schedule {
    /// Puts the named loops into the given order, in the places that they hold together; TVM's and Halide's `reorder`.
    ///
    /// ```text
    /// for i                    for k
    ///   for j           →        for j
    ///     for k                    for i          reorder(k, i)
    /// ```
    ///
    /// # Errors
    /// An unknown loop, one named twice, or an order in which a clipped loop stands outside of what clips it.
    pub fn reorder(&mut self, names: &[&str]) -> Result<()> {
        let named = names.iter().map(|name| self.find(name)).collect::<Result<Vec<usize>>>()?;
        let mut places = named.clone();
        places.sort_unstable();
        if places.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(crate::Error::input(format!("reorder({}): a loop is named twice", names.join(", "))));
        }
        let mut order: Vec<usize> = (0..self.loops.len()).collect();
        for (place, from) in places.into_iter().zip(named) {
            order[place] = from;
        }
        legality::reorder(self, &order)?;
        self.loops = order.iter().map(|&from| self.loops[from].clone()).collect();
        self.record(Instruction::Reorder(names.iter().map(|name| Name::from(*name)).collect()));
        Ok(())
    }
}
