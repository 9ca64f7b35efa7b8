//! In how many wavefronts a block's shared memory carries out what its warps access, by the indices of the accesses.
//!
//! The memory has 32 banks of 4 bytes. What lanes want of one word comes in one wavefront, different words of a bank in one each. A warp's accesses of
//! 8 bytes are those of its halves, one after the other, those of 16 bytes of its quarters, and so are the rows of `ldmatrix`, 8 at a time.
//!
//! ```text
//! for k in 0..2                             thread t reads bytes 16·t + 256·k and 4, 8, 12 behind it:
//!   unrolled i in 0..4                      two instructions of 16 bytes, in each of which
//!     … x_shared[k][t * 4 + i] …            8 lanes read 128 bytes that follow each other: 4 wavefronts
//! ```
//!
//! An address is evaluated in all threads, and in each iteration of the loops between an access and the last barrier, which are unrolled. A
//! compiler has a thread read an element once there, and neighbours by one instruction of up to 16 bytes, if all lanes have them aligned.
//! Copies by `cp.async` and rows of `ldmatrix` stay what they are. Lanes for which a condition on threads and these loops does not hold take no
//! part; any other condition is taken to hold.
//!
//! The emulator counts by the same rules what lanes do (`cuda_host/wavefronts.h`).

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use super::work::{Around, Counts};
use crate::cost_model::loops::moves;
use crate::ir::{BinaryOp, Buffer, Expr, ForKind, Name, Operand, Swizzle, holds};

/// Lanes of a warp.
const LANES: usize = 32;

/// Banks of shared memory, and the bytes of a word.
const BANKS: i64 = 32;
const WORD: i64 = 4;

/// Bytes of the widest access.
const WIDEST: i64 = 16;

/// Iterations of a loop with barriers that are told apart; of longer ones all are as the first.
const MOST_ITERATIONS: i64 = 16;

/// An access to shared memory, where it stands.
pub(super) struct Access {
    pub(super) buffer: Arc<Buffer>,
    pub(super) index: Vec<Expr>,
    pub(super) stores: bool,
    pub(super) form: Form,
    pub(super) loops: Vec<Around>,
    pub(super) lets: Vec<(Name, Expr)>,
    pub(super) conditions: Vec<Expr>,
}

/// What a thread accesses from the index on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// So many elements, so far apart.
    Elements { lanes: i64, step: i64 },
    /// So many neighbours, by `cp.async`.
    Async { lanes: i64 },
    /// Its part of an operand of a matrix instruction, which lies in rows so far apart, along the steps or turned.
    Matrix { operand: Operand, fragments: i64, stride: i64, turned: bool },
}

impl Form {
    /// One element.
    pub(super) const ELEMENT: Form = Form::Elements { lanes: 1, step: 1 };
}

/// A number in all threads.
#[derive(Clone)]
enum Value {
    Same(i64),
    Each(Rc<[i64]>),
}

/// What the loops over a block's threads count in each of them, and how many threads there are.
struct Threads {
    loops: Vec<(Name, Value)>,
    all: usize,
}

impl Threads {
    /// Of loops and their extents, the one that counts slowest first.
    fn of(loops: &[(Name, i64)]) -> Threads {
        let all = loops.iter().map(|(_, extent)| extent).product::<i64>();
        let counted = |(at, (name, extent)): (usize, &(Name, i64))| {
            let after = loops[at + 1..].iter().map(|(_, extent)| extent).product::<i64>();
            (name.clone(), Value::Each((0..all).map(|thread| thread / after % extent).collect()))
        };
        Threads { loops: loops.iter().enumerate().map(counted).collect(), all: all as usize }
    }
}

/// Addresses of a warp's lanes; none for those that take no part.
type Lanes = [Option<i64>; LANES];

/// What one instruction of a thread accesses, in all threads: addresses in bytes, and how many bytes there.
struct Piece {
    at: Vec<i64>,
    bytes: i64,
    /// How many lanes of a warp take part.
    lanes: usize,
    /// Whether it is an instruction as it is, or may be one with its neighbours.
    is_whole: bool,
}

