//! `cargo xtask tuning --pace`: how many trials a search makes in a second, with its defaults, and a failure where they are fewer than
//! they must be.

use super::figures::median;
use super::runs::Runs;
use crate::steps::root;

/// A trial costs what it measures: configs, and trials a second at the least, on two cores.
const LEAST: [(&str, f64); 4] = [
    ("configs/bert_dense.json", 8.0),
    ("xtask/src/tuning/conv2d.json", 4.0),
    ("configs/bert_q_k.json", 4.0),
    ("configs/bert_p_v.json", 4.0),
];

/// Different register tiles among the trials of a second, at the least.
const LEAST_TILES: f64 = 2.0;

/// Runs of each config, which begin at other random choices; their median counts.
const RUNS: u64 = 3;

/// Measures all of them; an error says what is too slow.
pub(super) fn measure(folder: &std::path::Path) -> Result<(), String> {
    let mut slow = Vec::new();
    for (config, least) in LEAST {
        let name = config.rsplit('/').next().unwrap_or(config).trim_end_matches(".json");
        let folder = folder.join(format!("pace-{name}"));
        let mut paces = Vec::new();
        for seed in 0..RUNS {
            let runs = Runs::new(root().join(config), folder.clone(), &seed.to_string())?;
            paces.push(runs.pace(&format!("seed-{seed}"))?);
        }
        let [trials, tiles] = [0, 1].map(|n| median(paces.iter().map(|pace| pace[n]).collect()).unwrap_or_default());
        let line = format!(
            "{name}: {trials:.1} trials a second (at least {least}), {tiles} register tiles (at least {LEAST_TILES})"
        );
        println!("{line}");
        if trials < least || tiles < LEAST_TILES {
            slow.push(line);
        }
    }
    if slow.is_empty() { Ok(()) } else { Err(format!("too slow:\n{}", slow.join("\n"))) }
}
