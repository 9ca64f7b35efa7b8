//! The command, the programs beside it, and the crates that it makes, as their users meet them, in one program: one module,
//! one kind of test. `tests/README.md` says what each holds. `cargo test --test command cli::` runs one.

#[cfg(feature = "benchmark")]
mod benchmark;
#[cfg(unix)]
mod build_support;
mod cli;
mod environment;
mod expand;
#[cfg(unix)]
mod explore;
#[cfg(unix)]
mod first_hour;
mod gpu_check;
mod init;
#[cfg(unix)]
mod library;
mod measure;
mod measure_cuda;
mod merge_cuda;
mod records;
#[cfg(unix)]
mod report;
mod results;
mod tune;
