//! Carries out steps, those that may beside each other, says what it does, and sums up.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use crate::steps::{AT_ONCE, Cargo, Step, root, target_folder};

/// A step and what has become of its commands.
struct Progress<'a> {
    step: &'a Step,
    /// What is printed before its commands.
    title: String,
    waiting: VecDeque<&'a Cargo>,
    running: usize,
    failed: Vec<&'a Cargo>,
    began: Option<Instant>,
    ended: Option<Instant>,
    /// Whether a part of it was not run, since something else had failed.
    given_up: bool,
    /// Processor time of the commands that have ended, and of all that these have waited for.
    processor: Duration,
}

impl<'a> Progress<'a> {
    fn new(step: &'a Step, number: usize, of: usize) -> Progress<'a> {
        let title = format!("\n==> [{number}/{of}] {}: {}", step.name, step.about);
        let waiting = step.commands.iter().collect();
        let (failed, processor) = (Vec::new(), Duration::ZERO);
        Progress { step, title, waiting, running: 0, failed, began: None, ended: None, given_up: false, processor }
    }

    /// The next command, if it may run beside those that do.
    fn next(&mut self, users_crates_are_built: bool) -> Option<&'a Cargo> {
        let next = self.waiting.front()?;
        if self.step.in_order && self.running > 0 || users_crates_are_built && next.builds_users_crates {
            return None;
        }
        self.running += 1;
        self.began.get_or_insert_with(Instant::now);
        self.waiting.pop_front()
    }

    fn end(&mut self, cargo: &'a Cargo, Ended { succeeded, processor }: Ended, keep_going: bool) {
        self.running -= 1;
        self.processor += processor;
        self.ended = Some(Instant::now());
        if !succeeded {
            self.failed.push(cargo);
            if self.step.in_order || !keep_going {
                self.waiting.clear();
            }
        }
    }

    /// Gives up what has not begun.
    fn give_up(&mut self) {
        self.given_up |= self.failed.is_empty() && !self.waiting.is_empty();
        self.waiting.clear();
    }

    fn outcome(&self) -> String {
        let (Some(began), Some(ended), false) = (self.began, self.ended, self.given_up) else {
            return "not run".into();
        };
        let word = if self.failed.is_empty() { "ok" } else { "FAILED" };
        format!("{word:7} {}", spent(ended - began, self.processor))
    }
}

fn spent(time: Duration, processor: Duration) -> String {
    format!("{:6.1} s, {:6.1} s of processor time", time.as_secs_f64(), processor.as_secs_f64())
}

/// Whether all steps passed. After a failure the rest of the steps, and of the commands that run beside others, is run only if `keep_going`.
/// All have the variables of what is provided.
pub(crate) fn run(steps: &[Step], keep_going: bool, provided: &[(&str, PathBuf)]) -> bool {
    let start = Instant::now();
    let numbered = steps.iter().enumerate();
    let mut all: Vec<Progress<'_>> = numbered.map(|(at, step)| Progress::new(step, at + 1, steps.len())).collect();
    let mut passed = true;
    for group in all.chunk_by_mut(|one, next| one.step.beside && next.step.beside) {
        if passed || keep_going {
            passed &= succeed(group, keep_going, provided).unwrap_or_else(|error| {
                eprintln!("commands cannot be run: {error}");
                false
            });
        }
    }
    println!();
    for progress in &all {
        println!("{:10} {}", progress.step.name, progress.outcome());
    }
    println!("{:10}         {}", "", spent(start.elapsed(), all.iter().map(|progress| progress.processor).sum()));
    passed
}

/// A command that was started.
struct Started<'a> {
    /// The place of its step.
    of: usize,
    cargo: &'a Cargo,
    child: Child,
    /// What it prints beside others, to be read from where the last reading ended.
    output: Option<File>,
    has_ended: bool,
}

/// Whether all commands of steps succeed. What one prints stands together, in their order: that of the first which has not ended is shown as it
/// comes, and that of the others when it is their turn.
fn succeed(group: &mut [Progress<'_>], keep_going: bool, provided: &[(&str, PathBuf)]) -> io::Result<bool> {
    let alone = matches!(group, [one] if one.step.in_order);
    let mut started: VecDeque<Started<'_>> = VecDeque::new();
    let mut titled = None;
    loop {
        for one in started.iter_mut().filter(|one| !one.has_ended) {
            let Some(ended) = ended(&one.child)? else { continue };
            one.has_ended = true;
            group[one.of].end(one.cargo, ended, keep_going);
        }
        if !keep_going && group.iter().any(|progress| !progress.failed.is_empty()) {
            group.iter_mut().for_each(Progress::give_up);
        }
        while started.iter().filter(|one| !one.has_ended).count() < AT_ONCE
            && let Some((of, cargo)) = next(group, &started)
        {
            let title = (titled.replace(of) != Some(of)).then(|| &*group[of].title);
            let head: String = title.into_iter().map(|title| format!("{title}\n")).chain([shown(cargo)]).collect();
            started.push_back(start((of, cargo), &head, alone, provided)?);
        }
        while let Some(first) = started.front_mut() {
            if let Some(output) = &mut first.output {
                io::copy(output, &mut io::stdout())?;
            }
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
    let failed: Vec<&Cargo> = group.iter().flat_map(|progress| &progress.failed).copied().collect();
    for cargo in &failed {
        eprintln!("\nfailed:\n{}", shown(cargo));
    }
    Ok(failed.is_empty())
}

/// The first command of steps that may run beside those that do.
fn next<'a>(group: &mut [Progress<'a>], started: &VecDeque<Started<'_>>) -> Option<(usize, &'a Cargo)> {
    let users_crates = started.iter().any(|one| !one.has_ended && one.cargo.builds_users_crates);
    group.iter_mut().enumerate().find_map(|(of, progress)| Some((of, progress.next(users_crates)?)))
}

/// Starts a command. Unless it is alone, it prints to a file, which has no name any more.
fn start<'a>(
    (of, cargo): (usize, &'a Cargo),
    head: &str,
    alone: bool,
    provided: &[(&str, PathBuf)],
) -> io::Result<Started<'a>> {
    let mut command = Command::new("cargo");
    command.args(&cargo.args).envs(cargo.env.iter().map(|(name, value)| (name, value)));
    command.envs(provided.iter().map(|(name, path)| (name, path))).current_dir(&cargo.folder);
    let output = if alone {
        println!("{head}");
        None
    } else {
        let path = target_folder().join(format!("xtask-{}.log", std::process::id()));
        let mut written = File::create(&path)?;
        let output = File::open(&path)?;
        fs::remove_file(&path)?;
        writeln!(written, "{head}")?;
        command.stdout(written.try_clone()?).stderr(written);
        Some(output)
    };
    Ok(Started { of, cargo, child: command.spawn()?, output, has_ended: false })
}

