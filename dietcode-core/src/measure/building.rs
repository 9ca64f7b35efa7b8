//! Compiling ahead: micro-kernels are compiled in order, a few at a time, while those before them are measured.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use super::{Code, Cores, Failure};
use crate::doing::doing;
use crate::sketch::MicroKernel;

/// Compiles micro-kernels together; one result each, in order.
pub type Compile = Arc<dyn Fn(&[MicroKernel]) -> Vec<Result<Code, Failure>> + Send + Sync>;

/// A compiler that gains nothing by having several.
pub(crate) fn one_by_one(compile: impl Fn(&MicroKernel) -> Result<Code, Failure> + Send + Sync + 'static) -> Compile {
    Arc::new(move |micro_kernels| micro_kernels.iter().map(&compile).collect())
}

/// Micro-kernels that are being compiled, a group to a core, where [`Cores`] lets them. When this is dropped, those under way are
/// finished, and the others are not started.
#[derive(Debug)]
pub struct Building {
    results: Receiver<Group>,
    waiting: BTreeMap<usize, Result<Code, Failure>>,
    stop: Arc<AtomicBool>,
    compilers: Vec<JoinHandle<()>>,
}

/// The position of the first of a group, and what became of all of them.
type Group = (usize, Vec<Result<Code, Failure>>);

/// What all compilers share.
struct Work {
    compile: Compile,
    cores: Arc<Cores>,
    micro_kernels: Vec<MicroKernel>,
    /// So many are a group.
    together: usize,
    /// The first that was not taken yet.
    next: AtomicUsize,
    stop: Arc<AtomicBool>,
}

impl Building {
    /// Starts, with groups of at most `together`, and as many as there are cores if there can be.
    pub(super) fn start(
        compile: Compile,
        cores: &Arc<Cores>,
        micro_kernels: Vec<MicroKernel>,
        together: usize,
    ) -> Building {
        let stop = Arc::new(AtomicBool::new(false));
        let count = cores.count().min(micro_kernels.len());
        let together = micro_kernels.len().div_ceil(cores.count()).clamp(1, together);
        // Measurements take the first cores, so that the last ones are free for longest.
        let places = (cores.count() - count..cores.count()).rev();
        let (cores, next) = (Arc::clone(cores), AtomicUsize::new(0));
        let work = Arc::new(Work { compile, cores, micro_kernels, together, next, stop: Arc::clone(&stop) });
        let (sender, results) = mpsc::channel();
        let compiler = |core| {
            let (work, sender) = (Arc::clone(&work), sender.clone());
            std::thread::spawn(move || work.compile_on(core, &sender))
        };
        Building { results, waiting: BTreeMap::new(), stop, compilers: places.map(compiler).collect() }
    }

    /// Waits for one, by its position; each can be taken once. Without one, its compiler has ended.
    pub fn take(&mut self, at: usize) -> Result<Code, Failure> {
        let _doing = doing("waiting for a candidate's compiler");
        loop {
            if let Some(result) = self.waiting.remove(&at) {
                return result;
            }
            match self.results.recv() {
                Ok((first, group)) => self.waiting.extend((first..).zip(group)),
                Err(_) => return Err(Failure::Stopped),
            }
        }
    }
}

impl Drop for Building {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for compiler in self.compilers.drain(..) {
            // A compiler's thread that panicked has said so; what it compiled is missing, as if it had been stopped.
            drop(compiler.join());
        }
    }
}

impl Work {
    fn compile_on(&self, core: usize, results: &Sender<Group>) {
        self.cores.settle_on(core);
        while !self.stop.load(Ordering::Relaxed) {
            let compiled = self.cores.compile(core, || {
                let first = self.next.fetch_add(self.together, Ordering::Relaxed);
                let group = self.micro_kernels.get(first..)?.chunks(self.together).next()?;
                Some((first, (self.compile)(group)))
            });
            let Some(compiled) = compiled else { return };
            if results.send(compiled).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use super::*;
    use crate::parallel::lock;
    use crate::schedule::Trace;

    /// Groups are as large as all cores have one, and no larger than they may be; what comes of each is found by its position.
    #[test]
    fn groups_are_shared_out_and_taken_apart() {
        let of = |number: i64| {
            let trace = Trace::new(Vec::new()).with(BTreeMap::from([("n".into(), number)]));
            MicroKernel::of_trace(trace, "traced")
        };
        let cores = Arc::new(Cores::of_process());
        let (few, many) = (1, 4);
        for (each, together) in [(few, many), (many, many), (2 * many, many), (many, 1)] {
            let count = cores.count() * each;
            let sizes = Arc::new(Mutex::new(Vec::new()));
            let seen = Arc::clone(&sizes);
            let compile: Compile = Arc::new(move |group| {
                lock(&seen).push(group.len());
                group.iter().map(|one| Ok(Code::Simulated(one.trace.decisions["n"].to_string()))).collect()
            });
            let micro_kernels = (0..count).map(|n| of(n as i64)).collect();
            let mut building = Building::start(compile, &cores, micro_kernels, together);
            for at in (0..count).rev() {
                assert_eq!(building.take(at), Ok(Code::Simulated(at.to_string())));
            }
            drop(building);
            assert_eq!(*lock(&sizes), vec![each.min(together); count / each.min(together)]);
        }
    }
}
