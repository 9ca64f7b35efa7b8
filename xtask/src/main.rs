//! The project's own chores. `cargo xtask test` runs everything that the project checks, on any machine with Rust and
//! a C compiler.
//!
//! Exit status: 0 all held, 1 a step failed, 2 bad usage, 3 a tool that the steps need is missing.
mod chromium;
mod command;
mod explore;
mod mutants;
mod onnxruntime;
mod peers;
mod provision;
mod regret;
mod runner;
mod steps;
#[cfg(test)]
mod targets;
mod toolkit;
mod tools;
mod tuning;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask test [--all] [--keep-going] [STEP...]
       cargo xtask mutants [NAME...]
       cargo xtask toolkit
       cargo xtask chromium
       cargo xtask walk-through
       cargo xtask tuning [--pace] [--trials N] [--seed N] [--folder DIR] [CONFIG]
       cargo xtask regret [--shapes N] [--mean RATIO] [--worst RATIO] [OPTION...] [CONFIG]
       cargo xtask explore KERNEL [--shapes NAME|FILE]... [--check] [OPTION...]
       cargo xtask peers [FAMILY...] [--below RATIO] [OPTION...]

test     runs every check of the project, or only the named ones, and stops at the first that fails
mutants  plants the mistakes of tests/mutants one by one, or those that are named, and expects that tests find each
toolkit  prints the path of the CUDA compiler that the checks use, which is installed into target/ where there is none
chromium prints the path of the browser in which tests open pages, which is installed into target/ where none is named
walk-through
         writes docs/walk_through.md, a nest on its way from source to assembly
tuning   measures what the search of schedules is worth on this machine, and what it costs; takes an hour, and goes on where it
         was ended; with --pace, how many trials a search makes in a second, and fails where they are too few
regret   measures what is dispatched at shapes of a config's range beside all micro-kernels of its tuned file; fails where it takes longer
         than the best by more than bounds allow
explore  checks and times every candidate of a kernel over lists of shapes, those of BERT, ResNet-50 and Llama by their names; fails where
         one is wrong
peers    measures libraries from the package registries, and the project's kernels beside them; fails where these are slower than
         --below says; `cargo xtask peers --help` lists its options

  --all         everything at full size: all draws, families and kills, of which tests try a part otherwise, and the steps
                that take long: mutants
  --keep-going  run the other steps and test programs too when one fails
  --list        print the steps and end
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["test", rest @ ..] => test(rest),
        ["mutants", rest @ ..] => match mutants::run(rest) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(1),
            Err(sentence) => failed(&sentence),
        },
        ["toolkit"] => provide(toolkit::ensure),
        ["chromium"] => provide(chromium::ensure),
        ["walk-through"] => walk_through(),
        ["walk-through", extra, ..] => bad_usage(&format!("`walk-through` takes no argument, found `{extra}`")),
        [command @ ("toolkit" | "chromium"), extra, ..] => {
            bad_usage(&format!("`{command}` takes no argument, found `{extra}`"))
        }
        ["tuning", rest @ ..] => tuning::run(rest).map_or_else(|sentence| failed(&sentence), |()| ExitCode::SUCCESS),
        ["explore", rest @ ..] => explore::run(rest).map_or_else(|sentence| failed(&sentence), |()| ExitCode::SUCCESS),
        ["regret", rest @ ..] => match regret::run(rest) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(1),
            Err(sentence) => failed(&sentence),
        },
        ["peers", rest @ ..] => match peers::run(rest) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(1),
            Err(sentence) => failed(&sentence),
        },
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        [] => bad_usage("a command is missing"),
        [other, ..] => bad_usage(&format!("there is no command `{other}`")),
    }
}

/// The test that compares the document writes it with `DIETCODE_BLESS=1`.
fn walk_through() -> ExitCode {
    let mut cargo = std::process::Command::new("cargo");
    cargo.args(["test", "--package", "dietcode-core", "--features", "tuner", "--test", "compiler", "walk_through::"]);
    match cargo.env("DIETCODE_BLESS", "1").current_dir(steps::root()).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(e) => failed(&format!("cargo cannot be started: {e}")),
    }
}

fn test(args: &[&str]) -> ExitCode {
    let (flags, wanted): (Vec<&str>, Vec<&str>) = args.iter().partition(|arg| arg.starts_with('-'));
    if let Some(flag) = flags.iter().find(|flag| !["--all", "--keep-going", "--list", "--help", "-h"].contains(*flag)) {
        return bad_usage(&format!("there is no option `{flag}`"));
    }
    if flags.contains(&"--help") || flags.contains(&"-h") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let mut steps = match steps::all(flags.contains(&"--all")) {
        Ok(steps) => steps,
        Err(sentence) => return failed(&sentence),
    };
    // A long step that is named is meant.
    let named = |step: &steps::Step| wanted.contains(&step.name);
    steps.extend(steps::long().into_iter().filter(|step| flags.contains(&"--all") || named(step)));
    if flags.contains(&"--list") {
        for step in &steps {
            println!("{:10} {}", step.name, step.about);
        }
        return ExitCode::SUCCESS;
    }
    if let Some(unknown) = wanted.iter().find(|name| !steps.iter().any(|step| step.name == **name)) {
        return bad_usage(&format!("there is no step `{unknown}`; `cargo xtask test --list` prints them"));
    }
    steps.retain(|step| wanted.is_empty() || wanted.contains(&step.name));

    let missing = tools::missing();
    if !missing.is_empty() {
        return missing_tool(&missing.join("\n"));
    }
    let provided = match provided(&steps) {
        Ok(provided) => provided,
        Err(sentence) => return missing_tool(&sentence),
    };
    if runner::run(&steps, flags.contains(&"--keep-going"), &provided) { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// What steps are given beside the machine's own tools, by the variables in which they look for it.
fn provided(steps: &[steps::Step]) -> Result<Vec<(&'static str, PathBuf)>, String> {
    let (builds, tests) = (steps.iter().any(steps::Step::builds), steps.iter().any(steps::Step::tests));
    let mut provided = Vec::new();
    if builds {
        provided.push(("NVCC", toolkit::ensure()?));
    }
    if steps.iter().any(steps::Step::loads_onnx_runtime) {
        provided.push(("ORT_DYLIB_PATH", onnxruntime::ensure()?));
    }
    if tests {
        provided.push(("DIETCODE_PYTHON", peers::provision::python()?));
        provided.push(("DIETCODE_CHROMIUM", chromium::ensure()?));
    }
    Ok(provided)
}

fn provide(ensure: fn() -> Result<PathBuf, String>) -> ExitCode {
    match ensure() {
        Ok(program) => {
            println!("{}", program.display());
            ExitCode::SUCCESS
        }
        Err(sentence) => missing_tool(&sentence),
    }
}

fn failed(sentence: &str) -> ExitCode {
    eprintln!("{sentence}");
    ExitCode::from(1)
}

fn missing_tool(sentence: &str) -> ExitCode {
    eprintln!("{sentence}");
    ExitCode::from(3)
}

fn bad_usage(what: &str) -> ExitCode {
    eprintln!("{what}\n\n{USAGE}");
    ExitCode::from(2)
}
