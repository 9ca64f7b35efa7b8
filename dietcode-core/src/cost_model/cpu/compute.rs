//! How long a core computes, if all data is in the first-level cache.
//!
//! The slowest decides: multiply-adds, loads, conversions, stores, instructions in all, or the chain of additions to one accumulator. Values
//! that do not move along a loop that is unrolled are loaded once for all of it; what finds no register is spilled.

use super::core::{
    AHEAD, BROADCASTS, CONVERSION, COPIES, Core, ELEMENT, ENTRY, FMA_LATENCY, FORWARDING, ISSUE, LOOP, PREDICTED,
    SCALARS, STEP,
};
use super::leaf::{Access, Around, Leaf, Motion};
use super::trips::in_place;
use crate::ir::{ForKind, Scope};
use crate::machine::CpuTarget;

/// A statement at a shape.
pub(super) struct Work<'a> {
    pub(super) leaf: &'a Leaf,
    /// Iterations of the loops around it.
    pub(super) trips: &'a [f64],
}

/// How vectors are formed.
#[derive(Clone, Copy)]
struct Lanes {
    /// The loop that they run along, if there is one.
    along: Option<usize>,
    /// Elements of a vector in the program.
    count: f64,
    /// Registers that one of them takes.
    registers: f64,
    /// How often it takes what carries out a whole register: less than once where that is done in parts, of which it needs some.
    times: f64,
    /// Whether the compiler makes them of a loop's iterations.
    of_compiler: bool,
}

impl Lanes {
    /// How many iterations of a loop become one.
    fn iterations(self) -> f64 {
        if self.of_compiler { self.count } else { 1.0 }
    }
}

