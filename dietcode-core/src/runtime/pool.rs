//! The helper threads: one pool for the process, in which each helper has cores of its own.
//!
//! ```text
//! cores that the process may use   0 1 2 3 4 5 6 7        a call on 4 threads, whose caller runs on core 5
//! parts, one for a thread          0 1 2 3 0 1 2 3        so part 1 is the caller's, and its helper goes to part 0
//! ```
//!
//! Systems put threads that wake together on one core, next to the caller, and move them milliseconds later, when a call is over. So
//! a call assigns a part of the cores to each helper before it wakes it; within its part the system is free. Where there are more
//! threads than cores, all cores are everyone's.
//!
//! The cores of the process are those of its first thread and of the caller. Where that is one core alone, these threads may have been kept on
//! it, as in a program that measures: then it has those that it was started with, or had before. `taskset -a -p` and cgroups give other cores
//! to all threads, and so to one that sleeps and is never placed, by which they are told.
//!
//! After a call a helper spins for [`spin_time`](super::spin_time), so that it has begun with the next one long before the system
//! could have woken it, and then parks.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use smallvec::SmallVec;

use super::affinity::{self, ThreadId};
use super::helpers::Door;
use super::spin;
use crate::parallel::lock;
use crate::{Error, Result};

/// How often a spinning helper looks for work between two looks at the clock.
const LOOKS: usize = 64;

/// Bytes of the stack of a thread that sleeps.
const STACK: usize = 64 << 10;

/// No part of the cores: all of them.
const ANYWHERE: usize = usize::MAX;
/// A helper that has not been placed.
const NOWHERE: usize = 0;

/// What was read of the cores counts for so long: a process may be given others while it runs, and to ask at each call would take longer
/// than some calls.
const FRESH: Duration = Duration::from_millis(500);

/// The helpers of this process.
pub(super) struct Pool {
    helpers: Mutex<Helpers>,
    /// How many cores the process may use.
    cores: AtomicUsize,
    /// Calls that are under way.
    calls: AtomicUsize,
    /// Helpers stop spinning when this changes; see `rest`.
    rests: AtomicUsize,
}

/// The pool; null before the first call on several threads, and again in a child after a fork, which has none of the helpers. It is
/// never freed.
static POOL: AtomicPtr<Pool> = AtomicPtr::new(ptr::null_mut());

/// Whether children forget the pool, and theirs.
static IS_FORGOTTEN: AtomicBool = AtomicBool::new(false);

/// Those who were invited to a call, which is under way until this is dropped.
#[derive(Default)]
pub(super) struct Invited {
    pool: Option<&'static Pool>,
    helpers: SmallVec<[Arc<Shared>; 16]>,
}

/// The helpers, and the cores that they share.
struct Helpers {
    all: Vec<Arc<Helper>>,
    /// The cores that the process may use.
    cores: Vec<usize>,
    /// When they were read.
    read: Instant,
    /// Room for reading them again.
    room: Vec<usize>,
    /// Started with the first helper.
    witness: Option<Witness>,
}

/// A thread that sleeps, and is on other cores only if all threads were given others.
struct Witness {
    id: ThreadId,
    /// The cores that it had last.
    has: Vec<usize>,
}

struct Helper {
    thread: Thread,
    id: ThreadId,
    shared: Arc<Shared>,
}

/// What a helper and the callers say to each other.
struct Shared {
    slot: Slot,
    /// Whether it shall end.
    ended: AtomicBool,
    /// The part of the cores that it is kept on, and of how many: `parts << 32 | part`.
    part: AtomicUsize,
    /// For how long it spins, in nanoseconds.
    spin: AtomicU64,
}

/// What a helper shall enter, while its caller waits for it; null: nothing; [`BUSY`]: it has entered something. On lines of a cache
/// that nothing else is on, since a helper that spins looks at it all the time.
///
/// On the same line are addresses of what the helper reads first. On x86-64 it asks for all of that at once: one behind the other, as each
/// pointer leads to the next, they take some hundred nanoseconds each from a core that is far.
#[repr(align(128))]
#[derive(Default)]
struct Slot(AtomicPtr<Door>, [AtomicPtr<u8>; READS]);

/// So many addresses and the door's are a line.
const READS: usize = 7;

/// Addresses of what a helper of a call reads first; any value is one, as nothing is read there because of it.
pub(super) type Reads = [*const u8; READS];

