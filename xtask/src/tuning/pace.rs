//! `cargo xtask tuning --pace`: how many trials a search makes in a second, with its defaults, and by how much it exceeds its budget; and
//! a failure where that is not as it must be.

use super::figures::median;
use super::runs::Runs;
use crate::steps::root;

/// A trial costs what it measures: configs, and trials a second at the least, on two cores.
pub(super) const LEAST: [(&str, f64); 4] = [
    ("configs/bert_dense.json", 8.0),
    ("xtask/src/tuning/conv2d.json", 4.0),
    ("configs/bert_q_k.json", 4.0),
    ("configs/bert_p_v.json", 4.0),
];

/// Different register tiles among the trials of a second, at the least.
const LEAST_TILES: f64 = 2.0;

/// Runs of each config, which begin at other random choices; their median counts.
const RUNS: u64 = 3;

/// Budgets, in seconds, of a shorter and a still shorter run.
const SHORT: [&str; 2] = ["20", "5"];

/// A run ends within so much of its budget, or within [`LATE`].
const OVER: f64 = 1.2;

/// Seconds.
const LATE: f64 = 3.0;

/// Measures all of them; an error says what is too slow.
pub(super) fn measure(folder: &std::path::Path) -> Result<(), String> {
    let mut slow = Vec::new();
    for (config, least) in LEAST {
        let name = config.rsplit('/').next().unwrap_or(config).trim_end_matches(".json");
        let folder = folder.join(format!("pace-{name}"));
        let mut paces = Vec::new();
        let mut late = |runs: &Runs, run: &str, arguments: &[&str]| {
            let [took, budget] = runs.search(run, arguments, ["whole_seconds", "budget"])?;
            let line = format!("{name}: a search of {budget:.0} s ended after {took:.1} s");
            println!("{line}");
            slow.extend((took > (OVER * budget).max(budget + LATE)).then_some(line));
            Ok::<(), String>(())
        };
        for seed in 0..RUNS {
            let runs = Runs::new(root().join(config), folder.clone(), &seed.to_string())?;
            let run = format!("seed-{seed}");
            paces.push(runs.search(&run, &[], ["trials_per_second", "register_tiles_per_second"])?);
            late(&runs, &run, &[])?;
            if seed == 0 {
                SHORT.iter().try_for_each(|s| late(&runs, &format!("{s}-seconds"), &["--seconds", s]))?;
            }
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
