//! The runs of the command, each of which leaves its files in the folder.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::command::{built, read, succeed, wkl_text};

/// A run that is done.
pub(super) struct Run {
    /// The instance, or what all were tuned by.
    pub(super) name: String,
    /// What it found.
    pub(super) tuned: PathBuf,
    /// How long the search took.
    pub(super) seconds: f64,
}

/// Starts runs.
pub(super) struct Runs {
    config: PathBuf,
    folder: PathBuf,
    seed: String,
    program: PathBuf,
}

impl Runs {
    /// Of a config, with their files in a folder, and random choices that start at a seed. Builds the command as users have it.
    pub(super) fn new(config: PathBuf, folder: PathBuf, seed: &str) -> Result<Runs, String> {
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(Runs { config, folder, seed: seed.to_owned(), program: built()? })
    }

    /// Figures of a run's search, as its report names them.
    pub(super) fn search<const N: usize>(
        &self,
        name: &str,
        arguments: &[&str],
        keys: [&str; N],
    ) -> Result<[f64; N], String> {
        self.tune(name, arguments)?;
        let report = self.file(name, "json");
        let search = &read::<Value>(&report)?["search"];
        let mut figures = [0.0; N];
        for (figure, key) in figures.iter_mut().zip(keys) {
            *figure = search[key].as_f64().ok_or_else(|| format!("{}: it says nothing of {key}", report.display()))?;
        }
        Ok(figures)
    }

    /// A file of a run.
    pub(super) fn file(&self, name: &str, extension: &str) -> PathBuf {
        self.folder.join(format!("{name}.{extension}"))
    }

    /// Tunes, unless that is done. A run that is to be continued has its records.
    pub(super) fn tune(&self, name: &str, arguments: &[&str]) -> Result<Run, String> {
        let file = |extension: &str| self.file(name, extension);
        let [tuned, records, report] = ["tuned.json", "records.jsonl", "json"].map(file);
        if !report.exists() {
            if !arguments.contains(&"--resume") {
                drop(fs::remove_file(&records));
            }
            let unfinished = file("part");
            let mut command = self.command("tune");
            command.args(["--seed", &self.seed]).args(arguments);
            command.arg("--records").arg(&records).arg("--output").arg(&tuned).arg("--json").arg(&unfinished);
            succeed(&mut command)?;
            fs::rename(&unfinished, &report).map_err(|e| format!("{}: {e}", report.display()))?;
        }
        let seconds = read::<Value>(&report)?["search"]["seconds"].as_f64();
        let seconds = seconds.ok_or_else(|| format!("{}: it says nothing of seconds", report.display()))?;
        Ok(Run { name: name.to_owned(), tuned, seconds })
    }

    /// The config's instances, as `--wkl` takes them.
    pub(super) fn instances(&self) -> Result<Vec<String>, String> {
        let config: Value = read(&self.config)?;
        let instances = config["wkl_insts"].as_array().cloned().unwrap_or_default();
        Ok(instances.iter().filter_map(Value::as_object).map(wkl_text).collect())
    }

    /// Measures what was found by turns at an instance, beside an implementation of `dietcode bench`, unless that is done: its rows.
    pub(super) fn compare(&self, name: &str, wkl: &str, only: &str, found: &[&Run]) -> Result<Vec<Value>, String> {
        let report = self.file(name, "compared.json");
        if !report.exists() {
            let unfinished = report.with_extension("part");
            let mut command = self.command("bench");
            command.args(["--only", only, "--wkl", wkl]);
            for run in found {
                command.arg("--beside").arg(&run.tuned);
            }
            succeed(command.arg("--json").arg(&unfinished))?;
            fs::rename(&unfinished, &report).map_err(|e| format!("{}: {e}", report.display()))?;
        }
        Ok(read::<Value>(&report)?["rows"].as_array().cloned().unwrap_or_default())
    }

    fn command(&self, subcommand: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(subcommand).arg(&self.config);
        command
    }
}
