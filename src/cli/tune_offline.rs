//! `dietcode tune-offline`

use std::path::PathBuf;
use std::time::Duration;

use dietcode::core::machine::{CpuTarget, Toolchain};
use dietcode::core::measure::{Builder, LoadedKernel};
use dietcode::core::runtime::tunable::tuning::Settings;
use dietcode::core::runtime::tunable::{Kept, KeptResult, read_results};
use dietcode::{Error, Result};

use super::files::each_once;
use super::setup::Setup;
use super::{counted, print, tell};

/// Tunes the calls that programs have listed as not tuned, among the micro-kernels that configs stand for.
///
/// A program lists them in its file of results if DIETCODE_TUNABLE_RECORD is 1 and tuning is off; what is found here is added there, and used
/// from the program's next start on. Those that were made most often come first. The nest as plain Rust is in the program only, and is
/// not tried. A key whose program has other candidates than a build of the config, such as a library's routine, stays as it is. One that
/// cannot be tried is told with the reason, the others are tuned, and the exit status is 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dietcode tune-offline results.jsonl configs/bert_dense.json
  dietcode tune-offline results.jsonl configs/bert_dense.json --limit 100")]
pub(crate) struct Arguments {
    /// The file of results.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The configs of the kernels.
    #[arg(value_name = "CONFIG", required = true)]
    configs: Vec<PathBuf>,
    /// How long each candidate is timed, about, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    limit: u64,
}

/// A compiler of one micro-kernel is ended after that.
const COMPILE_LIMIT: Duration = Duration::from_secs(120);

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { file, configs, limit } = arguments;
    each_once(configs, "config")?;
    let setups = configs.iter().map(|config| Setup::read(config)).collect::<Result<Vec<Setup>>>()?;
    let (kept, _) = read_results(file)?;
    if kept.is_empty() {
        let why = "there is no result of this format in it, and no key that is listed as not tuned";
        return Err(Error::unavailable(format!("{}: {why}", file.display())));
    }
    let calls = |kept: &Kept| if let KeptResult::Untuned(calls) = kept.result { Some(calls) } else { None };
    let (mut untuned, foreign): (Vec<&Kept>, Vec<&Kept>) =
        kept.iter().filter(|kept| calls(kept).is_some()).partition(|kept| kept.foreign.is_none());
    untuned.sort_by_key(|kept| std::cmp::Reverse(calls(kept)));
    if !foreign.is_empty() {
        let why = "were listed on another CPU or by another version, and stay as they are";
        tell(&format!("{}: {} {why}", file.display(), counted(foreign.len(), "key")));
    }
    if untuned.is_empty() && foreign.is_empty() {
        return print(&format!("{}: no key is listed as not tuned\n", file.display()));
    }
    Settings::new().file(file).limit(Duration::from_millis(*limit)).apply()?;
    let (mut tuned, mut failed) = (0, 0);
    let mut loaded = setups.iter().map(|_| None).collect::<Vec<Option<Result<LoadedKernel>>>>();
    for kept in &untuned {
        let Kept { op, key, .. } = kept;
        let nest = |setup: &Setup| format!("nest={:016x} ", setup.def.source_hash());
        let Some(at) = setups.iter().position(|setup| setup.def.name == *op && key.starts_with(&nest(setup))) else {
            tell(&format!("{op} at {key}: left as it is: no config that was given is of this nest"));
            continue;
        };
        let kernel = loaded[at].get_or_insert_with(|| load(&setups[at]));
        match kernel.as_ref().map_err(ToString::to_string).and_then(|kernel| tune(kernel, kept)) {
            Ok(Some(chosen)) => {
                tuned += 1;
                print(&format!("{op} at {key}: `{chosen}`\n"))?;
            }
            Ok(None) => {
                let why = "its program has other candidates than a build of the config";
                tell(&format!("{op} at {key}: left as it is: {why}"));
            }
            Err(why) => {
                failed += 1;
                tell(&format!("{}: {op} at {key}: cannot be tried: {why}", file.display()));
            }
        }
    }
    let keys = counted(untuned.len() + foreign.len(), "key");
    print(&format!("{}: {tuned} of {keys} tuned, {failed} failed\n", file.display()))?;
    match failed {
        0 => Ok(()),
        failed => Err(Error::failed(format!("{}: {} cannot be tried", file.display(), counted(failed, "key")))),
    }
}

/// What a build makes of a config, in this process.
fn load(setup: &Setup) -> Result<LoadedKernel> {
    let toolchain = Toolchain::find(&setup.config.cpu.march)?;
    let target = CpuTarget::of(&toolchain);
    let winners = setup.winners(&target, "the default micro-kernels are tried", tell);
    let units = winners.units(&setup.def, &target.march)?;
    LoadedKernel::load(&Builder::new(toolchain, COMPILE_LIMIT)?, &setup.def, &units, &winners.decision)
}

/// Tunes one key: what is chosen, or none where its candidates are not those of the config.
///
/// # Errors
/// Why the key cannot be tried.
fn tune(kernel: &LoadedKernel, kept: &Kept) -> Result<Option<String>, String> {
    let mut op = kernel.tunable();
    kept.validators.iter().for_each(|(name, value)| op.validator(name, value));
    if !kept.is_among(op.candidates()) {
        return Ok(None);
    }
    let report = kernel.entered(|| op.tune_key(&kept.key)).map_err(|error| error.to_string())?;
    report.untried.map_or(Ok(Some(report.chosen)), Err)
}
