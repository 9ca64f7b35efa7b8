//! Compiling ahead: micro-kernels are compiled in order while those before them are measured.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use super::{Code, Cores, Failure};
use crate::doing::doing;
use crate::sketch::MicroKernel;

/// Compiles a micro-kernel.
pub type Compile = Arc<dyn Fn(&MicroKernel) -> Result<Code, Failure> + Send + Sync>;

/// Micro-kernels that are being compiled, one to a core, where [`Cores`] lets them. When this is dropped, those under way are
/// finished, and the others are not started.
#[derive(Debug)]
pub struct Building {
    results: Receiver<(usize, Result<Code, Failure>)>,
    waiting: BTreeMap<usize, Result<Code, Failure>>,
    stop: Arc<AtomicBool>,
    compilers: Vec<JoinHandle<()>>,
}

/// What all compilers share.
struct Work {
    compile: Compile,
    cores: Arc<Cores>,
    micro_kernels: Vec<MicroKernel>,
    next: AtomicUsize,
    stop: Arc<AtomicBool>,
}

impl Building {
    /// Starts.
    pub(super) fn start(compile: Compile, cores: &Arc<Cores>, micro_kernels: Vec<MicroKernel>) -> Building {
        let stop = Arc::new(AtomicBool::new(false));
        let count = cores.count().min(micro_kernels.len());
        // Measurements take the first cores, so that the last ones are free for longest.
        let places = (cores.count() - count..cores.count()).rev();
        let (cores, next) = (Arc::clone(cores), AtomicUsize::new(0));
        let work = Arc::new(Work { compile, cores, micro_kernels, next, stop: Arc::clone(&stop) });
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
                Ok((at, result)) => drop(self.waiting.insert(at, result)),
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
    fn compile_on(&self, core: usize, results: &Sender<(usize, Result<Code, Failure>)>) {
        self.cores.settle_on(core);
        while !self.stop.load(Ordering::Relaxed) {
            let compiled = self.cores.compile(core, || {
                let at = self.next.fetch_add(1, Ordering::Relaxed);
                Some((at, (self.compile)(self.micro_kernels.get(at)?)))
            });
            let Some(compiled) = compiled else { return };
            if results.send(compiled).is_err() {
                return;
            }
        }
    }
}
