//! Makes a file of records small: what a later search needs stays, which are the best micro-kernels of each instance, and
//! those that have failed and are never tried again.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, Seek};
use std::path::Path;

use super::parse::Parser;
use super::record::{Record, Target, Workload};
use super::scan::scan_lines;
use crate::shared_file::{SharedFile, regular};
use crate::whole_file::write_whole;
use crate::{Error, Result};

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Records that stay.
    pub kept: usize,
    /// Records that went.
    pub dropped: usize,
    /// Lines that are no records, and stay.
    pub foreign: usize,
    /// Lines that went because they are longer than any record may be, or have no end.
    pub unreadable: usize,
}

/// Keeps, for each instance on each target and number of threads, the records of the `best` fastest micro-kernels, and one
/// record of each that has failed. The file is replaced whole or not at all; what others append meanwhile waits, and is not
/// lost.
///
/// # Errors
/// [`crate::ErrorKind::Input`] if there is no such file or `best` is 0, which would drop all that was measured,
/// [`crate::ErrorKind::Unavailable`] if it cannot be replaced.
pub fn prune(path: &Path, best: usize) -> Result<Pruned> {
    if best == 0 {
        return Err(Error::input(
            "found 0 as the number of micro-kernels to keep of each instance, expected 1 or more",
        ));
    }
    let unreadable = |e| Error::input(format!("{}: cannot be read as records", path.display())).caused_by(e);
    let failed = |e| Error::of_file(path, "cannot be pruned", e);
    // A file that is not there is not created here.
    regular(path).and_then(|()| File::open(path)).map_err(unreadable)?;
    // A link stays one: what it leads to is replaced.
    let path = &path.canonicalize().map_err(unreadable)?;
    let mut file = SharedFile::open(path).map_err(failed)?;
    let locked = file.lock().map_err(failed)?;
    rewrite(locked.0, path, best).map_err(failed)
}

fn rewrite(mut file: &File, path: &Path, best: usize) -> io::Result<Pruned> {
    let mut kept = Kept::default();
    each_line(file, |at, record, _| kept.look(at, record))?;
    let stay = kept.lines(best);
    file.rewind()?;
    let (mut lines, mut pruned): (Vec<Vec<u8>>, _) = (Vec::new(), Pruned::default());
    pruned.unreadable = each_line(file, |at, record, line| {
        let counter = match record {
            None => &mut pruned.foreign,
            Some(_) if stay.contains(&at) => &mut pruned.kept,
            Some(_) => {
                pruned.dropped += 1;
                return;
            }
        };
        *counter += 1;
        lines.push(line.to_vec());
    })?;
    if pruned.kept + pruned.dropped == 0 && pruned.foreign > 0 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it holds other lines, and no tuning record"));
    }
    write_whole(path, lines.iter().flat_map(|line| [&line[..], b"\n"]))?;
    Ok(pruned)
}

/// Numbers the lines that can be read; gives how many cannot.
fn each_line(file: &File, mut each: impl FnMut(usize, Option<Record>, &[u8])) -> io::Result<usize> {
    let mut at = 0;
    let scanned = scan_lines(BufReader::with_capacity(1 << 16, file), &mut Parser::default(), |record, line| {
        each(at, record, line);
        at += 1;
        true
    })?;
    Ok(scanned.too_long + usize::from(scanned.torn > 0))
}

/// For each micro-kernel, its best figure and the line of that.
type Figures = BTreeMap<String, (f64, usize)>;

/// What is known of the lines after the first look.
#[derive(Default)]
struct Kept {
    /// The micro-kernels of each instance, target and number of threads.
    points: BTreeMap<(Workload, Target, usize), Figures>,
    /// The first failure of each micro-kernel.
    failures: BTreeMap<(String, String, Target, String), usize>,
}

impl Kept {
    fn look(&mut self, at: usize, record: Option<Record>) {
        let Some(record) = record else { return };
        if let Some((threads, gflops)) = record.figure() {
            let point = self.points.entry((record.workload, record.target, threads)).or_default();
            let entry = point.entry(record.name).or_insert((gflops, at));
            if gflops > entry.0 {
                *entry = (gflops, at);
            }
        } else if record.failure().is_some() {
            let Workload { kernel, source_hash, .. } = record.workload;
            self.failures.entry((kernel, source_hash, record.target, record.name)).or_insert(at);
        }
    }

    /// The lines that stay.
    fn lines(&self, best: usize) -> HashSet<usize> {
        let fastest = self.points.values().flat_map(|point| {
            let mut figures: Vec<&(f64, usize)> = point.values().collect();
            figures.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            figures.into_iter().take(best).map(|(_, at)| *at)
        });
        fastest.chain(self.failures.values().copied()).collect()
    }
}
