//! Implementations beside the baselines, by turns, on one instance.

use dietcode_syntax::{DType, KernelDef};

use super::baselines::{BlasLibrary, Gemm};
use super::{CpuHarness, Device, Failure, Implementation, Instance, Sample, Timing, Unit};
use crate::codegen;
use crate::config::Cache;
use crate::reference::Arithmetic;
use crate::sketch::MicroKernel;
use crate::{Error, Result};

/// What every comparison has beside the kernels under test.
#[derive(Clone, Debug)]
pub struct Baselines {
    naive: Option<Unit>,
    blas: Option<BlasLibrary>,
    /// The version of a device's cuBLAS, and whether it may round the factors to tf32.
    cublas: Option<(i32, bool)>,
}

/// An implementation in a comparison.
#[derive(Clone, Debug)]
pub struct Finalist {
    /// `dietcode`, `naive`, `matrixmultiply`, `blas:NAME` (`blas:NAME on copies` of matrices as no BLAS takes them), `cublas:VERSION`, `peak`.
    pub name: String,
    /// How it is called.
    pub implementation: Implementation,
}

/// What came of a finalist.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The finalist's name.
    pub name: String,
    /// Times and error, or why there are none.
    pub outcome: Result<Sample, Failure>,
}

/// A comparison on one instance at one number of threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// On how many threads; 0 on a device.
    pub threads: usize,
    /// What caches held before each call.
    pub cache: Cache,
    /// In the order of the finalists; without the peak.
    pub standings: Vec<Standing>,
    /// The peak of fused multiply-adds of the type that the nest computes in, in GFLOP/s, measured in the same rounds.
    pub peak: Option<f64>,
}

/// The name of the nest as it stands.
const NAIVE: &str = "naive";

/// The nest as it stands takes a call's time many times over: of one that has more operations it is timed on so many.
const NAIVE_OPERATIONS: f64 = 1e8;

impl Baselines {
    /// Compiles the nest as it stands; `blas` is whichever was found, see [`CpuHarness::find_blas`].
    ///
    /// # Errors
    ///
    /// If the nest as it stands does not compile.
    pub fn new(harness: &CpuHarness, blas: Option<BlasLibrary>) -> Result<Baselines> {
        let program = harness.program();
        let nest = MicroKernel::nest(program).lowered(program, harness.target())?;
        let unit = codegen::c::unit(harness.def(), "naive", &nest)?;
        let naive = harness
            .build_one(&unit)
            .map_err(|failure| Error::failed(format!("the nest of `{}` as it stands {failure}", harness.def().name)))?;
        Ok(Baselines { naive: Some(naive), blas, cublas: None })
    }

    /// Those on a GPU: its library, if there is one.
    pub fn on_gpu(cublas: Option<i32>, tf32: bool) -> Baselines {
        Baselines { naive: None, blas: None, cublas: cublas.map(|version| (version, tf32)) }
    }

    /// The BLAS, if one was found.
    pub fn blas(&self) -> Option<&BlasLibrary> {
        self.blas.as_ref()
    }

    /// Whether the finalist of this name is timed on a part of an instance, and the time scaled.
    pub fn times_part(name: &str, instance: &Instance) -> bool {
        name == NAIVE && instance.flops > NAIVE_OPERATIONS
    }

    /// The names of all finalists there can be; `blas` where none was found.
    pub fn names(&self) -> Vec<String> {
        if self.naive.is_none() {
            return self.cublas.iter().map(|(version, _)| format!("cublas:{version}")).collect();
        }
        let blas = self.blas.as_ref().map_or_else(|| "blas".to_owned(), |library| format!("blas:{}", library.name));
        vec![NAIVE.to_owned(), "matrixmultiply".to_owned(), blas]
    }

