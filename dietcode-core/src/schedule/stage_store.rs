//! The primitive `stage_store`, and how the sums of a block lie in shared memory on their way to the output.

use dietcode_syntax::Role;

use super::{Instruction, Schedule};
use crate::ir::{Expr, Name, affine};
use crate::{Error, Result};

/// The widest padding of a row.
const MOST_PAD: i64 = 64;

impl Schedule {
    /// Writes the tile back through shared memory: the threads of a GPU's block leave their sums there, and take rows of them
    /// back in the order in which the output lies, so that neighbouring threads store neighbouring vectors. Each row is followed by
    /// `pad` unused elements, so that those of a column lie in different banks. The epilogue is applied on the way out.
    ///
    /// ```text
    /// for i_m in 0..4                            for i_m in 0..4
    ///   for j_n, i_h, j_p                          for j_n, i_h, j_p: y_shared[…][…] = tile[i_m][…]
    ///     y[…][…] = tile[i_m][…]            →      barrier
    ///                                              for f: y[row][8·col ..+ 8] = y_shared[row][8·col ..+ 8]
    ///                                              barrier
    /// ```
    ///
    /// The outermost loop of a thread's tile that does not lie along the output's rows stays outside, so that the copy is no
    /// larger than it must be.
    ///
    /// # Errors
    /// A padding outside of 0 to 64. What does not fit together with other primitives is refused when the schedule is lowered.
    ///
    /// Source: the epilogue of CUTLASS (`epilogue/threadblock/epilogue.h`).
    pub fn stage_store(&mut self, pad: i64) -> Result<()> {
        if !(0..=MOST_PAD).contains(&pad) {
            return Err(Error::input(format!("stage_store: {pad} elements of padding; expected 0 to {MOST_PAD}")));
        }
        self.store_pad = Some(pad);
        self.record(Instruction::StageStore(pad.into()));
        Ok(())
    }

    /// What [`Schedule::stage_store`] puts into shared memory.
    ///
    /// # Errors
    /// Why the sums of a block are no rows of the output.
    pub(crate) fn store_tile(&self) -> Result<StoreTile, String> {
        let contiguous = self.block.output_index.last().and_then(|e| affine(&self.unsplit(e)));
        let contiguous = contiguous.ok_or("the output has no rows that loops run along")?;
        let dims: Vec<usize> =
            (self.tile_depth()..self.loops.len()).filter(|&at| self.loops[at].role == Role::Spatial).collect();
        let along = |at: usize| contiguous.coefficient(&self.loops[at].name) != 0;
        let part = dims.iter().copied().find(|&at| !along(at) && self.loops[at].extent != Expr::Int(1));
        let rest: Vec<usize> = dims.into_iter().filter(|at| Some(*at) != part).collect();
        let of_thread = rest.iter().map(|&at| (self.loops[at].name.clone(), self.loops[at].extent.as_int()));
        let of_block = self.thread_parts().into_iter().filter(|name| !self.dropped.contains(name)).map(|name| {
            let whole = self.loops.iter().find(|l| l.name == name).and_then(|l| l.extent.as_int());
            (name.clone(), whole.or_else(|| self.fused_limit(&name)))
        });
        let mut loops = Vec::new();
        for (name, extent) in of_block.chain(of_thread) {
            loops.push((name.clone(), extent.ok_or_else(|| format!("the extent of `{name}` is no constant"))?));
        }
        let mut runs = Vec::new();
        for index in &self.block.output_index {
            let form = affine(&self.unsplit(index)).ok_or_else(|| format!("`{index}` is not affine in the loops"))?;
            let mut own: Vec<(Name, i64, i64)> =
                loops.iter().map(|(name, extent)| (name.clone(), form.coefficient(name), *extent)).collect();
            own.retain(|(_, coefficient, _)| *coefficient != 0);
            own.sort_by_key(|(_, coefficient, _)| -coefficient);
            merge(&own, &mut runs);
        }
        let once = |name: &Name| runs.iter().flat_map(|run| &run.loops).filter(|(of, _)| of == name).count() == 1;
        if let Some((name, _)) = loops.iter().find(|(name, _)| !once(name)) {
            return Err(format!("`{name}` does not number elements of one dimension of the output"));
        }
        if runs.last().is_none_or(|run| run.stride != 1 || contiguous.coefficient(run.finest()) != 1) {
            return Err("no neighbours of the output are sums of one block".into());
        }
        Ok(StoreTile { part, rest, runs })
    }
}

/// Joins loops whose steps are as long as those inside of them take in all.
fn merge(loops: &[(Name, i64, i64)], runs: &mut Vec<StoreRun>) {
    let first = runs.len();
    for (name, coefficient, extent) in loops {
        match runs[first..].last_mut() {
            Some(run) if run.stride == coefficient * extent => {
                run.stride = *coefficient;
                run.extent *= extent;
                run.loops.push((name.clone(), *coefficient));
            }
            _ => {
                let loops = vec![(name.clone(), *coefficient)];
                runs.push(StoreRun { extent: *extent, stride: *coefficient, loops });
            }
        }
    }
}

/// The sums of a block that lie in shared memory at the same time.
pub(crate) struct StoreTile {
    /// The loop of a thread's tile whose iterations follow each other.
    pub(crate) part: Option<usize>,
    /// The others of its loops.
    pub(crate) rest: Vec<usize>,
    /// The dimensions, outermost first; the last one runs along the output's rows.
    pub(crate) runs: Vec<StoreRun>,
}

/// Elements along a dimension of the output that lie `stride` apart, counted by loops together.
pub(crate) struct StoreRun {
    pub(crate) extent: i64,
    pub(crate) stride: i64,
    /// With their coefficients in the output's index, the largest first.
    pub(crate) loops: Vec<(Name, i64)>,
}

impl StoreRun {
    /// The loop that counts single steps.
    pub(crate) fn finest(&self) -> &Name {
        &self.loops.last().expect("a run is of loops").0
    }
}