/// Counts what stands between two barriers, for each product of loops around: the accesses of a buffer in one direction together.
pub(super) fn count(accesses: &[Access], threads: &[(Name, i64)]) -> Vec<(Vec<Around>, Counts)> {
    let mut groups: Vec<Vec<&Access>> = Vec::new();
    for access in accesses {
        let is_like = |group: &Vec<&Access>| {
            let first = group[0];
            (&first.buffer, first.stores, first.outer()) == (&access.buffer, access.stores, access.outer())
        };
        match groups.iter_mut().find(|group| is_like(group)) {
            Some(group) => group.push(access),
            None => groups.push(vec![access]),
        }
    }
    let threads = Threads::of(threads);
    groups.iter().map(|group| of_group(group, &threads)).collect()
}

/// The loops that repeat a group's accesses as they are, and what is counted in one iteration of each.
fn of_group(group: &[&Access], threads: &Threads) -> (Vec<Around>, Counts) {
    let is_short = |l: &Around| l.extent.as_int().is_some_and(|extent| extent <= MOST_ITERATIONS);
    let moves = |l: &Around| is_short(l) && group.iter().any(|access| access.moves(&l.var));
    let (enumerated, repeating): (Vec<Around>, Vec<Around>) = group[0].outer().iter().cloned().partition(moves);
    let mut counts = Counts::default();
    each_iteration(&enumerated, &mut Vec::new(), &mut |outside| {
        let mut warps = Warps::default();
        for access in group {
            access.count(threads, outside, &mut warps);
        }
        warps.add_to(&mut counts, group[0].stores);
    });
    (repeating, counts)
}

/// A loop and its iteration.
type Iteration = (Name, i64);

/// Calls `f` with the values of loops of constant extents, in each iteration.
fn each_iteration(loops: &[Around], values: &mut Vec<Iteration>, f: &mut dyn FnMut(&[Iteration])) {
    let Some((first, rest)) = loops.split_first() else { return f(values) };
    for value in 0..first.extent.as_int().unwrap_or(1) {
        values.push((first.var.clone(), value));
        each_iteration(rest, values, f);
        values.pop();
    }
}

impl Access {
    /// The loops around in which threads meet, and those in between, but for those over threads.
    fn outer(&self) -> Vec<Around> {
        let inner = self.loops.iter().rposition(|l| l.meets).map_or(0, |at| at + 1);
        let known = |(at, l): &(usize, &Around)| *at < inner || l.extent.as_int().is_none();
        let outer = self.loops.iter().enumerate().filter(known).map(|(_, l)| l);
        outer.filter(|l| l.kind != ForKind::ThreadIdx).cloned().collect()
    }

    /// The loops of constant extents that no barrier stands in.
    fn inner(&self) -> Vec<Around> {
        let inner = self.loops.iter().rposition(|l| l.meets).map_or(0, |at| at + 1);
        let loops = self.loops[inner..].iter().filter(|l| l.kind != ForKind::ThreadIdx);
        loops.filter(|l| l.extent.as_int().is_some()).cloned().collect()
    }

    /// Whether the address, or who takes part, changes with a variable.
    fn moves(&self, var: &str) -> bool {
        self.index.iter().chain(&self.conditions).any(|e| moves(e, var, &self.lets))
    }

    /// Counts what each warp does in all iterations of the inner loops.
    fn count(&self, threads: &Threads, outside: &[Iteration], warps: &mut Warps) {
        // Where nothing moves, an element stays what it is; a copy or a matrix is loaded again.
        let is_plain = matches!(self.form, Form::Elements { .. });
        let (moving, still): (Vec<Around>, Vec<Around>) = self.inner().into_iter().partition(|l| self.moves(&l.var));
        let times = still.iter().filter_map(|l| l.extent.as_int()).product::<i64>();
        let moves = |name: &Name| moving.iter().any(|l| moves(&Expr::Var(name.clone()), &l.var, &self.lets));
        let mut fixed = Known { access: self, threads, values: outside, fixed: &[] };
        let values: Vec<(Name, Value)> = self
            .lets
            .iter()
            .filter(|(name, _)| !moves(name))
            .filter_map(|(name, _)| Some((name.clone(), fixed.value(&Expr::Var(name.clone()), &self.lets, None)?)))
            .collect();
        fixed.fixed = &values;
        each_iteration(&moving, &mut outside.to_vec(), &mut |values| {
            let known = Known { values, ..fixed };
            let active = known.active();
            for piece in known.pieces() {
                warps.take(&piece, &active, self.buffer.dtype.bytes(), if is_plain { 1 } else { times });
            }
        });
    }
}

