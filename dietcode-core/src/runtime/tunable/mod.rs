//! Operations that are tuned at run time: for shapes that nobody foresaw, and for candidates that no search of this project knows, such as
//! a library's routine.
//!
//! A [`TunableOp`] has candidates, [`Op`]s that compute the same. When a call has a [`Key`] that was not met before, and [`tuning`] is on,
//! all of them are tried on proxies of the call's operands:
//!
//! 1. the default runs, and what it computes is what all others are compared with;
//! 2. each other candidate runs once, and is left out if it refuses, fails, panics or computes something else;
//! 3. a few calls say whether it may win, and one that takes more than 1.5 times as long as the best is left out;
//! 4. the others are timed, as often as the limit allows, by the median of samples of at least 20 µs;
//! 5. the fastest and the default take turns, and only who is faster by more than 2% replaces the default.
//!
//! Later calls of that key run what was chosen. [`KernelOp`] is the operation of a generated kernel, which `dense::tunable()` makes.
//!
//! # Results that last
//!
//! With the feature `results`, and a file that [`tuning::Settings`] or the environment names, what was chosen is kept for later processes, as
//! soon as it was found: a line of JSON for each key. What it depends on stands in the line:
//!
//! | in a line    | what it is                                                                      | it is used if               |
//! |--------------|---------------------------------------------------------------------------------|-----------------------------|
//! | `format`     | the version of the line's form                                                  | it is this version's        |
//! | `library`    | the version of `dietcode-core`                                                  | it is the same              |
//! | `cpu`        | model and features of the CPU                                                   | both are the same           |
//! | `op`         | the operation's name                                                            | it is the same              |
//! | `key`        | the call's key as text: of a kernel also its hash, and the threads or the device | it is the same              |
//! | `candidates` | a hash of the candidates' names, which for micro-kernels stand for the schedule | all are, in the same order  |
//! | `validators` | what [`TunableOp::validator`] said: versions of libraries, of a driver, of code | all are the same            |
//! | `rotation`   | over how many bytes of operands timed calls went in turn, if they did           | always                      |
//! | `hash`       | a hash of what stands before it                                                 | it is that                  |
//!
//! What does not match is a miss: a line on standard error says what and why, the key is tuned where tuning is on, and else the default
//! runs. A call never fails since the file is wrong, cannot be read or cannot be written. What the table does not list nobody checks: a
//! C compiler that has changed, or a candidate that does something else under its old name, is to be told by a validator.
//!
//! Before a candidate is called, a file beside the results names it. A candidate whose process ended meanwhile is left out by the next
//! processes: for that key, and for all keys of the operation when it has ended a second process at another key. Whoever has mended it
//! gives it another name, or the operation another validator. On Unix the end of a process counts so:
//!
//! | the process ends by                                                         | the candidate that was being tried      |
//! |-----------------------------------------------------------------------------|-----------------------------------------|
//! | a crash or an abort, of any thread                                          | is left out                             |
//! | `exit`, or the return of `main`, on another thread than tries it            | is left out if it hung, else tried again |
//! | `exit` on the thread that tries it                                          | is left out                             |
//! | SIGHUP, SIGINT or SIGTERM, for which the program has no handler             | is left out if it hung, else tried again |
//! | the same, if the program has a handler: by what the handler does            | as above or below                       |
//! | SIGKILL, another signal, `_exit`, a loss of power                           | is left out                             |
//!
//! It hung if it was at it for more than a thousand times the limit. What cannot be told apart is who had a process end, the candidate or somebody
//! else, in the first and the last row: another thread that crashes, or a system that ends a process which takes too much memory, leave a
//! candidate out that has done nothing wrong. Its line can be removed from the file.
//!
//! Beside the fastest candidates and those that have ended processes, the file lists keys that were met and not tuned, with how many calls they
//! had, if `tuning::Settings::record_untuned` asks for it: `dietcode tune-offline` tunes them where no call waits.
//!
//! The roles are those of ONNX Runtime's TunableOp (`onnxruntime/core/framework/tunable.h`: `Op`, `TunableOp`, `FindFastest`,
//! `PreTuning`); the check of results, the turns, and that no lock is taken for a known key are this project's.
use std::io::Write;

mod budget;
mod buffers;
mod exploration;
mod explore;
mod fastest;
mod kernels;
mod key;
mod known;
mod op;
#[cfg(feature = "compiler")]
mod operands;
mod params;
mod per_process;
mod race;
mod report;
#[cfg(feature = "results")]
mod results;
#[cfg(not(feature = "results"))]
#[path = "no_results.rs"]
mod results;
mod tunable_op;
mod turn;
pub mod tuning;

pub use budget::Budget;
#[cfg(feature = "tuner")]
pub(crate) use kernels::OTHER_ROUNDINGS;
pub use kernels::{KernelCall, KernelOp, KernelProxy, Kernels};
pub use key::{Key, MAX_FIELDS};
pub use op::Op;
pub use params::Params;
pub use report::{Outcome, Report};
#[cfg(all(feature = "results", feature = "compiler"))]
pub use results::{Counted, Kept, KeptResult, merge_results, prune_results, read_results};
pub use tunable_op::TunableOp;

/// One line for people.
fn say(line: &str) {
    // Where nobody listens, the call goes on.
    let _ = writeln!(std::io::stderr(), "dietcode: {}", crate::message::one_line(line));
}
