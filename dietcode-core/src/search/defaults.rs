//! What runs where nothing was tuned: the first candidates of a search, and what the others are compared with.

use crate::ir::Program;
use crate::sketch::MicroKernel;

/// The default micro-kernels, and which of them serves each instance of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Defaults {
    /// The micro-kernels; the nest as it stands is among them, so that it is always a candidate.
    pub micro_kernels: Vec<MicroKernel>,
    /// The position of the one that serves each instance.
    pub of: Vec<usize>,
}

impl Defaults {
    /// Those of a kernel; `of` says which of them serves each instance.
    pub fn new(program: &Program, mut micro_kernels: Vec<MicroKernel>, of: Vec<usize>) -> Defaults {
        let nest = MicroKernel::nest(program);
        if !micro_kernels.contains(&nest) {
            micro_kernels.push(nest);
        }
        Defaults { micro_kernels, of }
    }
}