    /// Those who can carry out the kernel at this instance: the libraries only where the nest is a matrix product.
    pub fn finalists(&self, def: &KernelDef, instance: &Instance) -> Vec<Finalist> {
        let finalist = |name: &str, implementation| Finalist { name: name.to_owned(), implementation };
        let share = (NAIVE_OPERATIONS / instance.flops).min(1.0);
        let part = |unit: &Unit| Implementation::Part { unit: unit.clone(), share };
        let mut finalists: Vec<Finalist> = self.naive.iter().map(|unit| finalist(NAIVE, part(unit))).collect();
        // With no elements they are not called: BLAS refuses leading dimensions of 0.
        let Some(gemm) = Gemm::of(def, instance).filter(|_| !instance.is_empty()) else { return finalists };
        let dtype = instance.dtypes[instance.output];
        if let Some((version, tf32)) = self.cublas {
            // f32 without tf32 is held to the bounds of f32, so that it is seen to be that. With tf32 it need not round as we do.
            let arithmetic = match dtype {
                DType::F32 if tf32 => Arithmetic::TruncatedTf32,
                DType::F32 | DType::F64 | DType::U8 | DType::I8 | DType::I32 => Arithmetic::F32,
                DType::F16 | DType::BF16 => Arithmetic::MatrixUnit,
            };
            finalists.push(finalist(
                &format!("cublas:{version}"),
                Implementation::CuBlas { gemm: gemm.clone(), tf32, arithmetic },
            ));
        }
        // What is called of the other libraries multiplies `f32` and `f64`, all of one type.
        if self.naive.is_none() || !dtype.is_computed_in() || instance.dtypes.iter().any(|other| *other != dtype) {
            return finalists;
        }
        finalists.push(finalist("matrixmultiply", Implementation::Matrixmultiply(gemm.clone())));
        // Copies are made in each call: who has interleaved matrices has no other way to a BLAS.
        let how = match (gemm.blas_can(), gemm.blas_can_on_copies()) {
            (true, _) => Some(""),
            (_, true) => Some(" on copies"),
            _ => None,
        };
        if let (Some(library), Some(how)) = (&self.blas, how) {
            let name = format!("blas:{}{how}", library.name);
            finalists.push(finalist(&name, Implementation::Blas { library: library.clone(), gemm }));
        }
        finalists
    }
}

/// Measures finalists, and the peak if it is known how to, by turns.
///
/// # Errors
///
/// If measuring is not possible at all.
pub fn compare(
    device: &mut dyn Device,
    instance: &Instance,
    finalists: &[Finalist],
    setting: usize,
    timing: Timing,
) -> Result<Comparison> {
    let peak = device.peak(setting);
    let mut implementations: Vec<Implementation> = finalists.iter().map(|f| f.implementation.clone()).collect();
    implementations.extend(peak.iter().map(|(implementation, _)| implementation.clone()));
    let mut measured = device.measure(instance, implementations, setting, timing)?;
    // It is that of f32: an instruction has as many multiply-adds as a register has elements.
    let share = DType::F32.bytes() as f64 / DType::computing(instance.dtypes.iter().copied()).bytes() as f64;
    let of_peak = |(_, flops): (Implementation, f64)| Some(measured.pop()?.ok()?.gflops(flops * share).median);
    let peak = peak.and_then(of_peak);
    let standing = |(f, outcome): (&Finalist, _)| Standing { name: f.name.clone(), outcome };
    let standings = finalists.iter().zip(measured).map(standing).collect();
    Ok(Comparison { threads: setting, cache: timing.cache, standings, peak })
}

impl Standing {
    /// Whether others took the cores too often for a figure.
    pub fn is_unknown(&self) -> bool {
        matches!(self.outcome, Err(Failure::Unknown { .. }))
    }

    /// Whether it has no figure for a reason of its own: it is wrong, or does not end as a call does.
    pub fn has_failed(&self) -> bool {
        matches!(&self.outcome, Err(failure) if failure.is_its_own())
    }
}

impl Comparison {
    /// A finalist's times, if it has any.
    pub fn sample(&self, name: &str) -> Option<&Sample> {
        self.standings.iter().find(|s| s.name == name)?.outcome.as_ref().ok()
    }
}