/// What is known of the variables around an access.
#[derive(Clone, Copy)]
struct Known<'a> {
    access: &'a Access,
    threads: &'a Threads,
    /// Of the loops that are gone through.
    values: &'a [Iteration],
    /// Of `let`s that do not change with these.
    fixed: &'a [(Name, Value)],
}

impl Known<'_> {
    /// Whether each thread takes part.
    fn active(&self) -> Vec<bool> {
        let mut active = vec![true; self.threads.all];
        for condition in self.access.conditions.iter().flat_map(terms) {
            if let Some(value) = self.value(condition, &self.access.lets, None) {
                active.iter_mut().enumerate().for_each(|(thread, active)| *active &= value.of(thread) != 0);
            }
        }
        active
    }

    /// The instructions of a thread.
    fn pieces(&self) -> Vec<Piece> {
        let Access { buffer, index, form, .. } = self.access;
        let bytes = buffer.dtype.bytes();
        let extents: Vec<i64> = buffer.shape.iter().filter_map(Expr::as_int).collect();
        let columns = extents.last().copied().unwrap_or(1);
        let swizzle = Swizzle::of(buffer);
        // What differs from block to block, or is a number of tiles in turn, is a multiple of what banks are counted by.
        let of_index = |e: &Expr| self.value(e, &self.access.lets, Some(0)).unwrap_or(Value::Same(0));
        let (column, rows) = match index.split_last() {
            Some((column, rows)) => (of_index(column), rows),
            None => (Value::Same(0), &[][..]),
        };
        let row = rows.iter().zip(&extents).fold(Value::Same(0), |row, (e, extent)| {
            row.with(&Value::Same(*extent), |row, extent| row * extent).with(&of_index(e), |row, e| row + e)
        });
        // `down` rows of the matrix below, `across` elements to the right.
        let place = |stride: i64, within: &dyn Fn(i64) -> (i64, i64)| -> Vec<i64> {
            let at = |thread: usize| {
                let (down, across) = within(thread as i64 % LANES as i64);
                let (row, column) = (row.of(thread), column.of(thread));
                let element = match swizzle {
                    Some(swizzle) => {
                        let (row, column) = (row + down * (stride / columns), column + across);
                        row * columns + swizzle.at(row, column)
                    }
                    None => row * columns + column + down * stride + across,
                };
                element * bytes
            };
            (0..self.threads.all).map(at).collect()
        };
        let shifted = |at: &[i64], by: i64| at.iter().map(|at| at + by).collect();
        match *form {
            Form::Elements { lanes, step } => {
                let first = place(0, &|_| (0, 0));
                let piece = |lane| Piece::element(shifted(&first, lane * step * bytes), bytes);
                (0..lanes).map(piece).collect()
            }
            Form::Async { lanes } => {
                let (first, width) = (place(0, &|_| (0, 0)), (lanes * bytes).min(WIDEST));
                let piece = |at| Piece { at: shifted(&first, at * width), bytes: width, lanes: LANES, is_whole: true };
                (0..lanes * bytes / width).map(piece).collect()
            }
            Form::Matrix { operand, fragments, stride, turned } => {
                let matrices = if operand == Operand::A { 4 } else { 2 * fragments };
                if bytes == 4 && turned {
                    let element = |i: i64| {
                        let (along, other) = if operand == Operand::A { (i / 2, i % 2) } else { (i % 2, i / 2) };
                        Piece::element(place(stride, &|lane| (lane % 4 + along * 4, lane / 4 + other * 8)), bytes)
                    };
                    return (0..matrices).map(element).collect();
                }
                let steps = WIDEST / bytes;
                // Lane 8m + r has row r of matrix m: of operand A the lower half comes before the next steps, of B it is the other way round.
                let at = place(stride, &|lane| {
                    let (r, first, second) = (lane % 8, lane / 8 % 2, lane / 16);
                    let (lower, next) = if operand == Operand::A { (first, second) } else { (second, first) };
                    if turned { (r + next * 8, lower * 8) } else { (r + lower * 8, next * steps) }
                });
                vec![Piece { at, bytes: WIDEST, lanes: 8 * matrices as usize, is_whole: true }]
            }
        }
    }

    /// The value of an integer expression in all threads, given the `let`s around it; none where one of its variables has none.
    fn value(&self, e: &Expr, lets: &[(Name, Expr)], unknown: Option<i64>) -> Option<Value> {
        let sub = |e: &Expr| self.value(e, lets, unknown);
        Some(match e {
            Expr::Int(value) => Value::Same(*value),
            Expr::Var(name) => {
                if let Some((_, value)) = self.fixed.iter().find(|(own, _)| own == name) {
                    return Some(value.clone());
                }
                if let Some(at) = lets.iter().rposition(|(own, _)| own == name) {
                    return self.value(&lets[at].1, &lets[..at], unknown);
                }
                let value = self.values.iter().rev().find(|(own, _)| own == name);
                let thread = || self.threads.loops.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone());
                value.map(|(_, value)| Value::Same(*value)).or_else(thread).or(unknown.map(Value::Same))?
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (sub(a)?, sub(b)?);
                if matches!(op, BinaryOp::Div | BinaryOp::Mod) && b.any(|b| b == 0) {
                    return None;
                }
                match op {
                    BinaryOp::Add => a.with(&b, i64::wrapping_add),
                    BinaryOp::Sub => a.with(&b, i64::wrapping_sub),
                    BinaryOp::Mul => a.with(&b, i64::wrapping_mul),
                    BinaryOp::Div => a.with(&b, i64::wrapping_div_euclid),
                    BinaryOp::Mod => a.with(&b, i64::wrapping_rem_euclid),
                    BinaryOp::Min => a.with(&b, i64::min),
                    BinaryOp::Max => a.with(&b, i64::max),
                    BinaryOp::And => a.with(&b, |a, b| i64::from(a != 0 && b != 0)),
                }
            }
            Expr::Compare(op, a, b) => sub(a)?.with(&sub(b)?, |a, b| i64::from(holds(*op, &a, &b))),
            Expr::Select(condition, a, b) => {
                let (condition, a, b) = (sub(condition)?, sub(a)?, sub(b)?);
                let chosen = |thread| if condition.of(thread) != 0 { a.of(thread) } else { b.of(thread) };
                Value::Each((0..self.threads.all).map(chosen).collect())
            }
            _ => return None,
        })
    }
}

