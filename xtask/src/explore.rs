//! `cargo xtask explore KERNEL`: every candidate of a kernel, checked and timed over lists of shapes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::command::{built, read, succeed};
use crate::steps::root;

pub(crate) const USAGE: &str = "\
usage: cargo xtask explore KERNEL [--shapes NAME|FILE]... [OPTION...]

  KERNEL    a config, or the name of one in configs/, xtask/explore/ or xtask/peers/, or of its function
  --shapes  a list of shapes, or the name of one in configs/shapes/: bert, resnet50, llama; default: all that have the kernel
  OPTION    of `dietcode explore`: --check checks only, --threads N, --most-operations N, --listed N, --blas PATH, --seed N, --json FILE
";

/// Where configs are found by their names.
const CONFIGS: [&str; 3] = ["configs", "xtask/explore", "xtask/peers"];
const LISTS: &str = "configs/shapes";

/// What is asked for.
#[derive(Debug)]
struct Options {
    config: PathBuf,
    lists: Vec<PathBuf>,
    /// For the command.
    others: Vec<String>,
}

/// Runs it; an error is a sentence, also where a candidate failed.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let Options { config, lists, others } = options(&args)?;
    let mut explore = Command::new(built()?);
    explore.arg("explore").arg(config).args(others);
    for list in lists {
        explore.arg("--shapes").arg(list);
    }
    succeed(&mut explore)
}

fn options(args: &[&str]) -> Result<Options, String> {
    let (kernel, args) = args.split_first().ok_or(format!("a kernel is missing\n\n{USAGE}"))?;
    if kernel.starts_with('-') {
        return Err(format!("found `{kernel}`, expected a kernel\n\n{USAGE}"));
    }
    let config = config(kernel)?;
    let (mut lists, mut others) = (Vec::new(), Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match *arg {
            "--shapes" => lists.push(list(args.next().ok_or(format!("--shapes: a value is missing\n\n{USAGE}"))?)?),
            other => match other.strip_prefix("--shapes=") {
                Some(shapes) => lists.push(list(shapes)?),
                None => others.push(other.to_owned()),
            },
        }
    }
    // With `--wkl` shapes are asked for.
    if lists.is_empty() && !others.iter().any(|other| other.starts_with("--wkl")) {
        let function = function(&config)?;
        for list in files(LISTS)? {
            if kernels(&list)?.contains(&function) {
                lists.push(list);
            }
        }
        if lists.is_empty() {
            let lists = root().join(LISTS);
            let expected = "expected --shapes with a list that has, or --wkl with a shape";
            return Err(format!("no list in {} has shapes of `{function}`: {expected}", lists.display()));
        }
    }
    Ok(Options { config, lists, others })
}

/// The config that is named, or of the function that is: of several, the first whose name ends like the function's.
fn config(kernel: &str) -> Result<PathBuf, String> {
    if Path::new(kernel).extension().is_some() {
        return Ok(kernel.into());
    }
    let mut configs = Vec::new();
    for folder in CONFIGS {
        configs.extend(files(folder)?);
    }
    let functions: Vec<(PathBuf, String)> =
        configs.into_iter().filter_map(|path| Some((path.clone(), function(&path).ok()?))).collect();
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let meant = functions.iter().filter(|(path, function)| function == kernel || stem(path) == kernel);
    let meant = meant.min_by_key(|(path, _)| !stem(path).ends_with(kernel));
    meant.map(|(path, _)| path.clone()).ok_or_else(|| {
        let mut known: Vec<&str> = functions.iter().map(|(_, function)| function.as_str()).collect();
        known.sort_unstable();
        known.dedup();
        format!("there is no config of a kernel `{kernel}`, expected a file or one of {}", known.join(", "))
    })
}

/// The list that is named.
fn list(name: &str) -> Result<PathBuf, String> {
    if Path::new(name).extension().is_some() {
        return Ok(name.into());
    }
    let lists = files(LISTS)?;
    let named = lists.iter().find(|path| path.file_stem().is_some_and(|stem| stem == name));
    named.cloned().ok_or_else(|| {
        let known: Vec<_> =
            lists.iter().filter_map(|path| path.file_stem()).map(|stem| stem.to_string_lossy()).collect();
        format!("there is no list of shapes `{name}`, expected a file or one of {}", known.join(", "))
    })
}

/// The files of JSON in a folder of the repository, in the order of their names; none that a tool has written beside them.
fn files(folder: &str) -> Result<Vec<PathBuf>, String> {
    let folder = root().join(folder);
    let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let is_written = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_suffix(".json").is_some_and(|stem| !stem.contains('.'))
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_written).collect();
    files.sort();
    Ok(files)
}

/// The function that a config is of.
fn function(config: &Path) -> Result<String, String> {
    let function = read::<Value>(config)?["kernel"]["function"].as_str().map(str::to_owned);
    function.ok_or_else(|| format!("{}: found no `kernel.function`, expected a config of a kernel", config.display()))
}

/// The functions that a list has shapes of.
fn kernels(list: &Path) -> Result<Vec<String>, String> {
    let list: Value = read(list)?;
    let layers = list["layers"].as_array().into_iter().flatten();
    let names = layers.flat_map(|layer| layer["kernels"].as_array().into_iter().flatten());
    Ok(names.filter_map(Value::as_str).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(args: &[&str]) -> (String, Vec<String>, Vec<String>) {
        let inside = |path: &PathBuf| path.strip_prefix(root()).unwrap_or(path).display().to_string();
        let options = options(args).unwrap();
        (inside(&options.config), options.lists.iter().map(inside).collect(), options.others)
    }

    #[test]
    fn kernels_and_lists_are_found_by_name() {
        let all = ["configs/shapes/bert.json", "configs/shapes/llama.json", "configs/shapes/resnet50.json"];
        assert_eq!(shown(&["dense"]), ("configs/bert_dense.json".into(), all.map(String::from).into(), vec![]));
        let (config, lists, others) = shown(&["bert_q_k", "--check", "--threads", "1"]);
        assert_eq!((&*config, &*lists, others.len()), ("configs/bert_q_k.json", &all.map(String::from)[..2], 3));
        assert_eq!(shown(&["conv2d"]), ("xtask/peers/conv2d.json".into(), vec![all[2].into()], vec![]));
        assert_eq!(shown(&["conv2d_by_2"]).1, [all[2]]);
        assert_eq!(shown(&["a/b.json", "--shapes", "bert", "--shapes", "c.json"]).1, [all[0], "c.json"]);
        assert_eq!(shown(&["a/b.json", "--wkl", "T=1"]).1, Vec::<String>::new());
    }

    #[test]
    fn what_is_not_there_is_told() {
        for (args, why) in [
            (&[][..], "a kernel is missing"),
            (&["--check"], "found `--check`, expected a kernel"),
            (&["densest"], "there is no config of a kernel `densest`, expected a file or one of batch_matmul_nn"),
            (&["dense", "--shapes"], "--shapes: a value is missing"),
            (&["dense", "--shapes", "gpt"], "no list of shapes `gpt`, expected a file or one of bert, llama, resnet50"),
            (&["gemm_tn"], "has shapes of `gemm_tn`: expected --shapes"),
        ] {
            let error = options(args).unwrap_err();
            assert!(error.contains(why), "{why}: {error}");
        }
    }
}
