//! What the output of an instance must be, by the oracle in Rust.

use std::collections::BTreeMap;

use dietcode_core::frontend;
use dietcode_core::ir::Name;
use dietcode_core::reference::{self, Approx, Tensors};

use crate::common::instance::Instance;

impl Instance {
    /// Every element of the output, with its bound.
    pub(crate) fn expected(&self, tensors: &[Vec<f64>]) -> Vec<Approx> {
        let names = self.def.params.iter().map(|param| Name::from(&*param.name));
        let named: Tensors = names.zip(tensors.iter().cloned()).collect();
        let vars = self.def.shape_vars.iter().map(|var| Name::from(&*var.name));
        let shape: BTreeMap<Name, i64> = vars.zip(self.shape.iter().copied()).collect();
        reference::evaluate(&frontend::program(&self.def), &shape, &named).expect("the case is in bounds")
    }
}
