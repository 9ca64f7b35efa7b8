//! What the operating system says of threads and cores. Where it says nothing (it does on Linux), threads run where the system puts
//! them.

/// A thread, as the system numbers it; 0: the calling one.
pub(crate) type ThreadId = i32;

/// The calling thread's number.
pub(crate) fn this_thread() -> ThreadId {
    #[cfg(target_os = "linux")]
    // SAFETY: it takes and returns a number.
    return unsafe { libc::syscall(libc::SYS_gettid) } as ThreadId;
    #[cfg(not(target_os = "linux"))]
    0
}

/// The core on which the calling thread runs at this moment.
pub(crate) fn this_core() -> Option<usize> {
    #[cfg(target_os = "linux")]
    // SAFETY: it takes nothing and returns a number.
    return usize::try_from(unsafe { libc::sched_getcpu() }).ok();
    #[cfg(not(target_os = "linux"))]
    None
}

/// The cores that the calling thread may use.
pub(crate) fn allowed() -> Vec<usize> {
    of_thread(0).unwrap_or_else(|| (0..std::thread::available_parallelism().map_or(1, usize::from)).collect())
}

/// Puts in `cores` those that this process may use: those of its first thread and of the calling one, either of which may have been
/// given fewer. Nothing is allocated where there is room for them.
pub(super) fn of_process(cores: &mut Vec<usize>) {
    cores.clear();
    let first = ThreadId::try_from(std::process::id()).unwrap_or(0);
    [0, first].into_iter().for_each(|thread| add_cores(thread, cores));
    cores.sort_unstable();
    cores.dedup();
    if cores.is_empty() {
        cores.extend(allowed());
    }
}

/// The cores that a thread may use, if the system tells.
fn of_thread(thread: ThreadId) -> Option<Vec<usize>> {
    let mut cores = Vec::new();
    add_cores(thread, &mut cores);
    Some(cores).filter(|cores| !cores.is_empty())
}

/// Adds them; none if the system does not tell.
fn add_cores(thread: ThreadId, cores: &mut Vec<usize>) {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: all zeros is an empty set, and the pointer is to one of that size.
        let (set, known) = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            let known = libc::sched_getaffinity(thread, size_of::<libc::cpu_set_t>(), &raw mut set) == 0;
            (set, known)
        };
        // SAFETY: the numbers are below the size of a set.
        cores.extend((0..libc::CPU_SETSIZE as usize).filter(|id| known && unsafe { libc::CPU_ISSET(*id, &set) }));
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (thread, cores);
}

/// Keeps a thread on some cores. It is a system call and nothing else, as a child needs it before it becomes another program; a
/// system that refuses leaves the thread where it was.
pub(crate) fn keep_on(thread: ThreadId, cores: &[usize]) {
    #[cfg(target_os = "linux")]
    // SAFETY: all zeros is an empty set; the numbers are below its size; the pointer is to one of that size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        // Where the system does not tell its cores, since they are more than a set holds, they are counted.
        let held = cores.iter().filter(|core| **core < libc::CPU_SETSIZE as usize);
        held.for_each(|core| libc::CPU_SET(*core, &mut set));
        libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &raw const set);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (thread, cores);
}

/// Has a function called in every child that this process forks, before `fork` returns there.
pub(super) fn in_forked_children(forget: extern "C" fn()) {
    #[cfg(unix)]
    // SAFETY: the function lives as long as the program, and does what may be done after a fork.
    unsafe {
        libc::pthread_atfork(None, None, Some(forget));
    }
    #[cfg(not(unix))]
    let _ = forget;
}
