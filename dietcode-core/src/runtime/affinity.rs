//! What the operating system says of threads and cores. Where it says nothing (it does on Linux), threads run where the system puts
//! them.

use std::sync::atomic::{AtomicU64, Ordering};

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

/// The cores that the process had when this code was loaded, 64 of them in a word, before any of its threads kept itself on fewer; in a child
/// that was forked after a call on several threads, those of the thread that forked it.
static AT_START: [AtomicU64; 16] = [const { AtomicU64::new(0) }; 16];

/// Notes them.
pub(super) extern "C" fn note_start() {
    let mut words = [0; AT_START.len()];
    for_each_core(0, |core| words[core / 64] |= 1 << (core % 64));
    AT_START.iter().zip(words).for_each(|(word, cores)| word.store(cores, Ordering::Relaxed));
}

/// Has the loader call it.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE_START: extern "C" fn() = note_start;

/// Adds the cores that the process had at its start.
pub(super) fn add_start(cores: &mut Vec<usize>) {
    let is_in = |core: &usize| AT_START[core / 64].load(Ordering::Relaxed) >> (core % 64) & 1 == 1;
    cores.extend((0..64 * AT_START.len()).filter(is_in));
}

/// Adds those that its first thread and the calling one may use, either of which may have been given fewer. Nothing is allocated where
/// there is room for them.
pub(super) fn add_first_and_calling(cores: &mut Vec<usize>) {
    let first = ThreadId::try_from(std::process::id()).unwrap_or(0);
    [0, first].into_iter().for_each(|thread| for_each_core(thread, |core| cores.push(core)));
}

/// The cores that a thread may use, if the system tells.
fn of_thread(thread: ThreadId) -> Option<Vec<usize>> {
    let mut cores = Vec::new();
    for_each_core(thread, |core| cores.push(core));
    Some(cores).filter(|cores| !cores.is_empty())
}

/// Whether a thread may use these cores, the lowest first, and no others, if the system tells.
pub(super) fn has(thread: ThreadId, mut cores: impl Iterator<Item = usize>) -> bool {
    let (mut are_same, mut told) = (true, false);
    for_each_core(thread, |core| (are_same, told) = (are_same && cores.next() == Some(core), true));
    !told || are_same && cores.next().is_none()
}

/// Calls a function with each of them; with none if the system does not tell.
pub(super) fn for_each_core(thread: ThreadId, take: impl FnMut(usize)) {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: all zeros is an empty set, and the pointer is to one of that size.
        let (set, known) = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            let known = libc::sched_getaffinity(thread, size_of::<libc::cpu_set_t>(), &raw mut set) == 0;
            (set, known)
        };
        // SAFETY: the numbers are below the size of a set.
        (0..libc::CPU_SETSIZE as usize).filter(|id| known && unsafe { libc::CPU_ISSET(*id, &set) }).for_each(take);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (thread, take);
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
