//! The command line. Each subcommand is a file; this one says what there is and what the exit status means.
//!
//! | status | meaning                                                  |
//! |--------|----------------------------------------------------------|
//! | 0      | done                                                     |
//! | 1      | the check or comparison that was asked for does not hold |
//! | 2      | bad usage or input                                       |
//! | 3      | something needed is not there, such as a compiler        |
//! | 4      | a defect of dietcode itself                              |
mod bench;
mod build_lib;
mod cargo;
mod cuda;
mod emit;
mod expand;
mod explain;
mod explore;
mod features;
mod files;
mod gpu_check;
mod html_report;
mod init;
mod interrupt;
mod json;
mod lower;
mod merge;
mod occupancy;
mod origin;
mod plot;
mod progress;
mod records;
mod regret;
mod report;
mod results;
mod setup;
mod simulate;
mod sketches;
mod table;
mod target;
mod terminal;
mod tune;
mod tune_offline;
mod usage;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use dietcode::benchmark::shown;
use dietcode::core::measure::cuda::CudaDevice;
use dietcode::core::measure::worker;
use dietcode::heartbeat::{ended, tell};

use self::terminal::{counted, print};

/// Tunes tensor kernels whose shapes change at run time, and shows what they are worth.
///
/// A config (see configs/) names an annotated loop nest, the shapes that matter, and the schedules to choose from.
#[derive(Debug, Parser)]
#[command(
    name = "dietcode",
    version,
    after_help = "\
Examples:
  dietcode init my-crate                                    a crate with a kernel, or a kernel for the crate in this folder
  dietcode tune --kernel src/ops.rs:dense --wkl M=16..2048,N=768,K=768   make a config, and tune by it
  dietcode tune configs/bert_dense.json                     find the best micro-kernels for this machine
  dietcode build-lib configs/bert_dense.json -o lib         a C library of kernels, with a header
  dietcode bench configs/bert_dense.json --wkl T=37         measure any shape beside other libraries
  dietcode explore configs/bert_q_k.json --shapes configs/shapes/bert.json   every candidate, checked and timed
  dietcode explain configs/bert_dense.json --wkl T=43       which micro-kernel runs a shape, and why
  dietcode emit configs/bert_dense.json -o out              write the C files that a build would compile
  dietcode lower dumps/dense_0123456789ab.ir                lower a kernel again, and show every pass
  dietcode features configs/bert_dense.json --loops         what a cost model is told of a kernel
  dietcode expand configs/bert_dense.json                   what the config stands for
  dietcode merge a.json -o configs/gemm_nt.cpu.tuned.json   results of tune_nt become a tuned file
  dietcode records configs/bert_dense.cpu.records.jsonl     what was measured: the best of each instance
  dietcode report configs/bert_dense.cpu.records.jsonl -o report.html   the same and more, as a page to look at
  dietcode results print results.jsonl                      what programs have found at run time
  dietcode tune-offline results.jsonl configs/bert_dense.json   tune what programs have listed as not tuned
  dietcode simulate a.jsonl --config configs/bert_dense.json   search strategies compared on what was measured
  dietcode occupancy --csv rows.csv                         check a table of CUDA occupancies
  dietcode gpu-check --json results.json                    check, tune and measure CUDA kernels on a GPU
  dietcode gpu-images -o images                             compile them for a machine without a compiler

Shapes are workload instances, --wkl, in all commands: T=37, or B=2,T=37, or T=5,24,43, or T=5..128 (both ends included), or
T=16..128:16; 0 is one too where calls are meant. --json takes a file, or - for standard output.

Exit status: 0 done, 1 a check or comparison does not hold, 2 bad usage or input, 3 something needed is missing, 4 a defect of
dietcode, with a file to report. DIETCODE_DUMP_IR=DIR writes the program after every pass of lowering, a file for each kernel."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Arguments),
    BuildLib(build_lib::Arguments),
    Tune(tune::Arguments),
    Bench(bench::Arguments),
    Explain(explain::Arguments),
    Explore(explore::Arguments),
    Emit(emit::Arguments),
    Expand(expand::Arguments),
    Lower(lower::Arguments),
    Features(features::Arguments),
    Occupancy(occupancy::Arguments),
    Merge(merge::Arguments),
    Records(records::Arguments),
    Report(html_report::Arguments),
    Results(results::Arguments),
    TuneOffline(tune_offline::Arguments),
    Simulate(simulate::Arguments),
    GpuCheck(gpu_check::Arguments),
    GpuImages(gpu_check::ImagesArguments),
    /// Measures for a parent process, over standard input and output.
    #[command(hide = true)]
    Worker {
        /// The CUDA device that it has; none: the CPU.
        device: Option<CudaDevice>,
    },
}

/// Runs the command that the arguments ask for.
pub(crate) fn main() -> ExitCode {
    // Wrong usage ends here with status 2, `--help` with 0.
    let arguments = Arguments::try_parse().unwrap_or_else(|error| shown(usage::renamed(error)).exit());
    let command = arguments.command;
    // A worker ends with the process that started it.
    if !matches!(command, Command::Worker { .. }) {
        interrupt::catch();
    }
    let result = dietcode::core::lower::dump_folder().and_then(|_| match command {
        Command::Init(arguments) => init::run(&arguments),
        Command::BuildLib(arguments) => build_lib::run(&arguments),
        Command::Tune(arguments) => tune::run(arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Explore(arguments) => explore::run(&arguments),
        Command::Emit(arguments) => emit::run(&arguments),
        Command::Expand(arguments) => expand::run(&arguments),
        Command::Lower(arguments) => lower::run(&arguments),
        Command::Features(arguments) => features::run(&arguments),
        Command::Occupancy(arguments) => occupancy::run(&arguments),
        Command::Merge(arguments) => merge::run(&arguments),
        Command::Records(arguments) => records::run(&arguments),
        Command::Report(arguments) => html_report::run(&arguments),
        Command::Results(arguments) => results::run(&arguments),
        Command::TuneOffline(arguments) => tune_offline::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::GpuCheck(arguments) => gpu_check::run(&arguments),
        Command::GpuImages(arguments) => gpu_check::run_images(&arguments),
        Command::Worker { device } => worker::serve(device, std::io::stdin().lock(), std::io::stdout().lock()),
    });
    ended("dietcode", result)
}