/// No door's address.
const BUSY: *mut Door = ptr::dangling_mut();

/// The pool of this process.
fn pool() -> &'static Pool {
    let found = POOL.load(Ordering::Acquire);
    // SAFETY: what was stored there came from a box that is never freed.
    if let Some(pool) = unsafe { found.as_ref() } {
        return pool;
    }
    // Before anyone sees the pool: a child that is forked in between would wait for its lock.
    if !IS_FORGOTTEN.load(Ordering::Acquire) {
        affinity::in_forked_children(forget);
        IS_FORGOTTEN.store(true, Ordering::Release);
    }
    let (mut cores, mut start) = (Vec::new(), Vec::new());
    affinity::add_start(&mut start);
    read_cores(&mut cores, &start);
    let new = Box::into_raw(Box::new(Pool {
        cores: AtomicUsize::new(cores.len()),
        helpers: Mutex::new(Helpers {
            all: Vec::new(),
            room: cores.clone(),
            cores,
            read: Instant::now(),
            witness: None,
        }),
        calls: AtomicUsize::new(0),
        rests: AtomicUsize::new(0),
    }));
    match POOL.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: as above.
        Ok(_) => unsafe { &*new },
        Err(other) => {
            // SAFETY: nobody has seen `new`; `other` as above.
            unsafe {
                drop(Box::from_raw(new));
                &*other
            }
        }
    }
}

/// In a forked child the helpers do not exist, and their locks may be held forever.
extern "C" fn forget() {
    affinity::note_start();
    POOL.store(ptr::null_mut(), Ordering::Release);
}

/// Has up to `helpers` idle helpers enter a door, for a call on `threads` threads.
///
/// Calls that are under way at the same time have the cores, or `threads` if that is more, between them: a call from each of many
/// threads is carried out by its caller alone.
///
/// # Errors
/// [`Unavailable`](crate::ErrorKind::Unavailable) if a thread cannot be started; nobody is invited then.
pub(super) fn invite(
    threads: usize,
    helpers: usize,
    door: &Door,
    reads: &dyn Fn(usize) -> Reads,
    invited: &mut Invited,
) -> Result<()> {
    let spin = spin::spin_time()?;
    let pool = pool();
    let calls = pool.calls.fetch_add(1, Ordering::Relaxed) + 1;
    invited.pool = Some(pool);
    let most = threads.max(pool.cores.load(Ordering::Relaxed)).saturating_sub(calls).min(helpers);
    if most > 0 { pool.hand_out(threads, most, spin, (door, reads), invited) } else { Ok(()) }
}

/// Ends the helpers beyond so many; those of a call that is under way, when it is over.
pub(super) fn keep_at_most(helpers: usize) {
    let pool = pool();
    let all = &mut lock(&pool.helpers).all;
    let kept = helpers.min(all.len());
    for helper in all.drain(kept..) {
        helper.shared.ended.store(true, Ordering::Release);
        helper.thread.unpark();
    }
}

/// Has all helpers that spin park at once.
#[cfg(feature = "tuner")]
pub(crate) fn rest() {
    pool().rests.fetch_add(1, Ordering::Relaxed);
}

