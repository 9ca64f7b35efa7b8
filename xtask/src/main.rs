//! The project's own chores. `cargo xtask test` runs everything that the project checks, on any machine with Rust and
//! a C compiler.
mod chromium;
mod command;
mod explore;
mod kept_objects;
mod mutants;
mod onnxruntime;
mod peers;
mod provision;
mod regret;
mod runner;
mod small;
mod steps;
#[cfg(test)]
mod targets;
mod toolkit;
mod tools;
mod tuning;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

/// The project's own chores. Exit status: 0 all held, 1 a step failed, 2 bad usage, 3 a tool that the steps need is missing.
#[derive(clap::Parser)]
#[command(bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(clap::Subcommand)]
enum Chore {
    /// Runs every check of the project, or only the named ones, and stops at the first that fails.
    Test(TestArguments),
    /// Plants the mistakes of tests/mutants one by one, or those that are named, and expects that tests find each.
    Mutants {
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// Prints the path of the CUDA compiler that the checks use, which is installed into target/ where there is none.
    Toolkit,
    /// Prints the path of the browser in which tests open pages, which is installed into target/ where none is named.
    Chromium,
    /// Writes docs/walk_through.md, a nest on its way from source to assembly.
    WalkThrough,
    /// Measures what the search of schedules is worth on this machine, and what it costs; takes an hour, and goes on where it was ended.
    Tuning(tuning::Options),
    /// Measures what is dispatched at shapes of a config's range beside all micro-kernels of its tuned file; fails where it takes longer than the
    /// best by more than bounds allow.
    Regret(regret::Options),
    /// Measures the shipped kernels at random small shapes, with nothing tuned; fails where one is slower than its nest as the C compiler has it by
    /// more than 10% and 100 ns.
    Small(small::Options),
    /// Checks and times every candidate of a kernel over lists of shapes, those of BERT, ResNet-50 and Llama by their names; fails where one is
    /// wrong.
    #[command(after_help = explore::USAGE)]
    Explore {
        #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Measures libraries from the package registries, and the project's kernels beside them.
    Peers(peers::Options),
}

#[derive(clap::Args)]
struct TestArguments {
    /// Those of --list; all of them.
    #[arg(value_name = "STEP")]
    steps: Vec<String>,
    /// Everything at full size: all draws, families and kills, of which tests try a part otherwise, and the steps that take long: mutants.
    #[arg(long)]
    all: bool,
    /// Run the other steps and test programs too when one fails.
    #[arg(long)]
    keep_going: bool,
    /// Print the steps and end.
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    if let Some(status) = kept_objects::compile() {
        return status;
    }
    let held = match Arguments::parse().chore {
        Chore::Test(arguments) => return test(&arguments),
        Chore::Toolkit => return provide(toolkit::ensure),
        Chore::Chromium => return provide(chromium::ensure),
        Chore::Mutants { names } => mutants::run(&names),
        Chore::WalkThrough => walk_through(),
        Chore::Tuning(options) => tuning::run(&options).map(|()| true),
        Chore::Regret(options) => regret::run(&options),
        Chore::Small(options) => small::run(&options),
        Chore::Explore { arguments } => explore::run(&arguments).map(|()| true),
        Chore::Peers(options) => peers::run(&options),
    };
    match held {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(sentence) => stopped(1, &sentence),
    }
}

/// The test that compares the document writes it with `DIETCODE_BLESS=1`.
fn walk_through() -> Result<bool, String> {
    let mut cargo = std::process::Command::new("cargo");
    cargo.args(["test", "--package", "dietcode-core", "--features", "tuner", "--test", "compiler", "walk_through::"]);
    let status = cargo.env("DIETCODE_BLESS", "1").current_dir(steps::root()).status();
    status.map(|status| status.success()).map_err(|e| format!("cargo cannot be started: {e}"))
}

fn test(TestArguments { steps: wanted, all, keep_going, list }: &TestArguments) -> ExitCode {
    let mut steps = match steps::all(*all) {
        Ok(steps) => steps,
        Err(sentence) => return stopped(1, &sentence),
    };
    // A long step that is named is meant.
    let is_named = |step: &steps::Step| wanted.iter().any(|name| name == step.name);
    steps.extend(steps::long().into_iter().filter(|step| *all || is_named(step)));
    if *list {
        for step in &steps {
            println!("{:10} {}", step.name, step.about);
        }
        return ExitCode::SUCCESS;
    }
    if let Some(unknown) = wanted.iter().find(|name| !steps.iter().any(|step| step.name == **name)) {
        return stopped(2, &format!("there is no step `{unknown}`; `cargo xtask test --list` prints them"));
    }
    steps.retain(|step| wanted.is_empty() || is_named(step));

    let missing = tools::missing();
    if !missing.is_empty() {
        return stopped(3, &missing.join("\n"));
    }
    let provided = match provided(&steps) {
        Ok(provided) => provided,
        Err(sentence) => return stopped(3, &sentence),
    };
    if runner::run(&steps, *keep_going, &provided) { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// The path of something, which is fetched if it is not there; or a sentence.
type Ensure = fn() -> Result<PathBuf, String>;

/// What steps are given beside the machine's own tools, by the variables in which they look for it. Whoever fetches something waits for a
/// registry and unpacks it on one core, so all do at once.
fn provided(steps: &[steps::Step]) -> Result<Vec<(&'static str, PathBuf)>, String> {
    let any = |needs: fn(&steps::Step) -> bool| steps.iter().any(needs);
    let all: [(bool, &str, Ensure); 4] = [
        (any(steps::Step::builds), "NVCC", toolkit::ensure),
        (any(steps::Step::loads_onnx_runtime), "ORT_DYLIB_PATH", onnxruntime::ensure),
        (any(steps::Step::tests), "DIETCODE_PYTHON", peers::provision::python),
        (any(steps::Step::tests), "DIETCODE_CHROMIUM", chromium::ensure),
    ];
    let compilers = if any(steps::Step::builds) { kept_objects::path()? } else { None };
    let provided = compilers.map(|path| Ok(("PATH", path.into()))).into_iter();
    std::thread::scope(|scope| {
        let needed = all.into_iter().filter(|(is_needed, ..)| *is_needed);
        let fetching: Vec<_> = needed.map(|(_, variable, ensure)| (variable, scope.spawn(ensure))).collect();
        let fetched = fetching.into_iter().map(|(variable, fetched)| (variable, fetched.join()));
        let fetched = fetched.map(|(variable, path)| Ok((variable, path.expect("errors are sentences")?)));
        provided.chain(fetched).collect()
    })
}

fn provide(ensure: Ensure) -> ExitCode {
    match ensure() {
        Ok(program) => {
            println!("{}", program.display());
            ExitCode::SUCCESS
        }
        Err(sentence) => stopped(3, &sentence),
    }
}

fn stopped(status: u8, sentence: &str) -> ExitCode {
    eprintln!("{sentence}");
    ExitCode::from(status)
}
