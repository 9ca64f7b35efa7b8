//! Instances that stay prepared, as long as memory allows: a search measures at the same ones again and again.

use crate::measure::{Instance, Job};

/// What an instance was prepared for.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::measure) struct Key {
    instance: Instance,
    gap: usize,
    seed: u64,
}

/// What is kept.
pub(in crate::measure) trait Keep {
    /// Bytes that it takes.
    fn footprint(&self) -> usize;
}

/// Prepared instances, the least recently used first.
#[derive(Debug)]
pub(in crate::measure) struct Kept<T> {
    all: Vec<(Key, T)>,
    most: u64,
}

impl<T: Keep> Kept<T> {
    /// None yet; so many bytes at most, but always the last one.
    pub(in crate::measure) fn new(most: u64) -> Kept<T> {
        Kept { all: Vec::new(), most }
    }

    /// Takes out what a job needs, if it is there.
    pub(in crate::measure) fn take(&mut self, job: &Job) -> Option<T> {
        let key = key(job);
        let at = self.all.iter().position(|(known, _)| *known == key)?;
        Some(self.all.remove(at).1)
    }

    /// Puts it in again, and drops what was used longest ago where it is too much.
    pub(in crate::measure) fn put(&mut self, job: &Job, prepared: T) {
        self.all.push((key(job), prepared));
        while self.all.len() > 1 && self.all.iter().map(|(_, kept)| kept.footprint() as u64).sum::<u64>() > self.most {
            self.all.remove(0);
        }
    }
}

fn key(job: &Job) -> Key {
    Key { instance: job.instance.clone(), gap: job.gap, seed: job.seed }
}