/// How a command has ended.
struct Ended {
    succeeded: bool,
    /// Its processor time, with that of all that it has waited for.
    processor: Duration,
}

/// None while it runs. The standard library's own does not say what was spent.
fn ended(child: &Child) -> io::Result<Option<Ended>> {
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let mut status = 0;
    // SAFETY: it consists of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both are written.
    match unsafe { libc::wait4(pid, &raw mut status, libc::WNOHANG, &raw mut usage) } {
        0 => Ok(None),
        -1 => Err(io::Error::last_os_error()),
        _ => {
            let time = |of: libc::timeval| of.tv_sec as f64 + of.tv_usec as f64 * 1e-6;
            let processor = Duration::from_secs_f64(time(usage.ru_utime) + time(usage.ru_stime));
            Ok(Some(Ended { succeeded: ExitStatus::from_raw(status).success(), processor }))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::cargo;

    fn step(in_order: bool, commands: &[&str]) -> Step {
        let commands = commands.iter().map(|args| cargo(args)).collect();
        Step { in_order, beside: true, ..Step::new("", "", commands) }
    }

    #[test]
    fn a_command_that_fails_is_a_failure() {
        for in_order in [false, true] {
            let succeeds = |steps: &[&[&str]], keep_going: bool| {
                let steps: Vec<Step> = steps.iter().map(|commands| step(in_order, commands)).collect();
                run(&steps, keep_going, &[])
            };
            assert!(succeeds(&[&["--version", "--version", "--version"]], false));
            assert!(succeeds(&[&["--version"], &["--version", "--version"]], false));
            for keep_going in [false, true] {
                assert!(!succeeds(&[&["--version", "no-such-command", "--version"]], keep_going));
                assert!(!succeeds(&[&["--version", "--version", "no-such-command"]], keep_going));
                assert!(!succeeds(&[&["no-such-command"], &["--version", "--version"]], keep_going));
                assert!(!succeeds(&[&["--version"], &["--version", "no-such-command"]], keep_going));
            }
        }
    }

    /// By their names, in the order in which they may begin.
    #[test]
    fn commands_wait_for_those_before_them_and_for_the_folder_of_users_crates() {
        let users = |args: &str| Cargo { builds_users_crates: true, ..cargo(args) };
        let any = Step { commands: vec![users("a"), cargo("b"), cargo("c")], ..step(false, &[]) };
        let ordered = Step { commands: vec![cargo("d"), cargo("e")], ..step(true, &[]) };
        let example = Step { commands: vec![users("f")], ..step(true, &[]) };
        let mut group = [&any, &ordered, &example].map(|step| Progress::new(step, 1, 1));
        let mut begun = |users_crates: bool| {
            let mut next = || group.iter_mut().find_map(|progress| progress.next(users_crates));
            std::iter::from_fn(|| next().map(|cargo| cargo.args[0].clone())).collect::<String>()
        };
        assert_eq!(begun(true), "d", "the first of the others waits for the folder, and so do those behind it");
        assert_eq!(begun(false), "abcf");
        group[1].end(&ordered.commands[0], Ended { succeeded: true, processor: Duration::ZERO }, false);
        assert_eq!(group[1].next(true).map(|cargo| &*cargo.args[0]), Some("e"));
        assert!(group.iter_mut().all(|progress| progress.next(false).is_none()));
    }

    #[test]
    fn what_a_failure_leaves_is_not_run() {
        let (failing, other) = (step(true, &["a", "b"]), step(true, &["c", "d"]));
        let mut group = [&failing, &other].map(|step| Progress::new(step, 1, 1));
        let ended = |succeeded| Ended { succeeded, processor: Duration::from_secs(1) };
        for (progress, succeeded) in group.iter_mut().zip([false, true]) {
            let cargo = progress.next(false).unwrap();
            progress.end(cargo, ended(succeeded), false);
        }
        group.iter_mut().for_each(Progress::give_up);
        assert!(group[0].outcome().starts_with("FAILED "), "{}", group[0].outcome());
        assert_eq!(group[1].outcome(), "not run", "a part of it");
        assert!(group.iter_mut().all(|progress| progress.next(false).is_none()));
    }
}
