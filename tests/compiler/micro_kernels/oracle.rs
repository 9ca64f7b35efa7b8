//! What the output must be: the oracle in C, and beside its bound what a matrix unit may add to it.

use std::collections::BTreeMap;
use std::ffi::c_void;

use dietcode_core::codegen::TranslationUnit;
use dietcode_core::machine::Toolchain;
use dietcode_core::reference::Approx;
use dietcode_core::schedule::MatrixUnit;
use dietcode_syntax::{KernelDef, Role};

use crate::common::instance::{GUARD, Instance};
use crate::common::library::library;
use crate::common::{on_cpu, units};

/// Unit roundoff of binary32.
const U: f64 = 1.0 / (1 << 24) as f64;

/// The oracles of some kernels.
pub(crate) struct Oracles {
    library: libloading::Library,
    units: BTreeMap<String, TranslationUnit>,
}

impl Oracles {
    /// Compiles them as one file.
    pub(crate) fn compile<'d>(defs: impl Iterator<Item = &'d KernelDef>) -> Oracles {
        let units: BTreeMap<String, TranslationUnit> = defs.map(|def| (def.name.clone(), units::oracle(def))).collect();
        let toolchain = Toolchain::find("native").expect("a C compiler");
        let source: String = units.values().map(|unit| &*unit.source).collect();
        Oracles { library: library(&toolchain, &source, &[]), units }
    }

    /// The output for these tensors, each element with how far a kernel may be off.
    ///
    /// A matrix unit may truncate where it adds (u becomes 2·u in γₙ), and tf32 rounds both operands by 2⁻¹¹ before. Of products of two
    /// parts each, three are summed, and what is lacking is as if both operands were rounded by 2⁻²². All
    /// are in proportion to the sum of the terms' sizes, which is the output for the tensors' absolute values; the
    /// rounding of an output of 16 bits makes them at most 2⁻⁸ larger, and so do the sizes of the parts' products.
    pub(crate) fn expected(&self, instance: &Instance, tensors: &[Vec<f64>], unit: Option<MatrixUnit>) -> Vec<Approx> {
        let mut expected = self.evaluate(instance, tensors);
        let Some(unit) = unit else { return expected };
        let absolute: Vec<Vec<f64>> = tensors.iter().map(|t| t.iter().map(|x| x.abs()).collect()).collect();
        let (operand, products) = match unit {
            MatrixUnit::Half => (0.0, 1.0),
            MatrixUnit::Tf32 => (2f64.powi(-11), 1.0),
            MatrixUnit::Tf32x3 => (2f64.powi(-22), 3.0),
        };
        let nu = (products * terms(instance) + 2.0) * 2.0 * U;
        let relative = (1.0 + operand).powi(2) * (1.0 + nu / (1.0 - nu)) - 1.0;
        for (expected, size) in expected.iter_mut().zip(self.evaluate(instance, &absolute)) {
            expected.error += (1.0 + 2f64.powi(-8)) * relative * size.value;
        }
        expected
    }

    fn evaluate(&self, instance: &Instance, tensors: &[Vec<f64>]) -> Vec<Approx> {
        let unit = &self.units[&instance.def.name];
        let before = &tensors[instance.def.output];
        let [mut value, mut bound] = [vec![f64::NAN; before.len()], vec![f64::NAN; before.len()]];
        let mut memory = instance.memory(tensors);
        let mut buffers: Vec<*mut c_void> = memory.iter_mut().map(|m| m.pointer(GUARD)).collect();
        buffers[instance.def.output] = value.as_mut_ptr().cast();
        buffers.push(bound.as_mut_ptr().cast());
        let mut initial: Vec<f32> = before.iter().map(|x| *x as f32).collect();
        buffers.push(initial.as_mut_ptr().cast());
        let strides = (0..instance.def.params.len()).flat_map(|param| instance.strides(param));
        let strides: Vec<i64> = strides.map(|stride| stride as i64).collect();
        // SAFETY: the buffers are as large as the unit's nest says.
        unsafe { on_cpu::call(&self.library, unit, None, (&buffers, &strides, &instance.shape), "the oracle") };
        value.into_iter().zip(bound).map(|(value, error)| Approx { value, error }).collect()
    }
}

/// The length of the sums.
fn terms(instance: &Instance) -> f64 {
    let sums = instance.def.loops.iter().filter(|l| l.role == Role::Reduce);
    let extents = sums.flat_map(|l| &l.extent.terms).map(|(name, _)| instance.shape_var(name) as f64);
    extents.product()
}
