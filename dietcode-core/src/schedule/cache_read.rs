//! The primitive `cache_read`.

use super::{CacheRead, Instruction, Schedule, Staging, legality};
use crate::Result;
use crate::ir::{Name, Scope};

impl Schedule {
    /// Reads a tensor through a staged copy; TVM's `cache_read`. One copy is made for each distinct index; where it
    /// is filled, [`Schedule::compute_at`] says. Its dimensions are the loops inside of that place over which the read
    /// moves, in their order.
    ///
    /// ```text
    /// for k                    for k
    ///   for j            →       for j_1: x_panel[j_1] = x[…]
    ///     … x[…] …               for j: … x_panel[j_1] …
    /// ```
    ///
    /// # Errors
    /// The reduction does not read the tensor, or it is staged already.
    pub fn cache_read(&mut self, buffer: &str, staging: Staging) -> Result<Vec<Name>> {
        legality::cache_read(self, buffer)?;
        match staging {
            Staging::Shared(tile) => {
                legality::shared_tile(self, buffer, tile)?;
                legality::swizzle(self, buffer, tile)?;
            }
            Staging::Registers(vector) => legality::registers(self, buffer, vector)?,
            Staging::Always | Staging::Edge => {}
        }
        let mut names = Vec::new();
        for (read, index) in self.block.update_reads() {
            if &*read.name != buffer || read.scope != Scope::Global {
                continue;
            }
            let name = self.fresh_name(&staging.name_of(buffer));
            names.push(name.clone());
            self.cache_reads.push(CacheRead { name, buffer: read.name.clone(), index, staging, pad: 0, depth: None });
        }
        self.record(Instruction::CacheRead { buffer: buffer.into(), staging, into: names.clone() });
        Ok(names)
    }

    /// Whether a loop, a tensor, a variable or a stage already has this name.
    pub(crate) fn is_taken(&self, name: &str) -> bool {
        self.loops.iter().any(|l| &*l.name == name)
            || self.relations.iter().any(|relation| relation.names().iter().any(|taken| &***taken == name))
            || self.program.params.iter().any(|param| &*param.name == name)
            || self.program.variables().iter().any(|var| &**var == name)
            || self.cache_reads.iter().any(|stage| &*stage.name == name)
            || self.cache_write.as_ref().is_some_and(|tile| &*tile.name == name)
    }

    /// A name like `wish` that nothing has yet.
    pub(crate) fn fresh_name(&self, wish: &str) -> Name {
        let mut name = wish.to_owned();
        let mut n = 1;
        while self.is_taken(&name) {
            n += 1;
            name = format!("{wish}{n}");
        }
        name.into()
    }
}
