//! `cargo xtask regret`: how much longer what is dispatched takes than the best micro-kernel that could be, over a config's range.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::command::{built, read, succeed};

const USAGE: &str = "\
usage: cargo xtask regret [--shapes N] [--seed N] [--mean RATIO] [--worst RATIO] [--folder DIR] [CONFIG]

  CONFIG     configs/bert_dense.json, with a tuned file that holds here
  --shapes   measured are all shapes of the config's range, or so many of them: 200
  --seed     by which these are drawn: 0
  --mean     it fails where the mean is above: 1.05
  --worst    it fails where the worst is above: 1.15
  --folder   where figures and the picture are written: target/regret
";

/// What is asked for.
struct Options {
    config: PathBuf,
    folder: PathBuf,
    shapes: String,
    seed: String,
    mean: f64,
    worst: f64,
}

/// What the command wrote.
#[derive(Deserialize)]
struct Measured {
    mean: f64,
    worst: f64,
}

/// Whether both bounds are kept; an error is a sentence.
pub(crate) fn run(args: &[&str]) -> Result<bool, String> {
    let options = options(args)?;
    std::fs::create_dir_all(&options.folder).map_err(|e| format!("{}: {e}", options.folder.display()))?;
    let name = options.config.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let [json, svg] = ["json", "svg"].map(|extension| options.folder.join(format!("{name}.{extension}")));
    let mut bench = Command::new(built()?);
    bench.arg("bench").arg(&options.config).args(["--regret", &options.shapes, "--seed", &options.seed]);
    succeed(bench.arg("--json").arg(&json).arg("--plot").arg(&svg))?;
    let Measured { mean, worst } = read(&json)?;
    println!("{} and {}", json.display(), svg.display());
    let is_kept = |what: &str, found: f64, bound: f64| {
        let kept = found <= bound;
        println!("{what}: {found:.3}, {} {bound}", if kept { "at most" } else { "which is above" });
        kept
    };
    let (mean, worst) = (is_kept("mean", mean, options.mean), is_kept("worst", worst, options.worst));
    Ok(mean && worst)
}

fn options(args: &[&str]) -> Result<Options, String> {
    let root = crate::steps::root();
    let mut options = Options {
        config: root.join("configs/bert_dense.json"),
        folder: root.join("target/regret"),
        shapes: "200".into(),
        seed: "0".into(),
        mean: 1.05,
        worst: 1.15,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value =
            || args.next().map(|value| (*value).to_owned()).ok_or(format!("{arg}: a value is missing\n\n{USAGE}"));
        let ratio = |text: String| {
            let ratio = text.parse().ok().filter(|ratio: &f64| ratio.is_finite() && *ratio >= 1.0);
            ratio.ok_or(format!("{arg}: found `{text}`, expected a ratio of at least 1\n\n{USAGE}"))
        };
        match *arg {
            "--shapes" => options.shapes = value()?,
            "--seed" => options.seed = value()?,
            "--folder" => options.folder = PathBuf::from(value()?),
            "--mean" => options.mean = ratio(value()?)?,
            "--worst" => options.worst = ratio(value()?)?,
            option if option.starts_with('-') => return Err(format!("there is no option `{option}`\n\n{USAGE}")),
            config => options.config = Path::new(config).to_owned(),
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_defaults_and_wrong_ones_are_told() {
        let given = options(&["c.json", "--worst", "1.3", "--shapes", "7"]).unwrap();
        assert_eq!((given.config.as_path(), given.shapes.as_str()), (Path::new("c.json"), "7"));
        assert_eq!((given.mean, given.worst), (1.05, 1.3));
        for (args, why) in [
            (&["--worst", "0.9"][..], "found `0.9`, expected a ratio of at least 1"),
            (&["--mean"], "--mean: a value is missing"),
            (&["--most", "1"], "there is no option `--most`"),
        ] {
            let error = options(args).err().unwrap();
            assert!(error.starts_with(why) || error.contains(why), "{error}");
        }
    }
}
