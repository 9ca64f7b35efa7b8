//! `cargo xtask regret`: how much longer what is dispatched takes than the best micro-kernel that could be, over a config's range.

use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

use crate::command::{at_least, built, read, succeed};
use crate::steps::root;

/// What is asked for.
#[derive(clap::Parser)]
pub(crate) struct Options {
    /// One with a tuned file that holds here.
    #[arg(default_value_os_t = root().join("configs/bert_dense.json"))]
    config: PathBuf,
    /// Where figures and the picture are written.
    #[arg(long, value_name = "DIR", default_value_os_t = root().join("target/regret"))]
    folder: PathBuf,
    /// Measured are all shapes of the config's range, or so many of them.
    #[arg(long, value_name = "N", default_value = "200")]
    shapes: String,
    /// By which these are drawn.
    #[arg(long, value_name = "N", default_value = "0")]
    seed: String,
    /// It fails where the mean is above.
    #[arg(long, value_name = "RATIO", default_value = "1.05", value_parser = at_least(1.0))]
    mean: f64,
    /// It fails where the worst is above.
    #[arg(long, value_name = "RATIO", default_value = "1.15", value_parser = at_least(1.0))]
    worst: f64,
    /// It fails where the faster of the libraries is faster than that.
    #[arg(long, value_name = "RATIO", default_value = "0.9", value_parser = at_least(0.0))]
    library: f64,
}

/// What the command wrote.
#[derive(Deserialize)]
struct Measured {
    mean: f64,
    worst: f64,
    least_of_library: Option<f64>,
}

/// Whether all bounds are kept; an error is a sentence.
pub(crate) fn run(options: &Options) -> Result<bool, String> {
    std::fs::create_dir_all(&options.folder).map_err(|e| format!("{}: {e}", options.folder.display()))?;
    let name = options.config.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let [json, svg] = ["json", "svg"].map(|extension| options.folder.join(format!("{name}.{extension}")));
    let mut bench = Command::new(built()?);
    bench.arg("bench").arg(&options.config).args(["--regret", &options.shapes, "--seed", &options.seed]);
    succeed(bench.arg("--json").arg(&json).arg("--plot").arg(&svg))?;
    let Measured { mean, worst, least_of_library } = read(&json)?;
    println!("{} and {}", json.display(), svg.display());
    let is_kept = |what: &str, found: f64, bound: f64| {
        let kept = found <= bound;
        println!("{what}: {found:.3}, {} {bound}", if kept { "at most" } else { "which is above" });
        kept
    };
    let (mean, worst) = (is_kept("mean", mean, options.mean), is_kept("worst", worst, options.worst));
    // No library has every nest.
    let library = least_of_library.is_none_or(|found| {
        let kept = found >= options.library;
        println!(
            "of the faster library: {found:.3}, {} {}",
            if kept { "at least" } else { "which is below" },
            options.library
        );
        kept
    });
    Ok(mean && worst && library)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser;

    use super::*;

    #[test]
    fn options_have_defaults_and_wrong_ones_are_told() {
        let options = |args: &[&str]| Options::try_parse_from([&["regret"], args].concat());
        let given = options(&["c.json", "--worst", "1.3", "--shapes", "7"]).unwrap();
        assert_eq!((given.config.as_path(), given.shapes.as_str()), (Path::new("c.json"), "7"));
        assert_eq!((given.mean, given.worst), (1.05, 1.3));
        let error = options(&["--worst", "0.9"]).err().unwrap().to_string();
        assert!(error.contains("'0.9'") && error.contains("expected a number of at least 1"), "{error}");
    }
}
