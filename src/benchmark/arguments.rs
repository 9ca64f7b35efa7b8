//! The command line of the five programs.

use std::path::PathBuf;

use clap::Parser;
use dietcode_core::runtime::MAX_THREADS;

use super::Layout;

/// Tries every configuration of the built-in set on C = α · op(A) · op(B) + β · C, and says which is best.
///
/// First the system's BLAS is timed (cuBLAS on a GPU) and what a call of the kernel runs today, then every configuration. Each
/// is checked before it is timed, in a worker process: one that crashes, hangs or is wrong is listed as such, and the run
/// goes on. Ctrl-C prints what is known so far.
#[derive(Debug, Parser)]
#[command(
    version,
    allow_negative_numbers = true,
    after_help = "\
Examples:
  tune_nt 688 768 2304 1 20                             BERT's dense layer, once, medians of 20 repeats
  tune_nn 64 64 64 1000 20 interleaved --threads 1      a thousand small products, element by element
  tune_all 512 512 512 1 10 --json all.json             all four transpositions
  tune_nt 688 768 2304 1 20 --target cuda --top 10      on a GPU, if the set was built for it

Which set is built in: DIETCODE_CONFIG=configs/x.json cargo build --release --features benchmark
For which targets: DIETCODE_TARGETS=cpu,cuda, before the same.
`dietcode merge` makes of results (--json) what the next build dispatches by.

Exit status: 0 done, 1 nothing passed its check, 2 bad usage or input, 3 something needed is missing, 4 a
defect of dietcode."
)]
pub(super) struct Arguments {
    /// Rows of op(A) and of C.
    #[arg(value_name = "M", value_parser = extent)]
    m: i64,
    /// Columns of op(A), rows of op(B).
    #[arg(value_name = "K", value_parser = extent)]
    k: i64,
    /// Columns of op(B) and of C.
    #[arg(value_name = "N", value_parser = extent)]
    n: i64,
    /// How many products.
    #[arg(value_name = "BATCH", value_parser = extent)]
    batch: i64,
    /// Repeats that a figure is the median of.
    #[arg(value_name = "REPS", value_parser = reps)]
    pub(super) reps: usize,
    /// How the matrices of the batch lie in memory.
    #[arg(value_name = "LAYOUT", default_value = "strided")]
    pub(super) layout: Layout,
    /// Where to measure.
    #[arg(long, value_name = "TARGET", default_value = "cpu")]
    pub(super) target: Target,
    /// The factor of the product.
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = finite)]
    pub(super) alpha: f32,
    /// The factor of what is in C.
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = finite)]
    pub(super) beta: f32,
    /// Write all results as JSON: to this file, or with `-` to standard output, where nothing else goes then.
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
    /// Write a table of all results to this file, as CSV.
    #[arg(long, value_name = "FILE")]
    pub(super) csv: Option<PathBuf>,
    /// Only configurations whose name contains this; may be given more than once.
    #[arg(long, value_name = "TEXT", value_delimiter = ',')]
    pub(super) filter: Vec<String>,
    /// Show only the best so many.
    #[arg(long, value_name = "N", value_parser = reps)]
    pub(super) top: Option<usize>,
    /// End after so many seconds, with what is known then.
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(super) seconds: Option<f64>,
    /// On how many threads of the CPU; 0 for one on each core.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads)]
    pub(super) threads: usize,
    /// How many seconds the first call of a configuration may take, its check included. Default: long enough for a slow one.
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(super) limit: Option<f64>,
}

/// Where to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Target {
    /// This machine's processor.
    Cpu,
    /// The first GPU.
    Cuda,
    /// A GPU emulated on the processor: for checking, not for times.
    CudaHost,
}

impl Arguments {
    /// Whether results go to standard output.
    pub(super) fn prints_json(&self) -> bool {
        self.json.as_ref().is_some_and(|path| path.as_os_str() == "-")
    }

    /// The file that results go to, if it is one.
    pub(super) fn json_file(&self) -> Option<&PathBuf> {
        self.json.as_ref().filter(|_| !self.prints_json())
    }

    /// The value of a shape variable.
    pub(super) fn extent(&self, var: &str) -> i64 {
        match var {
            "M" => self.m,
            "N" => self.n,
            "K" => self.k,
            _ => self.batch,
        }
    }
}

/// The largest extent: shape variables are 32 bits wide on a device.
const MAX_EXTENT: i64 = i32::MAX as i64;

fn extent(text: &str) -> Result<i64, String> {
    let extent = text.parse().ok().filter(|n| (1..=MAX_EXTENT).contains(n));
    extent.ok_or_else(|| format!("expected a whole number from 1 to {MAX_EXTENT}"))
}

fn reps(text: &str) -> Result<usize, String> {
    const MOST: usize = 100_000;
    text.parse()
        .ok()
        .filter(|n| (1..=MOST).contains(n))
        .ok_or_else(|| format!("expected a whole number from 1 to {MOST}"))
}

fn finite(text: &str) -> Result<f32, String> {
    text.parse().ok().filter(|x: &f32| x.is_finite()).ok_or_else(|| "expected a finite number, such as 0.5".to_owned())
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|s: &f64| s.is_finite() && *s > 0.0 && *s <= 1e7);
    seconds.ok_or_else(|| "expected a number of seconds greater than 0".to_owned())
}

fn threads(text: &str) -> Result<usize, String> {
    let threads = text.parse().ok().filter(|n| *n <= MAX_THREADS);
    threads.ok_or_else(|| format!("expected a number from 0 (one on each core) to {MAX_THREADS}"))
}
