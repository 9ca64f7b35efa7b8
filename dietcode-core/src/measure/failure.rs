//! Why a candidate has no figure.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// What went wrong with one candidate on one instance, as it stands in its record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Failure {
    /// The compiler refused it.
    Compile {
        /// What it said: all of it. A record has the line that says why, and of how many it is one.
        #[serde(serialize_with = "recorded")]
        message: String,
    },
    /// The compiler did not end in time.
    CompileTimeout {
        /// The limit.
        seconds: f64,
    },
    /// The compiled code could not be loaded or started.
    Load {
        /// What the loader said.
        message: String,
    },
    /// The device refused to run it, or broke it off.
    Launch {
        /// What the driver said; on the emulated device, what the kernel did.
        message: String,
    },
    /// It killed its process.
    Crash {
        /// The signal's name, or the exit status.
        signal: String,
        /// The last line that the process wrote to its standard error, if any.
        message: String,
    },
    /// It did not end in time.
    Timeout {
        /// The limit.
        seconds: f64,
    },
    /// The run was stopped before it was measured.
    Stopped,
    /// It passed its check, but others took its cores too often: how long it takes is not known.
    Unknown {
        /// In so many samples its threads had their cores.
        clean: usize,
        /// So many were asked for.
        asked: usize,
    },
    /// An element of the output is not within the error bound.
    Wrong {
        /// Where: the first such element.
        index: Vec<i64>,
        /// What is there, as text, since it may be NaN.
        found: String,
        /// What the reference computes.
        #[serde(with = "super::number")]
        expected: f64,
        /// How far it may be off.
        #[serde(with = "super::number")]
        bound: f64,
        /// How many elements are wrong.
        elements: usize,
    },
    /// Elements of the output were left as they were.
    Unwritten {
        /// How many.
        elements: usize,
    },
    /// It wrote beside a tensor.
    OutOfBounds {
        /// The parameter.
        param: usize,
        /// The first byte that changed, relative to the tensor's first.
        byte: i64,
        /// The tensor's size.
        bytes: usize,
    },
}

/// The most characters of a line that a record keeps.
const LONGEST_LINE: usize = 500;

/// The line that says `error`, without the temporary path before it, or else the first.
fn excerpt(message: &str) -> String {
    let line =
        message.lines().find(|line| line.contains("error")).or_else(|| message.lines().next()).unwrap_or_default();
    let line = line.find("error").map_or(line, |at| &line[at..]);
    let count = message.lines().count();
    let mut kept: String = line.chars().take(LONGEST_LINE).collect();
    if kept.len() < line.len() {
        kept.push('…');
    }
    if count > 1 {
        kept += &format!(" (of {count} lines)");
    }
    kept
}

fn recorded<S: Serializer>(message: &str, to: S) -> Result<S::Ok, S::Error> {
    excerpt(message).serialize(to)
}

impl Failure {
    /// The words of [`Failure::kind`].
    pub const KINDS: [&'static str; 11] = [
        "compile",
        "compile_timeout",
        "load",
        "launch",
        "crash",
        "timeout",
        "stopped",
        "unknown",
        "wrong",
        "unwritten",
        "out_of_bounds",
    ];

    /// Whether it says something of the candidate: not that a run was stopped, or that others took the cores.
    pub fn is_its_own(&self) -> bool {
        !matches!(self, Failure::Stopped | Failure::Unknown { .. })
    }

    /// What is shown of it where a sentence has room for a line: of what a compiler said, what a record has.
    pub(crate) fn in_a_line(&self) -> String {
        match self {
            Failure::Compile { message } => Failure::Compile { message: excerpt(message) }.to_string(),
            other => other.to_string(),
        }
    }

    /// One word for the kind, as in the records.
    pub fn kind(&self) -> &'static str {
        match self {
            Failure::Compile { .. } => "compile",
            Failure::CompileTimeout { .. } => "compile_timeout",
            Failure::Load { .. } => "load",
            Failure::Launch { .. } => "launch",
            Failure::Crash { .. } => "crash",
            Failure::Timeout { .. } => "timeout",
            Failure::Stopped => "stopped",
            Failure::Unknown { .. } => "unknown",
            Failure::Wrong { .. } => "wrong",
            Failure::Unwritten { .. } => "unwritten",
            Failure::OutOfBounds { .. } => "out_of_bounds",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Compile { message } if message.contains('\n') => write!(f, "does not compile:\n{message}"),
            Failure::Compile { message } => write!(f, "does not compile: {message}"),
            Failure::CompileTimeout { seconds } => write!(f, "was still compiling after {seconds} s"),
            Failure::Load { message } => write!(f, "cannot be loaded: {message}"),
            Failure::Launch { message } => write!(f, "does not run: {message}"),
            Failure::Crash { signal, message } if message.is_empty() => write!(f, "crashed: {signal}"),
            Failure::Crash { signal, message } => write!(f, "crashed: {signal}: {message}"),
            Failure::Timeout { seconds } => write!(f, "was still running after {seconds} s"),
            Failure::Stopped => write!(f, "was not measured: the run was stopped before"),
            Failure::Unknown { clean, asked } => {
                write!(
                    f,
                    "has no figure: others took its cores in all but {clean} of {asked} samples; measure again when less else runs"
                )
            }
            Failure::Wrong { index, found, expected, bound, elements } => {
                write!(
                    f,
                    "is wrong in {elements} elements, first at {index:?}: found {found}, expected {expected} ± {bound:e}"
                )
            }
            Failure::Unwritten { elements } => write!(f, "leaves {elements} elements of the output unwritten"),
            Failure::OutOfBounds { param, byte, bytes } => {
                write!(f, "wrote outside of parameter {param}: byte {byte} of a tensor of {bytes} bytes")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(message: &str) -> String {
        let failure = Failure::Compile { message: message.to_owned() };
        assert!(failure.to_string().ends_with(message), "{failure}");
        let Failure::Compile { message } = serde_json::from_value(serde_json::to_value(&failure).unwrap()).unwrap()
        else {
            panic!("it is another")
        };
        message
    }

    #[test]
    fn what_a_compiler_says_is_shown_whole_and_a_record_says_what_it_leaves_out() {
        let said =
            "/tmp/dietcode-x/0.c: In function 'f':\n/tmp/dietcode-x/0.c:3:9: error: 'y' undeclared\n    3 | y = 1;";
        assert_eq!(recorded(said), "error: 'y' undeclared (of 3 lines)");
        let failure = Failure::Compile { message: said.to_owned() };
        assert_eq!(failure.in_a_line(), "does not compile: error: 'y' undeclared (of 3 lines)");
        assert_eq!(recorded("killed"), "killed");
        assert_eq!(recorded(""), "");
        assert_eq!(recorded(&"x".repeat(600)), "x".repeat(500) + "…");
        let again = recorded(said);
        assert_eq!(recorded(&again), again, "a record that is written anew stays as it is");
    }
}
