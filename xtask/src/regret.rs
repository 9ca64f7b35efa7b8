//! `cargo xtask regret`: how much longer what is dispatched takes than the best micro-kernel that could be, over a config's range.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

use crate::command::{at_least, built, copied, output, read, succeed};
use crate::peers::provision::openblas;
use crate::steps::root;

/// What is measured unless configs are named: those in `xtask/regret`, with the most operations of a call.
const CASES: [(&str, &str); 2] = [("dense", "2e10"), ("product", "2e9")];

/// The largest share of shapes of which nothing may be known.
const UNKNOWN: f64 = 0.05;

/// What is asked for.
#[derive(clap::Parser)]
pub(crate) struct Options {
    /// Which are tuned first where they have no tuned file that holds here. Default: BERT's dense layer at all lengths up to 200, and
    /// a product of matrices of up to 4096 rows and columns, which are tuned for half an hour together.
    #[arg(value_name = "CONFIG")]
    configs: Vec<PathBuf>,
    /// Where figures and the picture are written, and the tuned files of the default's configs.
    #[arg(long, value_name = "DIR", default_value_os_t = root().join("target/regret"))]
    folder: PathBuf,
    /// Measured are all shapes of the config's range, or so many of them.
    #[arg(long, value_name = "N", default_value = "200")]
    shapes: String,
    /// By which these are drawn.
    #[arg(long, value_name = "N", default_value = "0")]
    seed: String,
    /// Leave out shapes at which a call has more arithmetic operations. Default: 2e10; of the product of matrices 2e9.
    #[arg(long, value_name = "N")]
    most_operations: Option<String>,
    /// It fails where the mean is above.
    #[arg(long, value_name = "RATIO", default_value = "1.05", value_parser = at_least(1.0))]
    mean: f64,
    /// It fails where the worst is above.
    #[arg(long, value_name = "RATIO", default_value = "1.15", value_parser = at_least(1.0))]
    worst: f64,
    /// It fails where the faster of OpenBLAS and matrixmultiply is faster than that.
    #[arg(long, value_name = "RATIO", default_value = "0.9", value_parser = at_least(0.0))]
    library: f64,
}

/// What the command wrote.
#[derive(Deserialize)]
struct Measured {
    mean: f64,
    worst: f64,
    least_of_library: Option<f64>,
    /// Those that were called at some shape.
    libraries: Vec<String>,
    shapes: Vec<AtShape>,
    /// Shapes without a figure.
    unknown: Vec<Value>,
    left_out: usize,
}

/// A shape at a number of threads.
#[derive(Deserialize)]
struct AtShape {
    library: Option<Value>,
}

/// Whether all bounds are kept; an error is a sentence.
pub(crate) fn run(options: &Options) -> Result<bool, String> {
    let blas =
        openblas().map_err(|why| format!("OpenBLAS, which the bound of libraries is of, cannot be had: {why}"))?;
    let program = built()?;
    let of = |config: PathBuf, most: &str| (config, options.most_operations.clone().unwrap_or_else(|| most.to_owned()));
    let configs: Vec<(PathBuf, String)> = match &*options.configs {
        [] => {
            let copy = |(name, most): &(&str, &str)| {
                let config = root().join(format!("xtask/regret/{name}.json"));
                Ok(of(copied(&config, &options.folder)?, most))
            };
            CASES.iter().map(copy).collect::<Result<_, String>>()?
        }
        named => named.iter().map(|config| of(config.clone(), "2e10")).collect(),
    };
    std::fs::create_dir_all(&options.folder).map_err(|e| format!("{}: {e}", options.folder.display()))?;
    let mut all_hold = true;
    for (config, most) in configs {
        if !holds(&program, &config)? {
            succeed(Command::new(&program).arg("tune").arg(&config).arg("--blas").arg(&blas))?;
        }
        let name = config.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let [json, svg] = ["regret.json", "svg"].map(|extension| options.folder.join(format!("{name}.{extension}")));
        let mut bench = Command::new(&program);
        bench.arg("bench").arg(&config).args(["--regret", &options.shapes, "--seed", &options.seed]);
        bench.args(["--most-operations", &most]).arg("--blas").arg(&blas);
        succeed(bench.arg("--json").arg(&json).arg("--plot").arg(&svg))?;
        println!("{} and {}", json.display(), svg.display());
        let (told, failures) = verdict(&read(&json)?, options);
        told.iter().for_each(|line| println!("{name}: {line}"));
        failures.iter().for_each(|line| println!("{name} FAILS: {line}"));
        all_hold &= failures.is_empty();
    }
    Ok(all_hold)
}

/// Whether a config's tuned file is of this machine and of the config.
fn holds(program: &Path, config: &Path) -> Result<bool, String> {
    let mut explain = Command::new(program);
    let explained = output(explain.arg("explain").arg(config).args(["--target", "cpu", "--json", "-"]))?;
    let explained: Value = serde_json::from_slice(&explained.stdout)
        .map_err(|_| format!("{}: {}", config.display(), crate::command::last_line(&explained.stderr)))?;
    Ok(explained["miss"].is_null() && explained["gap"].is_null())
}

