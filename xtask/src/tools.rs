//! What the steps need on the machine. Crates are cargo's business; of the rest only the CUDA compiler is ever fetched.

use std::process::{Command, Stdio};

/// One sentence for each tool that is not there: what is missing, and how to get it.
pub(crate) fn missing() -> Vec<String> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let tools: [(&str, &[&str], &str); 4] = [
        ("cargo", &["fmt", "--version"], "rustfmt is missing: `rustup component add rustfmt`"),
        ("cargo", &["clippy", "--version"], "clippy is missing: `rustup component add clippy`"),
        (&compiler, &["--version"], "a C compiler is missing: install gcc or clang, or name one in CC"),
        ("clang", &["--version"], "clang is missing, which compiles some of what gcc does: install clang 14 or newer"),
    ];
    tools
        .into_iter()
        .filter(|(program, args, _)| !answers(program, args))
        .map(|(_, _, sentence)| sentence.to_owned())
        .collect()
}

fn answers(program: &str, args: &[&str]) -> bool {
    // CC may carry arguments, as in `ccache gcc`.
    let mut words = program.split_whitespace();
    let Some(program) = words.next() else { return false };
    Command::new(program)
        .args(words)
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
