//! The stack that macros and build scripts run on: that of a process's first thread, and rustc's. Threads of tests have a quarter of it, of
//! which syn, where nobody optimises it, takes all for what is refused only later.

const SIZE: usize = 8 << 20;

/// Runs something on as much stack, where it may fail as a test does.
pub(crate) fn run(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(SIZE).spawn(test).expect("a thread starts");
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}