impl Work<'_> {
    /// Clocks of all iterations.
    pub(super) fn clocks(&self, core: &Core, target: &CpuTarget) -> f64 {
        let all: f64 = self.trips.iter().product();
        if all == 0.0 {
            return 0.0;
        }
        if let Some(runs) = self.leaf.transposes {
            return self.transposing(core, all, runs);
        }
        let lanes = self.lanes(core, target);
        let operations = all / lanes.count * lanes.registers;
        let carried_out = all / lanes.count * lanes.times;
        let (mut loads, mut stores, mut elements, mut converted, mut shifted) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let (written, read) =
            self.leaf.accesses.split_last().map_or((None, &[][..]), |(last, rest)| (Some(last), rest));
        for access in read.iter().filter(|access| access.is_memory()) {
            let (vectors, alone) = self.accessed(access, lanes);
            let broadcast = lanes.along.is_none_or(|at| access.motion(at) == Motion::Still);
            loads += if broadcast { vectors / BROADCASTS } else { vectors / core.loads };
            if access.bytes == 2.0 && self.leaf.converts {
                let is_spread = broadcast && lanes.along.is_some();
                converted += vectors * if is_spread { CONVERSION + CONVERSION } else { CONVERSION };
            }
            if broadcast && self.leaf.shifts {
                shifted += vectors * lanes.times;
            }
            elements += alone;
        }
        for access in written.into_iter().filter(|access| access.is_memory()) {
            let (vectors, alone) = self.accessed(access, lanes);
            stores += vectors / if lanes.along.is_some() { core.stores } else { SCALARS };
            elements += alone;
        }
        let iterations = self.iterations() / lanes.iterations();
        let spilled = self.spilled(lanes, target) * iterations;
        // What shifts is carried out where products are.
        let multiply = (self.leaf.arithmetic * carried_out + shifted) / core.fma;
        let issued = (self.leaf.arithmetic * operations + shifted + stores * core.stores + iterations) / ISSUE;
        let busy = [
            multiply,
            loads + spilled / core.loads,
            stores + spilled / core.stores,
            issued,
            self.chain(lanes),
            converted,
        ];
        busy.into_iter().fold(0.0, f64::max) + elements * ELEMENT + self.starts(lanes) * LOOP + self.entries() * ENTRY
    }

    /// Squares of elements are loaded row by row, exchanged in as many steps as their size has bits, and stored row by row;
    /// columns that fill no square are moved one by one. Runs of columns adjoin, as those of whole tensors do, and are one.
    fn transposing(&self, core: &Core, all: f64, runs: usize) -> f64 {
        let Some((&lanes, outer)) = self.trips.split_last() else { return 0.0 };
        let columns: f64 = outer.iter().rev().take(runs + 1).product();
        let times = all / (columns * lanes).max(1.0);
        let squares = (columns / lanes).floor();
        let square = lanes * (lanes.log2() + 1.0 / core.loads + 1.0 / core.stores);
        let alone = (columns - squares * lanes) * lanes * ELEMENT;
        times * (squares * square + alone + LOOP)
    }

    /// Along the loop that is one of vectors, or along an innermost one of which the compiler makes vectors, once it has
    /// unrolled short sums inside.
    fn lanes(&self, core: &Core, target: &CpuTarget) -> Lanes {
        let scalar = Lanes { along: None, count: 1.0, registers: 1.0, times: 1.0, of_compiler: false };
        let mut loops = self.leaf.loops.iter().enumerate().take(self.leaf.loops.len() - self.unrolled());
        let Some((at, last)) = loops.next_back() else { return scalar };
        let widest =
            target.vector_bytes as f64 / self.leaf.accesses.iter().map(|access| access.bytes).fold(4.0, f64::max);
        let contiguous = |access: &Access| matches!(access.motion(at), Motion::Still | Motion::Near(1.0));
        if last.kind == ForKind::Vectorized {
            let count = self.trips[at].max(1.0);
            let of = |width: f64| (count / width).ceil() * width / widest;
            let (registers, times) = (of(widest), of(widest / core.parts));
            return Lanes { along: Some(at), count, registers, times, of_compiler: false };
        }
        // Each iteration has its own sum.
        let moves = self.leaf.accesses.last().is_some_and(|sum| sum.motion(at) != Motion::Still) || !last.reduce;
        let found = (moves || !self.leaf.accumulates) && self.leaf.accesses.iter().all(contiguous);
        let count = self.trips[at].clamp(1.0, widest);
        let of_compiler = Lanes { along: Some(at), count, of_compiler: true, ..scalar };
        if found { of_compiler } else { scalar }
    }

    /// How many of the innermost loops are steps of a short sum that the compiler unrolls: GCC does so for up to 16
    /// iterations of a loop whose copies stay below 200 instructions (`max-completely-peel-times`, `max-completely-peeled-insns`).
    fn unrolled(&self) -> usize {
        let mut copies = 1;
        let short = |l: &&Around| {
            let steps = l.extent.as_int().filter(|steps| *steps <= 16 && l.kind == ForKind::Serial && l.reduce);
            copies *= steps.unwrap_or(0);
            (1..=COPIES).contains(&copies)
        };
        if self.leaf.accumulates { self.leaf.loops.iter().rev().take_while(short).count() } else { 0 }
    }

    /// Vectors that are moved, and elements that are moved one by one.
    fn accessed(&self, access: &Access, lanes: Lanes) -> (f64, f64) {
        let repeats = |at: &usize| !in_place(self.leaf.loops[*at].kind) && Some(*at) != lanes.along;
        let times: f64 = (0..self.trips.len()).filter(repeats).map(|at| self.trips[at]).product();
        let times = times * self.distinct(access, lanes);
        let Some(at) = lanes.along else { return (times, 0.0) };
        let vectors = times * self.trips[at] / lanes.count;
        match access.motion(at) {
            Motion::Still => (vectors, 0.0),
            Motion::Near(1.0) => (vectors * lanes.times, 0.0),
            Motion::Near(_) | Motion::Far => (0.0, times * self.trips[at]),
        }
    }

    /// The different places of an access in the loops that are unrolled, but for that over lanes: those of a window that several of its steps read
    /// are loaded once.
    fn distinct(&self, access: &Access, lanes: Lanes) -> f64 {
        let unrolled = |at: &usize| in_place(self.leaf.loops[*at].kind) && Some(*at) != lanes.along;
        let moving = || (0..self.trips.len()).filter(unrolled).filter(|at| access.motion(*at) != Motion::Still);
        let all: f64 = moving().map(|at| self.trips[at]).product();
        let span = |dim: &Vec<f64>| moving().map(|at| dim[at] * (self.trips[at] - 1.0)).sum::<f64>() + 1.0;
        all.min(access.steps.iter().map(span).product())
    }

    /// Vectors of accumulators and operands for which there is no register, in each iteration.
    fn spilled(&self, lanes: Lanes, target: &CpuTarget) -> f64 {
        if !self.leaf.accumulates {
            return 0.0;
        }
        let held = |access: &Access| {
            let moving = |at: &usize| in_place(self.leaf.loops[*at].kind) && access.motion(*at) != Motion::Still;
            (0..self.trips.len()).filter(moving).map(|at| self.trips[at]).product::<f64>() / lanes.count
                * lanes.registers
        };
        let Some((accumulators, operands)) = self.leaf.accesses.split_last() else { return 0.0 };
        let vectors = |access: &&Access| lanes.along.is_some_and(|at| access.motion(at) != Motion::Still);
        let operands = operands.iter().filter(|access| access.is_memory()).filter(vectors);
        // One operand at a time need be held whole, and a broadcast element.
        let row = operands.map(|access| held(access).min(held(accumulators).sqrt())).fold(0.0, f64::max);
        (held(accumulators) + row + 1.0 - target.vector_registers as f64).max(0.0)
    }

    /// Clocks of the additions that wait for each other: between two to the same sum stand those to all sums that lie inside.
    fn chain(&self, lanes: Lanes) -> f64 {
        let Some(sum) = self.leaf.accesses.last().filter(|_| self.leaf.accumulates) else { return 0.0 };
        let Some(again) = (0..self.trips.len()).rev().find(|at| sum.motion(*at) == Motion::Still) else { return 0.0 };
        let between: f64 = self.trips[again + 1..].iter().product();
        // The additions to the next sum begin as soon as they are among the instructions that the core looks ahead.
        let steps = (0..=again).rev().take_while(|at| self.leaf.loops[*at].reduce);
        let steps: f64 = steps.map(|at| self.trips[at]).product();
        let overlap = (AHEAD / (steps * STEP * (between / lanes.count).max(1.0))).max(1.0);
        let forwarding = if sum.scope == Scope::Register { 0.0 } else { FORWARDING };
        self.trips.iter().product::<f64>() / between.max(lanes.count) / overlap * (FMA_LATENCY + forwarding)
    }

    /// Iterations of the loops that stay loops.
    fn iterations(&self) -> f64 {
        self.repeating(self.trips.len() - self.unrolled())
    }

    /// How often the innermost of them is entered.
    fn entries(&self) -> f64 {
        let innermost = (0..self.trips.len() - self.unrolled()).rev().find(|at| !in_place(self.leaf.loops[*at].kind));
        innermost.map_or(0.0, |at| self.repeating(at))
    }

    /// How often the innermost of them begin, as many as it takes for their end not to be predicted.
    fn starts(&self, lanes: Lanes) -> f64 {
        let stays = self.trips.len() - self.unrolled();
        let (mut outside, mut inside) = (stays, 1.0);
        for at in (0..stays).rev().filter(|at| !in_place(self.leaf.loops[*at].kind)) {
            if inside >= PREDICTED {
                break;
            }
            inside *= self.trips[at] / if lanes.along == Some(at) { lanes.iterations() } else { 1.0 };
            outside = at;
        }
        self.repeating(outside)
    }

    fn repeating(&self, until: usize) -> f64 {
        (0..until).filter(|at| !in_place(self.leaf.loops[*at].kind)).map(|at| self.trips[at]).product()
    }
}
