//! `cargo xtask tuning --sweep`: how far what a micro-kernel's points let expect on small grids is from what it does there; and a
//! failure where that is more than it may be.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use super::pace::LEAST;
use crate::command::{built, read, succeed};
use crate::steps::root;

/// At half of the grids predictions are no further off.
const MOST: f64 = 0.10;

/// What the command writes of a micro-kernel on a number of threads.
#[derive(Deserialize)]
struct Sweep {
    micro_kernel: String,
    setting: usize,
    error: f64,
}

/// Sweeps over the micro-kernels of the configs whose pace is measured; an error says which are predicted worse than they must be.
pub(super) fn measure(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let program = built()?;
    let mut far = Vec::new();
    for (config, _) in LEAST {
        let name = Path::new(config).file_stem().unwrap_or_default().to_string_lossy();
        let [json, svg] = ["json", "svg"].map(|extension| folder.join(format!("sweep-{name}.{extension}")));
        let mut bench = Command::new(&program);
        bench.arg("bench").arg(root().join(config)).arg("--sweep-grid");
        succeed(bench.arg("--json").arg(&json).arg("--plot").arg(&svg))?;
        let sweeps: Vec<Sweep> = read(&json)?;
        for Sweep { micro_kernel, setting, error } in sweeps {
            let percent = 100.0 * error;
            let line = format!("{name}, {micro_kernel}, threads {setting}: off by {percent:.1}% (at most 10%)");
            println!("{line}");
            far.extend((error > MOST).then_some(line));
        }
    }
    if far.is_empty() { Ok(()) } else { Err(format!("predicted too far off:\n{}", far.join("\n"))) }
}
