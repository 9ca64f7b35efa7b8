//! Implementations beside the baselines, by turns, on one instance.

use dietcode_syntax::DType;

use super::baselines::{BlasLibrary, Gemm};
use super::{CpuHarness, Disturbance, Failure, Implementation, Instance, Sample, Timing, Unit};
use crate::codegen;
use crate::{Error, ErrorKind, Result};

/// What every comparison has beside the kernels under test.
#[derive(Clone, Debug)]
pub struct Baselines {
    naive: Unit,
    blas: Option<BlasLibrary>,
}

/// Somebody in a comparison.
#[derive(Clone, Debug)]
pub struct Contestant {
    /// `dietcode`, `naive`, `matrixmultiply`, `blas:NAME` (`blas:NAME on copies` of matrices as no BLAS takes them), `peak`.
    pub name: String,
    /// How it is called.
    pub implementation: Implementation,
}

/// What came of a contestant.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The contestant's name.
    pub name: String,
    /// Times and error, or why there are none.
    pub outcome: Result<Sample, Failure>,
}

/// A comparison on one instance at one number of threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// On how many threads.
    pub threads: usize,
    /// In the order of the contestants; without the peak.
    pub standings: Vec<Standing>,
    /// The peak of fused multiply-adds, in GFLOP/s, measured in the same rounds.
    pub peak: Option<f64>,
    /// In how many rounds others used the cores.
    pub rounds: Disturbance,
}

impl Baselines {
    /// Compiles the nest as it stands; `blas` is whichever was found, see [`CpuHarness::find_blas`].
    ///
    /// # Errors
    ///
    /// If the nest as it stands does not compile.
    pub fn new(lab: &CpuHarness, blas: Option<BlasLibrary>) -> Result<Baselines> {
        let unit = codegen::c::naive(lab.def())?;
        let naive = lab.build_one(&unit).map_err(|failure| {
            Error::new(ErrorKind::Failed, format!("the nest of `{}` as it stands {failure}", lab.def().name))
        })?;
        Ok(Baselines { naive, blas })
    }

    /// The BLAS, if one was found.
    pub fn blas(&self) -> Option<&BlasLibrary> {
        self.blas.as_ref()
    }

    /// The names of all contestants there can be; `blas` where none was found.
    pub fn names(&self) -> Vec<String> {
        let blas = self.blas.as_ref().map_or_else(|| "blas".to_owned(), |library| format!("blas:{}", library.name));
        vec!["naive".to_owned(), "matrixmultiply".to_owned(), blas]
    }

    /// Those who can carry out the kernel at this instance: the libraries only where the nest is a matrix product.
    pub fn contestants(&self, lab: &CpuHarness, instance: &Instance) -> Vec<Contestant> {
        let contestant = |name: &str, implementation| Contestant { name: name.to_owned(), implementation };
        let mut contestants = vec![contestant("naive", Implementation::MicroKernel(self.naive.clone()))];
        // What is called of the libraries multiplies `f32`.
        // With no elements they are not called: BLAS refuses leading dimensions of 0.
        let called = !instance.is_empty() && instance.dtypes.iter().all(|dtype| *dtype == DType::F32);
        let gemm = Gemm::of(lab.def(), instance).filter(|_| called);
        let Some(gemm) = gemm else { return contestants };
        contestants.push(contestant("matrixmultiply", Implementation::Matrixmultiply(gemm.clone())));
        // Copies are made in each call: who has interleaved matrices has no other way to a BLAS.
        let how = match (gemm.blas_can(), gemm.blas_can_on_copies()) {
            (true, _) => Some(""),
            (_, true) => Some(" on copies"),
            _ => None,
        };
        if let (Some(library), Some(how)) = (&self.blas, how) {
            let name = format!("blas:{}{how}", library.name);
            contestants.push(contestant(&name, Implementation::Blas { library: library.clone(), gemm }));
        }
        contestants
    }
}

/// Measures contestants and the peak by turns.
///
/// # Errors
///
/// If measuring is not possible at all.
pub fn compare(
    lab: &mut CpuHarness,
    instance: &Instance,
    contestants: &[Contestant],
    threads: usize,
    timing: Timing,
) -> Result<Comparison> {
    let mut implementations: Vec<Implementation> = contestants.iter().map(|c| c.implementation.clone()).collect();
    implementations.push(lab.peak(threads));
    let mut measured = lab.measure(instance, implementations, threads, timing)?;
    let peak = measured.outcomes.pop().and_then(Result::ok);
    let peak = peak.map(|sample| sample.gflops(lab.peak_flops(threads)).median);
    let standing = |(c, outcome): (&Contestant, _)| Standing { name: c.name.clone(), outcome };
    let standings = contestants.iter().zip(measured.outcomes).map(standing).collect();
    Ok(Comparison { threads, standings, peak, rounds: measured.rounds })
}

impl Comparison {
    /// A contestant's times, if it has any.
    pub fn sample(&self, name: &str) -> Option<&Sample> {
        self.standings.iter().find(|s| s.name == name)?.outcome.as_ref().ok()
    }
}
