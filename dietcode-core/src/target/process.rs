//! Runs compilers so that none can hang a caller.

use std::fs::File;
use std::io::{Read, Result, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// Runs a command with its children in a group of their own, so that a limit ends all of them and an interrupt from the
/// terminal reaches none. `None`: it had to be killed.
pub(crate) fn run_limited(command: &mut Command, limit: Duration) -> Result<Option<ExitStatus>> {
    let mut child = command.stdin(Stdio::null()).process_group(0).spawn()?;
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= end {
            // SAFETY: the child has not been waited for, so its group is still its own.
            unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// As [`run_limited`], with what it wrote. That goes through files: a child that outlives its parent may hold a pipe open.
pub(crate) fn output_limited(command: &mut Command, limit: Duration) -> Result<Option<Output>> {
    let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    let Some(status) = run_limited(command, limit)? else { return Ok(None) };
    Ok(Some(Output { status, stdout: written(stdout)?, stderr: written(stderr)? }))
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
