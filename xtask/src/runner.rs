//! Carries out steps one after the other, says what it does, and sums up.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use crate::steps::{Cargo, Step, root, target_folder};

enum Outcome {
    Passed(Duration),
    Failed(Duration),
    NotRun,
}

/// Whether all steps passed. After a failure the rest of the steps, and of the commands that run beside others, is run only if `keep_going`.
/// All have the variables of what is provided.
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
        let passed = if step.at_once == 1 {
            step.commands.iter().all(|cargo| succeeds(cargo, provided))
        } else {
            succeed_together(step, keep_going, provided).unwrap_or_else(|error| {
                eprintln!("the commands of this step cannot be run beside each other: {error}");
                false
            })
        };
        if passed {
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
    match command(cargo, provided).status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("cargo could not be started: {error}");
            false
        }
    }
}

fn command(cargo: &Cargo, provided: &[(&str, PathBuf)]) -> Command {
    let mut command = Command::new("cargo");
    command
        .args(&cargo.args)
        .envs(cargo.env.iter().map(|(name, value)| (name, value)))
        .envs(provided.iter().map(|(name, path)| (name, path)))
        .current_dir(&cargo.folder);
    command
}

/// A command that was started beside others.
struct Started<'a> {
    cargo: &'a Cargo,
    child: Child,
    /// What it prints, to be read from where the last reading ended.
    output: File,
    has_ended: bool,
}

/// Whether all commands of a step succeed, as many at once as it says. What one prints stands together, in their order: that of the first which
/// has not ended is shown as it comes, and that of the others when it is their turn.
fn succeed_together(step: &Step, keep_going: bool, provided: &[(&str, PathBuf)]) -> io::Result<bool> {
    let mut waiting: VecDeque<&Cargo> = step.commands.iter().collect();
    let mut started: VecDeque<Started<'_>> = VecDeque::new();
    let mut failed = Vec::new();
    loop {
        for one in started.iter_mut().filter(|one| !one.has_ended) {
            let Some(status) = one.child.try_wait()? else { continue };
            one.has_ended = true;
            if !status.success() {
                failed.push(one.cargo);
            }
        }
        if !failed.is_empty() && !keep_going {
            waiting.clear();
        }
        while started.iter().filter(|one| !one.has_ended).count() < step.at_once
            && let Some(cargo) = waiting.pop_front()
        {
            started.push_back(start(cargo, provided)?);
        }
        while let Some(first) = started.front_mut() {
            io::copy(&mut first.output, &mut io::stdout())?;
            if !first.has_ended {
                break;
            }
            started.pop_front();
        }
        if started.is_empty() {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    for cargo in &failed {
        eprintln!("\nfailed:\n{}", shown(cargo));
    }
    Ok(failed.is_empty())
}

/// Starts a command that prints to a file, which has no name any more.
fn start<'a>(cargo: &'a Cargo, provided: &[(&str, PathBuf)]) -> io::Result<Started<'a>> {
    let path = target_folder().join(format!("xtask-{}.log", std::process::id()));
    let mut written = File::create(&path)?;
    let output = File::open(&path)?;
    fs::remove_file(&path)?;
    writeln!(written, "{}", shown(cargo))?;
    let child = command(cargo, provided).stdout(written.try_clone()?).stderr(written).spawn()?;
    Ok(Started { cargo, child, output, has_ended: false })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::cargo;

    #[test]
    fn a_command_that_fails_beside_others_is_a_failure() {
        let succeeds = |commands: &[&str], keep_going: bool| {
            let commands = commands.iter().map(|args| cargo(args)).collect();
            succeed_together(&Step { name: "", about: "", commands, at_once: 2 }, keep_going, &[]).unwrap()
        };
        assert!(succeeds(&["--version", "--version", "--version"], false));
        for keep_going in [false, true] {
            assert!(!succeeds(&["--version", "no-such-command", "--version"], keep_going));
            assert!(!succeeds(&["--version", "--version", "no-such-command"], keep_going));
        }
    }
}
