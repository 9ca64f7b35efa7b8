//! The product that is tried: its nest, its shape, and whether this machine can hold it.

use std::collections::BTreeMap;

use dietcode_core::measure::Instance;
use dietcode_core::runtime::Kernel;
use dietcode_core::syntax::{KernelDef, scan};
use dietcode_core::{Error, Result};

use super::arguments::Arguments;

/// The source of the kernels, which the program carries.
const SOURCE: &str = include_str!("../ops/gemm.rs");

/// Products with one choice of what is stored transposed, for both layouts of a batch.
#[derive(Clone, Copy)]
pub struct Product {
    /// The matrices of the batch lie one behind the other.
    pub strided: &'static Kernel,
    /// They lie element by element.
    pub interleaved: &'static Kernel,
}

/// How the matrices of a batch lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Layout {
    /// One behind the other.
    Strided,
    /// Element by element: the first elements of all matrices, then the second ones.
    Interleaved,
}

/// A product at a shape.
pub(super) struct Problem {
    pub(super) kernel: &'static Kernel,
    pub(super) def: KernelDef,
    pub(super) instance: Instance,
}

impl Problem {
    /// What the arguments ask for.
    pub(super) fn new(product: &Product, arguments: &Arguments) -> Result<Problem> {
        let kernel = match arguments.layout {
            Layout::Strided => product.strided,
            Layout::Interleaved => product.interleaved,
        };
        let def = find(kernel.name())?;
        let shape: Vec<i64> = def.shape_vars.iter().map(|var| arguments.extent(&var.name)).collect();
        let scalars =
            [("alpha", arguments.alpha), ("beta", arguments.beta)].map(|(name, value)| (name, f64::from(value)));
        let instance = Instance::of(&def, &shape)?.with_scalars(&def, &scalars)?;
        Ok(Problem { kernel, def, instance })
    }

    /// The shape by names.
    pub(super) fn shape(&self) -> BTreeMap<String, i64> {
        let names = self.def.shape_vars.iter().map(|var| var.name.clone());
        names.zip(self.instance.shape.iter().copied()).collect()
    }

    /// The bytes of its tensors, and of what the output has to be.
    pub(super) fn bytes(&self) -> u128 {
        let elements = |dims: &Vec<i64>| dims.iter().map(|n| u128::from(n.unsigned_abs())).product::<u128>();
        let tensors = self.instance.dims.iter().zip(&self.instance.dtypes);
        let tensors: u128 =
            tensors.map(|(dims, dtype)| elements(dims) * u128::from(dtype.bytes().unsigned_abs())).sum();
        // Values and bounds in double precision.
        tensors + 16 * elements(&self.instance.dims[self.instance.output])
    }

    /// Fails at once, and not in the midst of a run, if the tensors do not fit memory.
    pub(super) fn check_memory(&self, available: u64, place: &str) -> Result<()> {
        let gib = |bytes: u128| bytes as f64 / f64::from(1 << 30);
        if self.bytes() <= u128::from(available) {
            return Ok(());
        }
        Err(Error::input(format!(
            "found a product whose tensors and their check take {:.1} GiB, expected one that fits the {:.1} GiB of {place}",
            gib(self.bytes()),
            gib(u128::from(available))
        )))
    }
}

/// The nest of a kernel.
fn find(name: &str) -> Result<KernelDef> {
    let broken = |why: String| Error::failed(format!("the source of `{name}`: {why}"));
    let kernels = scan(SOURCE).map_err(|e| broken(format!("{e:?}")))?;
    let kernel = kernels.iter().find(|kernel| kernel.item.sig.ident == name);
    let kernel = kernel.ok_or_else(|| broken("it is not among the products that this program carries".into()))?;
    kernel.parse().map_err(|e| broken(format!("{e:?}")))
}