impl Piece {
    fn element(at: Vec<i64>, bytes: i64) -> Piece {
        Piece { at, bytes, lanes: LANES, is_whole: false }
    }
}

/// The conditions of which all must hold.
fn terms(condition: &Expr) -> Vec<&Expr> {
    match condition {
        Expr::Binary(BinaryOp::And, a, b) => terms(a).into_iter().chain(terms(b)).collect(),
        other => vec![other],
    }
}

impl Value {
    fn of(&self, thread: usize) -> i64 {
        match self {
            Value::Same(value) => *value,
            Value::Each(values) => values[thread],
        }
    }

    fn any(&self, is: impl Fn(i64) -> bool) -> bool {
        match self {
            Value::Same(value) => is(*value),
            Value::Each(values) => values.iter().any(|value| is(*value)),
        }
    }

    fn with(&self, other: &Value, f: impl Fn(i64, i64) -> i64) -> Value {
        match (self, other) {
            (Value::Same(a), Value::Same(b)) => Value::Same(f(*a, *b)),
            (Value::Each(a), Value::Same(b)) => Value::Each(a.iter().map(|a| f(*a, *b)).collect()),
            (Value::Same(a), Value::Each(b)) => Value::Each(b.iter().map(|b| f(*a, *b)).collect()),
            (Value::Each(a), Value::Each(b)) => Value::Each(a.iter().zip(&**b).map(|(a, b)| f(*a, *b)).collect()),
        }
    }
}

/// What warps access between two barriers.
#[derive(Default)]
struct Warps {
    /// Of each warp, by how its lanes lie to each other, where the first of them accesses an element of so many bytes.
    elements: Vec<Vec<(Lanes, i64, BTreeSet<i64>)>>,
    requests: i64,
    wavefronts: i64,
}