impl Invited {
    /// Takes the invitation back from those who have not entered yet, and says how many they were.
    pub(super) fn withdraw(&self, door: &Door) -> usize {
        let door = ptr::from_ref(door).cast_mut();
        let is_late = |helper: &&Arc<Shared>| {
            let slot = &helper.slot.0;
            let is_there = slot.load(Ordering::Relaxed) == door;
            is_there && slot.compare_exchange(door, ptr::null_mut(), Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        self.helpers.iter().filter(is_late).count()
    }
}

impl Drop for Invited {
    fn drop(&mut self) {
        if let Some(pool) = self.pool {
            pool.calls.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Pool {
    fn hand_out(
        &'static self,
        threads: usize,
        most: usize,
        spin: Duration,
        (door, reads): (&Door, &dyn Fn(usize) -> Reads),
        invited: &mut Invited,
    ) -> Result<()> {
        let mut helpers = lock(&self.helpers);
        if helpers.read.elapsed() >= FRESH {
            helpers.read_cores();
            self.cores.store(helpers.cores.len(), Ordering::Relaxed);
        }
        let Helpers { all: helpers, cores, witness, .. } = &mut *helpers;
        if witness.is_none() {
            *witness = Some(Witness::start(cores)?);
        }
        while helpers.len() < most {
            let helper = Helper::start(self, helpers.len())?;
            helpers.push(Arc::new(helper));
        }
        let parts = if threads <= cores.len() { threads } else { 0 };
        let caller = affinity::this_core().and_then(|core| cores.iter().position(|known| *known == core));
        let of_caller = caller.filter(|_| parts > 0).map(|at| at % parts);
        let mut left = most;
        for (at, helper) in helpers.iter().enumerate() {
            if left == 0 {
                break;
            }
            if helper.is_idle() {
                left -= 1;
                let own = (at + 1 < parts).then_some(at + 1);
                let part = own.map(|own| if Some(own) == of_caller { 0 } else { own }).filter(|_| of_caller.is_some());
                helper.place(cores, parts, part);
                let spin = if part.is_some() { spin.as_nanos() as u64 } else { 0 };
                // Written where it changes only, since the helper reads it.
                if helper.shared.spin.load(Ordering::Relaxed) != spin {
                    helper.shared.spin.store(spin, Ordering::Relaxed);
                }
                invited.helpers.push(Arc::clone(&helper.shared));
                helper.invite(door, reads(at + 1));
            }
        }
        Ok(())
    }
}

impl Helpers {
    /// Reads anew which cores the process may use. Where they are others, each helper is placed anew, wherever the system has put it.
    fn read_cores(&mut self) {
        // Where others have put it and the cores are the same, it was put there and back.
        let moved = self.all.iter().filter(|helper| !helper.is_where_it_was_put(&self.cores));
        moved.for_each(|helper| helper.shared.part.store(NOWHERE, Ordering::Relaxed));
        if let Some(given) = self.witness.as_mut().and_then(Witness::moved) {
            self.cores.clear();
            self.cores.extend(given);
            self.all.iter().for_each(|helper| helper.shared.part.store(NOWHERE, Ordering::Relaxed));
        }
        read_cores(&mut self.room, &self.cores);
        if self.room != self.cores {
            std::mem::swap(&mut self.room, &mut self.cores);
            self.all.iter().for_each(|helper| helper.shared.part.store(NOWHERE, Ordering::Relaxed));
        }
        self.read = Instant::now();
    }
}

impl Witness {
    /// Starts it on some cores, or on as many of them as the system allows.
    fn start(cores: &[usize]) -> Result<Witness> {
        let (tell, told) = mpsc::channel();
        let sleep = move || {
            // If nobody waits for it, nobody asks it anything.
            let _ = tell.send(affinity::this_thread());
            loop {
                thread::park();
            }
        };
        let unavailable = |e| Error::unavailable("cannot start a thread that tells of other cores").caused_by(e);
        thread::Builder::new().name("dietcode".into()).stack_size(STACK).spawn(sleep).map_err(unavailable)?;
        let id = told.recv().map_err(|e| Error::unavailable("a thread ended at once").caused_by(e))?;
        affinity::keep_on(id, cores);
        let mut has = Vec::new();
        affinity::for_each_core(id, |core| has.push(core));
        Ok(Witness { id, has })
    }

    /// Its cores, if they are others than before.
    fn moved(&mut self) -> Option<&[usize]> {
        if affinity::has(self.id, self.has.iter().copied()) {
            return None;
        }
        self.has.clear();
        let has = &mut self.has;
        affinity::for_each_core(self.id, |core| has.push(core));
        Some(&self.has)
    }
}

/// The cores of the process; it had these before.
fn read_cores(cores: &mut Vec<usize>, before: &[usize]) {
    cores.clear();
    affinity::add_first_and_calling(cores);
    in_order(cores);
    if cores.len() == 1 {
        cores.extend(before);
        in_order(cores);
    }
}

/// Each once, the lowest first; where the system says nothing of them, so many as it says that there are.
fn in_order(cores: &mut Vec<usize>) {
    cores.sort_unstable();
    cores.dedup();
    if cores.is_empty() {
        cores.extend(affinity::allowed());
    }
}

/// Has the line of a cache that an address is on come from wherever it is, if there is one.
fn ask_for(address: *const u8) {
    // SAFETY: it reads nothing that a program sees, at any address.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Every so many of them, from one on.
fn part_of(cores: &[usize], parts: usize, part: usize) -> impl Iterator<Item = usize> {
    cores.iter().skip(part).step_by(parts).copied()
}

impl Helper {
    /// Whether it still has the cores that it was given of those of the process, if it was given some and the system tells.
    fn is_where_it_was_put(&self, cores: &[usize]) -> bool {
        let (parts, part) = match self.shared.part.load(Ordering::Relaxed) {
            NOWHERE => return true,
            ANYWHERE => (1, 0),
            placed => (placed >> 32, placed & u32::MAX as usize),
        };
        affinity::has(self.id, part_of(cores, parts, part))
    }

    /// Keeps it on one part of the cores, or lets it run on all.
    fn place(&self, cores: &[usize], parts: usize, part: Option<usize>) {
        let wanted = part.map_or(ANYWHERE, |part| parts << 32 | part);
        if self.shared.part.load(Ordering::Relaxed) == wanted {
            return;
        }
        self.shared.part.store(wanted, Ordering::Relaxed);
        match part {
            None => affinity::keep_on(self.id, cores),
            Some(part) => affinity::keep_on(self.id, &part_of(cores, parts, part).collect::<Vec<_>>()),
        }
    }

    /// Whether no call has it. It stays so until it is invited, as long as the list of helpers is locked.
    fn is_idle(&self) -> bool {
        self.shared.slot.0.load(Ordering::Acquire).is_null()
    }

    /// Has it enter a door, whose caller waits until it has left or the invitation is withdrawn.
    fn invite(&self, door: &Door, reads: Reads) {
        door.expect_one();
        let places = self.shared.slot.1.iter().zip(reads);
        places.for_each(|(place, address)| place.store(address.cast_mut(), Ordering::Relaxed));
        self.shared.slot.0.store(ptr::from_ref(door).cast_mut(), Ordering::Release);
        self.thread.unpark();
    }

    fn start(pool: &'static Pool, index: usize) -> Result<Helper> {
        let shared = Arc::new(Shared {
            slot: Slot::default(),
            ended: AtomicBool::new(false),
            part: AtomicUsize::new(NOWHERE),
            spin: AtomicU64::new(0),
        });
        let (tell, told) = mpsc::channel();
        let body = {
            let shared = Arc::clone(&shared);
            move || {
                // The caller waits for it; if it were gone, nobody would need the helper.
                if tell.send(affinity::this_thread()).is_ok() {
                    shared.help(pool, index + 1);
                }
            }
        };
        let unavailable = |e| Error::unavailable(format!("cannot start helper thread {}", index + 1)).caused_by(e);
        let handle = thread::Builder::new().name(format!("dietcode-{index}")).spawn(body).map_err(unavailable)?;
        let id = told.recv().map_err(|e| Error::unavailable("a helper thread ended at once").caused_by(e))?;
        Ok(Helper { thread: handle.thread().clone(), id, shared })
    }
}

impl Shared {
    fn help(&self, pool: &Pool, number: usize) {
        while let Some(door) = self.next(pool) {
            // SAFETY: its caller waits until this helper, which is counted, has left.
            unsafe { Door::work(door, number, || self.slot.0.store(ptr::null_mut(), Ordering::Release)) };
        }
    }

    /// The next call's door; nothing when the helper shall end.
    fn next(&self, pool: &Pool) -> Option<*const Door> {
        let (start, rests) = (Instant::now(), pool.rests.load(Ordering::Relaxed));
        let spin = Duration::from_nanos(self.spin.load(Ordering::Relaxed));
        let mut spinning = true;
        loop {
            let door = self.slot.0.load(Ordering::Relaxed);
            // Whoever invited it may be faster, withdraw, and invite it to another door at the same address.
            let enter = || self.slot.0.compare_exchange(door, BUSY, Ordering::Acquire, Ordering::Relaxed);
            if !door.is_null() {
                self.slot.1.iter().for_each(|place| ask_for(place.load(Ordering::Relaxed)));
                ask_for(door.cast());
                if let Ok(door) = enter() {
                    return Some(door);
                }
            }
            if self.ended.load(Ordering::Acquire) {
                return None;
            }
            if spinning {
                (0..LOOKS)
                    .take_while(|_| self.slot.0.load(Ordering::Relaxed).is_null())
                    .for_each(|_| std::hint::spin_loop());
                spinning = start.elapsed() < spin && pool.rests.load(Ordering::Relaxed) == rests;
            } else {
                thread::park();
            }
        }
    }
}