/// What was found, in lines, and what of it does not hold. What is unknown does not hold either.
fn verdict(measured: &Measured, options: &Options) -> (Vec<String>, Vec<String>) {
    let Measured { mean, worst, least_of_library, libraries, shapes, unknown, left_out } = measured;
    let (mut told, mut failures) = (Vec::new(), Vec::new());
    let mut is_kept = |holds: bool, line: String| if holds { &mut told } else { &mut failures }.push(line);
    let all = shapes.len() + unknown.len();
    let few = |count: usize| count as f64 <= UNKNOWN * all as f64;
    is_kept(few(unknown.len()), format!("{} of {all} figures are unknown, expected at most 5%", unknown.len()));
    if *left_out > 0 {
        is_kept(true, format!("{left_out} shapes of more operations were left out"));
    }
    is_kept(*mean <= options.mean, format!("{mean:.3} in the mean, expected at most {}", options.mean));
    is_kept(*worst <= options.worst, format!("{worst:.3} at worst, expected at most {}", options.worst));
    if libraries.is_empty() {
        is_kept(true, "no library has this nest".to_owned());
        return (told, failures);
    }
    let named = libraries.join(", ");
    let is_there = libraries.iter().any(|library| library.starts_with("blas:OpenBLAS"));
    is_kept(is_there, format!("measured beside {named}, expected OpenBLAS among them"));
    let without = shapes.iter().filter(|shape| shape.library.is_none()).count();
    is_kept(few(without), format!("no library has a figure at {without} of {all}, expected at most 5%"));
    let least = least_of_library.unwrap_or(0.0);
    let expected = options.library;
    is_kept(least >= expected, format!("{least:.3} of the faster library at the least, expected at least {expected}"));
    (told, failures)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use super::*;

    fn options(args: &[&str]) -> Result<Options, clap::Error> {
        Options::try_parse_from([&["regret"], args].concat())
    }

    #[test]
    fn options_have_defaults_and_wrong_ones_are_told() {
        let given = options(&["c.json", "--worst", "1.3", "--shapes", "7"]).unwrap();
        assert_eq!((&*given.configs, given.shapes.as_str()), (&[PathBuf::from("c.json")][..], "7"));
        assert_eq!((given.mean, given.worst, given.most_operations), (1.05, 1.3, None));
        let error = options(&["--worst", "0.9"]).err().unwrap().to_string();
        assert!(error.contains("'0.9'") && error.contains("expected a number of at least 1"), "{error}");
    }

    #[test]
    fn cases_are_configs_with_a_range() {
        for (name, _) in CASES {
            let config: Value = read(&root().join(format!("xtask/regret/{name}.json"))).unwrap();
            let range = config["range"].as_object().unwrap();
            assert!(range.values().all(|ends| ends[0] == 1), "{range:?}");
        }
    }

    /// Forty figures as they should be, with some changes.
    fn failures(change: impl Fn(&mut Value)) -> Vec<String> {
        let at_shape = json!({ "library": { "name": "blas:OpenBLAS 0.3", "ratio": 1.0 } });
        let mut measured = json!({
            "mean": 1.01, "worst": 1.1, "least_of_library": 0.95, "libraries": ["blas:OpenBLAS 0.3", "matrixmultiply"],
            "shapes": vec![at_shape; 38], "unknown": [{}, {}], "left_out": 3,
        });
        change(&mut measured);
        verdict(&serde_json::from_value(measured).unwrap(), &options(&[]).unwrap()).1
    }

    #[test]
    fn what_is_above_below_or_unknown_does_not_hold() {
        assert_eq!(failures(|_| ()), Vec::<String>::new());
        let one = |change: &dyn Fn(&mut Value), expected: &str| {
            let failures = failures(change);
            assert!(matches!(&*failures, [only] if only.contains(expected)), "{expected}: {failures:?}");
        };
        one(&|m| m["mean"] = json!(1.06), "1.060 in the mean");
        one(&|m| m["worst"] = json!(1.16), "1.160 at worst");
        one(&|m| m["unknown"] = json!([{}, {}, {}]), "3 of 41 figures are unknown");
        one(&|m| m["least_of_library"] = json!(0.89), "0.890 of the faster library");
        one(&|m| m["libraries"] = json!(["matrixmultiply"]), "expected OpenBLAS");
        one(&|m| (0..3).for_each(|at| m["shapes"][at] = json!({})), "no library has a figure at 3 of 40");
        let none = failures(|m| {
            m["libraries"] = json!([]);
            m["shapes"] = json!(vec![json!({}); 38]);
            m["least_of_library"] = Value::Null;
        });
        assert_eq!(none, Vec::<String>::new(), "a nest that no library has");
    }
}
