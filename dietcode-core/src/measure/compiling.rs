//! Compiling ahead: units are compiled in order while those before them are measured.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use super::{Builder, Cores, Failure, Unit};
use crate::codegen::TranslationUnit;
use crate::doing::doing;

/// Units that are being compiled, one to a core, where [`Cores`] lets them. When this is dropped, those under way are
/// finished, and the others are not started.
#[derive(Debug)]
pub struct Compiling {
    results: Receiver<(usize, Result<Unit, Failure>)>,
    waiting: BTreeMap<usize, Result<Unit, Failure>>,
    stop: Arc<AtomicBool>,
    compilers: Vec<JoinHandle<()>>,
}

/// What all compilers share.
#[derive(Debug)]
struct Work {
    builder: Arc<Builder>,
    cores: Arc<Cores>,
    units: Vec<TranslationUnit>,
    next: AtomicUsize,
    stop: Arc<AtomicBool>,
}

impl Compiling {
    /// Starts.
    pub(super) fn start(builder: &Arc<Builder>, cores: &Arc<Cores>, units: Vec<TranslationUnit>) -> Compiling {
        let stop = Arc::new(AtomicBool::new(false));
        let count = cores.count().min(units.len());
        let (builder, cores) = (Arc::clone(builder), Arc::clone(cores));
        // Measurements take the first cores, so that the last ones are free for longest.
        let places = (cores.count() - count..cores.count()).rev();
        let work = Arc::new(Work { builder, cores, units, next: AtomicUsize::new(0), stop: Arc::clone(&stop) });
        let (sender, results) = mpsc::channel();
        let compiler = |core| {
            let (work, sender) = (Arc::clone(&work), sender.clone());
            std::thread::spawn(move || work.compile_on(core, &sender))
        };
        Compiling { results, waiting: BTreeMap::new(), stop, compilers: places.map(compiler).collect() }
    }

    /// Waits for a unit, by its position; each can be taken once. Without one, whoever compiled it is gone.
    pub fn take(&mut self, at: usize) -> Result<Unit, Failure> {
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

impl Drop for Compiling {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for compiler in self.compilers.drain(..) {
            // A compiler's thread that panicked has said so; what it compiled is missing, as if it had been stopped.
            drop(compiler.join());
        }
    }
}

impl Work {
    fn compile_on(&self, core: usize, results: &Sender<(usize, Result<Unit, Failure>)>) {
        self.cores.settle_on(core);
        while !self.stop.load(Ordering::Relaxed) {
            let compiled = self.cores.compile(core, || {
                let at = self.next.fetch_add(1, Ordering::Relaxed);
                Some((at, self.builder.build_one(self.units.get(at)?)))
            });
            let Some(compiled) = compiled else { return };
            if results.send(compiled).is_err() {
                return;
            }
        }
    }
}
