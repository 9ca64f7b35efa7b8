//! The database: what was written is read again, whatever else is in the file and whoever else writes.
mod hostile;
mod questions;
mod rewriting;
mod writing;

use super::{FORMAT, Outcome, Record, Shape, Target, Workload};
use crate::config::Cache;
use crate::measure::{Failure, Summary};
use crate::schedule::{Instruction, Trace};
use crate::sketch::MicroKernel;

fn cpu() -> Target {
    Target::Cpu { cpu: "Some CPU".into(), march: "native".into(), compiler: "gcc 14".into() }
}

fn gpu() -> Target {
    Target::Cuda { device: "H200".into(), capability: "sm_90".into(), driver: "1".into(), toolchain: "nvcc 13".into() }
}

fn shape(m: i64) -> Shape {
    Shape::from([("M".to_owned(), m), ("K".to_owned(), 768)])
}

fn workload(m: i64) -> Workload {
    Workload { kernel: "dense".into(), source_hash: "0".into(), shape: Some(shape(m)) }
}

fn gflops(median: f64) -> Summary {
    Summary { median, iqr: 0.5, repeats: 3 }
}

/// A micro-kernel of a family that tests tell from others by a label, which its trace holds.
fn micro_kernel(label: &str) -> MicroKernel {
    let trace = Trace::new([Instruction::DecomposeReduction]);
    MicroKernel::of_trace(trace.with([(label.into(), 1)].into()), "tiled")
}

/// The name of the one with a label.
fn name(label: &str) -> String {
    micro_kernel(label).name()
}

/// The label of a record's.
fn label(record: &Record) -> &str {
    record.schedule.trace.decisions.keys().next().expect("it has a label")
}

/// A measured record of the micro-kernel with a label.
fn measured(label: &str, m: i64, median: f64) -> Record {
    let outcome = Outcome::Measured { threads: 1, gflops: gflops(median), rel_err: 1e-7, cache: Cache::Warm };
    Record { time: 7, ..Record::new(workload(m), cpu(), micro_kernel(label), outcome) }
}

fn failed(label: &str, failure: Failure) -> Record {
    Record { outcome: Outcome::Failed(failure), ..measured(label, 64, 0.0) }
}

fn unknown(name: &str, threads: usize) -> Record {
    Record { outcome: Outcome::Unknown { threads, clean: 1, asked: 2 }, ..measured(name, 64, 0.0) }
}

/// A measured record of a trace with a decision.
fn traced(unroll: i64) -> Record {
    let into = "k_unroll".into();
    let trace = Trace::new([
        Instruction::SampleCategorical { into, candidates: vec![1, 2, 4], weights: vec![0.1, 0.2, 0.7] },
        Instruction::DecomposeReduction,
    ]);
    let trace = trace.with([("k_unroll".into(), unroll)].into());
    let record = measured("", 64, unroll as f64);
    let schedule = MicroKernel::of_trace(trace, "traced");
    Record {
        structure: Some([unroll as u8; 32]),
        trial: 3,
        run: "a".into(),
        seed: 9,
        space_hash: "ff".into(),
        ..Record::new(record.workload, record.target, schedule, record.outcome)
    }
}

fn labels(records: &[Record]) -> Vec<&str> {
    records.iter().map(label).collect()
}
