//! Runs compilers and workers so that none can hang a caller, and none outlives it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Error, Read, Result, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::parallel::lock;

/// A process with its children in a group of their own, so that one signal ends all of them and an interrupt from the terminal
/// reaches none. It is killed when this is dropped, and when the thread that started it is gone, with its process or without.
#[derive(Debug)]
pub(crate) struct Group(Child);

/// The groups whose process has not been waited for: the system does not give their numbers away.
static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

impl Group {
    /// Starts a process.
    pub(crate) fn start(command: &mut Command) -> Result<Group> {
        let parent = std::process::id();
        // SAFETY: between fork and exec there are system calls, and nothing else.
        unsafe { command.pre_exec(move || end_with(parent)) };
        let mut running = lock(&RUNNING);
        let child = command.process_group(0).spawn()?;
        running.insert(child.id());
        Ok(Group(child))
    }

    /// The process, for its pipes.
    #[cfg(feature = "tuner")]
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    /// How it ended, if it did.
    pub(crate) fn try_wait(&mut self) -> Result<Option<ExitStatus>> {
        let mut running = lock(&RUNNING);
        let status = self.0.try_wait()?;
        if status.is_some() {
            running.remove(&self.0.id());
        }
        Ok(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let mut running = lock(&RUNNING);
        if running.remove(&self.0.id()) {
            kill(self.0.id());
            drop(running);
            // It fails only if it has ended already.
            drop(self.0.wait());
        }
    }
}

/// Ends all that runs, for a process which is about to end: it can start nothing any more.
#[cfg(feature = "tuner")]
pub(crate) fn end_all() {
    let running = lock(&RUNNING);
    running.iter().for_each(|group| kill(*group));
    std::mem::forget(running);
}

fn kill(group: u32) {
    // SAFETY: the process has not been waited for, so its group is still its own.
    unsafe { libc::kill(-group.cast_signed(), libc::SIGKILL) };
}

/// The calling process is killed when the thread that started it is gone, and at once if its process, `parent`, is gone
/// already. Only Linux has that.
fn end_with(parent: u32) -> Result<()> {
    #[cfg(target_os = "linux")]
    // SAFETY: prctl sets a signal; the others take no argument.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid().cast_unsigned() != parent {
            libc::_exit(1);
        }
    }
    let _ = parent;
    Ok(())
}

/// The processes that a compiler has started outlive it if it is killed since its parent was: they have no more time than it.
fn limit_cpu_time(limit: Duration) -> Result<()> {
    let most = libc::rlimit { rlim_cur: limit.as_secs() + 1, rlim_max: limit.as_secs() + 1 };
    // SAFETY: the pointer is to an rlimit. A system that refuses leaves the limit that there was.
    unsafe { libc::setrlimit(libc::RLIMIT_CPU, &raw const most) };
    Ok(())
}

/// Runs a command, for so long at most, and gives what it wrote; `None`: it had to be killed. It ends with this process, and an interrupt from
/// the terminal does not reach it. What it writes goes through files: a child that outlives its parent may hold a pipe open.
///
/// # Errors
/// If it cannot be started, or there is no place for the files.
pub fn output_limited(command: &mut Command, limit: Duration) -> Result<Option<Output>> {
    let (stdout, stderr) = (unnamed_file()?, unnamed_file()?);
    command.stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    // SAFETY: between fork and exec there is a system call, and nothing else.
    unsafe { command.pre_exec(move || limit_cpu_time(limit)) };
    let mut group = Group::start(command.stdin(Stdio::null()))?;
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = group.try_wait()? {
            return Ok(Some(Output { status, stdout: written(stdout)?, stderr: written(stderr)? }));
        }
        if Instant::now() >= end {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A file for as long as it is open.
fn unnamed_file() -> Result<File> {
    let place = std::env::temp_dir();
    tempfile::tempfile_in(&place)
        .map_err(|e| Error::new(e.kind(), format!("no file can be made in {}: {e}", place.display())))
}

fn written(mut file: File) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_was_written_is_kept_with_the_status() {
        let output =
            output_limited(&mut shell("echo out; echo err >&2; exit 3"), Duration::from_secs(60)).unwrap().unwrap();
        assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn a_limit_ends_a_command_with_its_children() {
        let start = Instant::now();
        let output = output_limited(&mut shell("sleep 60 & sleep 60"), Duration::from_millis(50)).unwrap();
        assert!(output.is_none() && start.elapsed() < Duration::from_secs(30));
    }
}
