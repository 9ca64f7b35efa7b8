//! Carries out steps one after the other, says what it does, and sums up.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::steps::{Cargo, Step, root};

enum Outcome {
    Passed(Duration),
    Failed(Duration),
    NotRun,
}

/// Whether all steps passed. After a failure the rest is run only if `keep_going`. All have the variables of what is provided.
pub(crate) fn run(steps: &[Step], keep_going: bool, provided: &[(&str, PathBuf)]) -> bool {
    let mut outcomes = Vec::new();
    let mut failed = false;
    for (number, step) in steps.iter().enumerate() {
        if failed && !keep_going {
            outcomes.push(Outcome::NotRun);
            continue;
        }
        println!("\n==> [{}/{}] {}: {}", number + 1, steps.len(), step.name, step.about);
        let start = Instant::now();
        if step.commands.iter().all(|cargo| succeeds(cargo, provided)) {
            outcomes.push(Outcome::Passed(start.elapsed()));
        } else {
            failed = true;
            outcomes.push(Outcome::Failed(start.elapsed()));
        }
    }
    sum_up(steps, &outcomes);
    !failed
}

fn succeeds(cargo: &Cargo, provided: &[(&str, PathBuf)]) -> bool {
    println!("{}", shown(cargo));
    let status = Command::new("cargo")
        .args(&cargo.args)
        .envs(cargo.env.iter().map(|(name, value)| (name, value)))
        .envs(provided.iter().map(|(name, path)| (name, path)))
        .current_dir(&cargo.folder)
        .status();
    match status {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("cargo could not be started: {error}");
            false
        }
    }
}

/// The command as a person would type it, to run it again alone.
fn shown(cargo: &Cargo) -> String {
    let mut line = String::from("    ");
    if let Ok(folder) = cargo.folder.strip_prefix(root())
        && !folder.as_os_str().is_empty()
    {
        line.push_str(&format!("cd {} && ", folder.display()));
    }
    for (name, value) in &cargo.env {
        line.push_str(&format!("{name}='{value}' "));
    }
    line + "cargo " + &cargo.args.join(" ")
}

fn sum_up(steps: &[Step], outcomes: &[Outcome]) {
    println!();
    for (step, outcome) in steps.iter().zip(outcomes) {
        match outcome {
            Outcome::Passed(time) => println!("{:10} ok      {:6.1} s", step.name, time.as_secs_f64()),
            Outcome::Failed(time) => println!("{:10} FAILED  {:6.1} s", step.name, time.as_secs_f64()),
            Outcome::NotRun => println!("{:10} not run", step.name),
        }
    }
}