impl Warps {
    fn take(&mut self, piece: &Piece, active: &[bool], element: i64, times: i64) {
        for (warp, addresses) in piece.at.chunks(LANES).enumerate() {
            let mut lanes: Lanes = [None; LANES];
            for (lane, at) in addresses.iter().enumerate().take(piece.lanes) {
                lanes[lane] = active[warp * LANES + lane].then_some(*at);
            }
            let Some(first) = lanes.iter().flatten().next().copied() else { continue };
            if piece.is_whole {
                self.requests += times;
                self.wavefronts += times * wavefronts(&lanes, 0, piece.bytes);
                continue;
            }
            lanes.iter_mut().flatten().for_each(|at| *at -= first);
            self.elements.resize_with(self.elements.len().max(warp + 1), Vec::new);
            let known = &mut self.elements[warp];
            match known.iter_mut().find(|(like, ..)| *like == lanes) {
                Some((.., places)) => drop(places.insert(first)),
                None => known.push((lanes, element, BTreeSet::from([first]))),
            }
        }
    }

    /// Makes instructions of the elements, and adds all.
    fn add_to(mut self, counts: &mut Counts, stores: bool) {
        for (lanes, element, places) in self.elements.iter().flatten() {
            let mut of_width: HashMap<(i64, i64), i64> = HashMap::new();
            let mut next = i64::MIN;
            for &at in places {
                if at < next {
                    continue;
                }
                let is_one = |width: &i64| {
                    lanes.iter().flatten().all(|lane| (lane + at) % width == 0)
                        && (at..at + width).step_by(*element as usize).all(|at| places.contains(&at))
                };
                let mut wider = [WIDEST, 8, 4, 2].into_iter().filter(|width| width > element);
                let width = wider.find(is_one).unwrap_or(*element);
                next = at + width;
                self.requests += 1;
                let count = of_width.entry((width, at % WORD));
                self.wavefronts += *count.or_insert_with(|| wavefronts(lanes, at, width));
            }
        }
        counts.requests += self.requests as f64;
        let wavefronts = if stores { &mut counts.stored_wavefronts } else { &mut counts.loaded_wavefronts };
        *wavefronts += self.wavefronts as f64;
    }
}

/// The wavefronts of an instruction by which lanes access so many bytes at `base` and so far behind it.
fn wavefronts(lanes: &Lanes, base: i64, bytes: i64) -> i64 {
    let at_once = LANES as i64 * WORD / bytes.max(WORD);
    let of = |lanes: &[Option<i64>]| {
        let mut words: Vec<i64> =
            lanes.iter().flatten().flat_map(|at| (base + at) / WORD..=(base + at + bytes - 1) / WORD).collect();
        words.sort_unstable();
        words.dedup();
        let mut banks = [0; BANKS as usize];
        words.iter().for_each(|word| banks[word.rem_euclid(BANKS) as usize] += 1);
        banks.into_iter().max().unwrap_or(0)
    };
    lanes.chunks(at_once as usize).map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What follows from 32 banks of 4 bytes, for lanes that are so far apart and access so many bytes.
    #[test]
    fn different_words_of_a_bank_come_one_after_the_other() {
        let apart = |distance: i64, bytes: i64| {
            let lanes: Lanes = std::array::from_fn(|lane| Some(lane as i64 * distance));
            wavefronts(&lanes, 0, bytes)
        };
        for (distance, bytes, expected) in [
            (0, 4, 1),
            (2, 2, 1),
            (4, 4, 1),
            (8, 4, 2),
            (12, 4, 1),
            (64, 4, 16),
            (128, 4, 32),
            (132, 4, 1),
            (8, 8, 2),
            (16, 8, 4),
            (0, 16, 4),
            (16, 16, 4),
            (32, 16, 8),
            (64, 16, 16),
            (80, 16, 4),
            (128, 16, 32),
        ] {
            assert_eq!(apart(distance, bytes), expected, "{bytes} bytes, {distance} apart");
        }
        let mut half: Lanes = [None; LANES];
        (0..8).for_each(|lane| half[lane] = Some(lane as i64 * 128));
        assert_eq!([wavefronts(&half, 0, 4), wavefronts(&half, 0, 16), wavefronts(&[None; LANES], 0, 16)], [8, 8, 0]);
    }
}
