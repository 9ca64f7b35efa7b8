//! The primitive `add_unit_loop`.

use dietcode_syntax::Role;

use super::{Instruction, Loop, Schedule, legality};
use crate::Result;
use crate::ir::{Expr, ForKind, IterVar, Name};

impl Schedule {
    /// Puts a spatial loop of one iteration around all others; TVM's `add_unit_loop`. A nest without spatial loops has one that can
    /// be bound then.
    ///
    /// ```text
    /// y[0] = x[0] + 1      →      for one in 0..1: y[0] = x[0] + 1
    /// ```
    ///
    /// # Errors
    /// A name that is taken, an outermost loop that is no longer serial, stages that are placed already.
    pub fn add_unit_loop(&mut self, name: &str) -> Result<()> {
        legality::add_unit_loop(self, name)?;
        let name = Name::from(name);
        let (extent, role) = (Expr::Int(1), Role::Spatial);
        self.block.iters.insert(0, IterVar { name: name.clone(), extent: extent.clone(), role });
        self.loops
            .insert(0, Loop { name: name.clone(), extent, limit: Some(Expr::Int(1)), kind: ForKind::Serial, role });
        self.record(Instruction::AddUnitLoop(name));
        Ok(())
    }
}
