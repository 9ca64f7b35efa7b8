//! The primitive `stream_k`.

use std::ops::{Add, Div, Mul, Rem, Sub};

use super::{Instruction, Loop, Relation, Schedule, Size, legality};
use crate::Result;
use crate::ir::{CompareOp, Expr, ForKind, Name};

/// How blocks of the grid share out the steps of all tiles, and which tiles a second kernel puts together.
///
/// Of `T` tiles of `S` steps each, the last `T − R` have a block of their own. The steps of the first `R` follow each other in one line, of
/// which each of `shares` blocks has an equal part, or one step more: the first `longer` of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StreamK {
    /// The loop over tiles and the one over steps: no loops any more in the kernel that sums.
    pub(crate) tile: Name,
    pub(crate) step: Name,
    /// How many iterations they had.
    extents: [Expr; 2],
    shares: i64,
    /// How many waves of `shares` tiles are streamed at the most, the one that is not full among them.
    waves: i64,
    /// Which kernel it is.
    pub(crate) phase: Phase,
    names: Names,
}

/// The kernels of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Phase {
    /// The one that sums: the loops over blocks, over the tiles of which a block has steps, and over these steps.
    Sum { share: Name, piece: Name, own: Name },
    /// The one that adds the parts of a tile: the loop over them. A block's tile is a loop again.
    Meet { part: Name },
}

/// What is computed once for a block or a tile.
#[derive(Clone, Debug, PartialEq)]
struct Names {
    /// Tiles that are streamed.
    streamed: Name,
    /// Steps of a share at the least, and how many shares have one more.
    least: Name,
    longer: Name,
    /// The first step of a share in the line.
    start: Name,
    /// A block's first tile, its first step there, and the one behind its last, counted from that tile's first.
    first: Name,
    from: Name,
    end: Name,
    /// How many tiles a block has steps of.
    pieces: Name,
    /// The first of them in a tile, and how many.
    step_from: Name,
    steps: Name,
    /// The shares that have a tile's first and last step.
    first_share: Name,
    last_share: Name,
    /// How many have steps of it.
    parts: Name,
}

impl Names {
    fn new(tile: &str, step: &str, fresh: impl Fn(&str) -> Name) -> Names {
        let of_tile = |what: &str| fresh(&format!("{tile}_{what}"));
        let of_step = |what: &str| fresh(&format!("{step}_{what}"));
        Names {
            streamed: of_tile("streamed"),
            least: of_step("least"),
            longer: of_step("longer"),
            start: of_step("start"),
            first: of_tile("first"),
            from: of_step("from"),
            end: of_step("end"),
            pieces: of_tile("pieces"),
            step_from: of_step("begin"),
            steps: of_step("count"),
            first_share: of_tile("first_share"),
            last_share: of_tile("last_share"),
            parts: of_tile("parts"),
        }
    }

    fn all(&self) -> [&Name; 13] {
        let Names { streamed, least, longer, start, first, from, end, pieces, step_from, steps, .. } = self;
        let Names { first_share, last_share, parts, .. } = self;
        [streamed, least, longer, start, first, from, end, pieces, step_from, steps, first_share, last_share, parts]
    }
}

impl Schedule {
    /// Cuts the work of all tiles, their steps one after the other, into equal shares, one for each of `shares` blocks, wherever tiles end:
    /// Stream-K. So the last wave of blocks is as full as the others. Where there are more tiles than that, all but the last `waves` waves of
    /// them stay whole, of which the last may be short: with 1 only its tiles are shared, with 2 each share is a tile at the least.
    ///
    /// ```text
    /// for t in 0..T bound to the grid                for s in 0..shares + T − R bound to the grid       R = min(T, T % shares + (waves − 1)·shares)
    ///   for threads                                    for threads
    ///     for k_0 in 0..S                      →         for p in 0..⌈…⌉                                  the tiles of a share
    ///       y_tile += …                                    let t = …, k_0_begin = …
    ///     y[…] = epilogue(y_tile)                          for k_o in 0..k_0_count: y_tile += …           k_0 = k_0_begin + k_o
    ///                                                      if k_0_count == S: y[…] = epilogue(y_tile)
    ///                                                      else: y_parts[…] = y_tile
    /// ```
    ///
    /// Parts meet in a second kernel, always in the order of their steps. Each share has two tiles at the most that it does not sum whole, its
    /// first and its last, so that the memory for parts does not depend on the shape.
    ///
    /// Source: M. Osama et al., "Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix Multiplication on the GPU" (PPoPP 2023);
    /// with 1 and 2 waves, its one-tile and two-tile hybrids.
    ///
    /// # Errors
    /// `tile` is not the only loop that is bound to the grid, or `step` not the outermost of a sum, directly inside of the threads; threads share
    /// the sum; not 1 to 65536 shares and 1 to 1024 waves.
    pub fn stream_k(&mut self, [tile, step]: [&str; 2], shares: i64, waves: i64, into: [&str; 3]) -> Result<()> {
        let [at, inner] = legality::stream_k(self, [tile, step], [shares, waves], into)?;
        let (tiles, steps) = (self.loops[at].clone(), self.loops[inner].clone());
        let [share, piece, own]: [Name; 3] = into.map(Name::from);
        let names = Names::new(tile, step, |wish| self.fresh_name(wish));
        let [pieces, count] = [&names.pieces, &names.steps].map(|name| Expr::Var(name.clone()));
        let stream = StreamK {
            tile: tiles.name.clone(),
            step: steps.name.clone(),
            extents: [tiles.extent.clone(), steps.extent.clone()],
            shares,
            waves,
            phase: Phase::Sum { share: share.clone(), piece: piece.clone(), own: own.clone() },
            names,
        };
        let new = |name: Name, extent: Expr, of: &Loop, kind| Loop { name, extent, limit: None, kind, role: of.role };
        let blocks = stream.blocks(&|e| e.clone());
        self.loops[inner] = new(own.clone(), count, &steps, ForKind::Serial);
        self.loops.insert(inner, new(piece.clone(), pieces, &tiles, ForKind::Serial));
        self.loops[at] = new(share.clone(), blocks, &tiles, ForKind::BlockIdx);
        self.relations.push(Relation::Stream(stream));
        self.record(Instruction::StreamK {
            loops: [tiles.name, steps.name],
            shares: Size::from(shares),
            waves: Size::from(waves),
            into: [share, piece, own],
        });
        Ok(())
    }

    /// How blocks share the steps of tiles, if they do.
    pub(crate) fn stream(&self) -> Option<&StreamK> {
        self.relations.iter().find_map(|relation| match relation {
            Relation::Stream(stream) => Some(stream),
            _ => None,
        })
    }
}

impl StreamK {
    /// The names that it binds or replaces.
    pub(crate) fn names(&self) -> Vec<&Name> {
        [&self.tile, &self.step].into_iter().chain(self.loops()).chain(self.names.all()).collect()
    }

    /// The loops that it made, outermost first.
    pub(crate) fn loops(&self) -> Vec<&Name> {
        match &self.phase {
            Phase::Sum { share, piece, own } => vec![share, piece, own],
            Phase::Meet { part } => vec![part],
        }
    }

    /// What a loop is a part of: of those that are there, and of those that were.
    pub(crate) fn parent(&self, name: &str) -> Option<&Name> {
        match &self.phase {
            Phase::Sum { share, piece, .. } if [share, piece].iter().any(|l| ***l == *name) => Some(&self.tile),
            Phase::Sum { own, .. } if **own == *name => Some(&self.step),
            _ => None,
        }
    }

    /// What became of a loop: in terms of what is bound around it, or, for asking what depends on what, of the loops.
    pub(super) fn became(&self, name: &Name, through_lets: bool) -> Option<Expr> {
        let Phase::Sum { share, piece, own } = &self.phase else { return None };
        let var = |name: &Name| Expr::Var(name.clone());
        match name {
            _ if *name == self.tile && through_lets => Some(var(share).add(var(piece))),
            _ if *name == self.step && through_lets => Some(var(share).add(var(piece)).add(var(own))),
            _ if *name == self.step => Some(var(&self.names.step_from).add(var(own))),
            _ => None,
        }
    }

    /// The loop inside of which a variable has a value of its own.
    pub(crate) fn innermost(&self, name: &str) -> Option<&Name> {
        match &self.phase {
            Phase::Sum { piece, .. } if *self.tile == *name => Some(piece),
            Phase::Sum { own, .. } if *self.step == *name => Some(own),
            _ => None,
        }
    }

    /// The kernel that adds the parts, whose loop over them is `part`.
    pub(crate) fn meeting(&self, part: Name) -> StreamK {
        StreamK { phase: Phase::Meet { part }, ..self.clone() }
    }

    /// Tiles, and steps of each: one at the least, in which what is summed may be nothing. `of` resolves the extents of loops.
    fn extents(&self, of: &dyn Fn(&Expr) -> Expr) -> [Expr; 2] {
        let [tiles, steps] = self.extents.each_ref().map(of);
        [tiles, steps.max(Expr::Int(1))]
    }

    /// The loop over tiles, and how many there are.
    pub(crate) fn tiles(&self) -> (&Name, &Expr) {
        (&self.tile, &self.extents[0])
    }

    /// How many tiles are streamed.
    pub(crate) fn streamed(&self, of: &dyn Fn(&Expr) -> Expr) -> Expr {
        let [tiles, _] = self.extents(of);
        let last = tiles.clone().rem(Expr::Int(self.shares));
        last.add(Expr::Int((self.waves - 1) * self.shares)).min(tiles)
    }

    /// Blocks of the kernel that sums: the shares, and the tiles that stay whole.
    fn blocks(&self, of: &dyn Fn(&Expr) -> Expr) -> Expr {
        let [tiles, _] = self.extents(of);
        tiles.sub(self.streamed(of)).add(Expr::Int(self.shares))
    }

    /// The grid of one of its kernels: nothing where there is no tile, such as of a part of a cover, and, where an integer of the device does
    /// not count all steps that are shared, more blocks than there can be.
    pub(crate) fn counted(&self, blocks: Expr, of: &dyn Fn(&Expr) -> Expr) -> Expr {
        let [tiles, steps] = self.extents(of);
        let blocks = Expr::select(Expr::Int(0).lt(tiles), blocks, Expr::Int(0));
        let line = self.streamed(of).mul(steps);
        // The step behind a block's last is counted from the first of a tile.
        let counts = line.clone().lt(Expr::Int(1 << 30));
        Expr::select(counts, blocks, line.mul(Expr::Int(4)))
    }

    /// Places for parts of tiles.
    pub(crate) fn places(&self) -> i64 {
        2 * self.shares
    }

    /// Where a part of a tile lies: the one with a share's first steps, if they are not the first of the tile, or else that with its last.
    pub(crate) fn place(&self) -> Expr {
        let (begins, share) = match &self.phase {
            Phase::Sum { share, .. } => (&self.names.step_from, Expr::Var(share.clone())),
            Phase::Meet { part } => (part, var(&self.names.first_share).add(Expr::Var(part.clone()))),
        };
        let begins = Expr::compare(CompareOp::Eq, var(begins), Expr::Int(0));
        Expr::select(begins, Expr::Int(self.shares), Expr::Int(0)).add(share)
    }

    /// How many parts a tile has.
    pub(crate) fn parts(&self) -> Expr {
        var(&self.names.parts)
    }

    /// Whether this kernel writes the tile's output: the one that sums does if a block has all steps, the other if several have some.
    pub(crate) fn writes(&self, of: &dyn Fn(&Expr) -> Expr) -> Expr {
        match &self.phase {
            Phase::Sum { .. } => Expr::compare(CompareOp::Eq, var(&self.names.steps), self.extents(of)[1].clone()),
            Phase::Meet { .. } => Expr::Int(1).lt(var(&self.names.parts)),
        }
    }

    /// Whether it is the kernel that adds the parts.
    pub(crate) fn meets(&self) -> bool {
        matches!(self.phase, Phase::Meet { .. })
    }

    /// Whether a block leaves its sums of the tile for the other kernel; none: this is that one.
    pub(crate) fn leaves_part(&self, of: &dyn Fn(&Expr) -> Expr) -> Option<Expr> {
        match &self.phase {
            Phase::Sum { .. } => Some(var(&self.names.steps).lt(self.extents(of)[1].clone())),
            Phase::Meet { .. } => None,
        }
    }

    /// What is bound in a loop, the first outermost.
    pub(crate) fn lets(&self, inside: &str, of: &dyn Fn(&Expr) -> Expr) -> Vec<(Name, Expr)> {
        let names = &self.names;
        let [_, steps] = self.extents(of);
        let shares = || Expr::Int(self.shares);
        let at = |condition: Expr, then: Expr| Expr::select(condition, then, Expr::Int(0));
        let line = || var(&names.streamed).mul(steps.clone());
        let equal = || {
            vec![
                (names.streamed.clone(), self.streamed(of)),
                (names.least.clone(), line().div(shares())),
                (names.longer.clone(), line().rem(shares())),
            ]
        };
        match &self.phase {
            Phase::Sum { share, .. } if **share == *inside => {
                let is_share = || var(share).lt(shares());
                let start = var(share).mul(var(&names.least)).add(var(share).min(var(&names.longer)));
                let whole = var(&names.streamed).add(var(share)).sub(shares());
                let own = var(&names.least).add(at(var(share).lt(var(&names.longer)), Expr::Int(1)));
                let pieces = var(&names.end).add(steps.clone().sub(Expr::Int(1))).div(steps.clone());
                let own_tile = var(&names.start).div(steps.clone());
                let mut lets = equal();
                lets.extend([
                    (names.start.clone(), at(is_share(), start)),
                    (names.first.clone(), Expr::select(is_share(), own_tile, whole)),
                    (names.from.clone(), var(&names.start).rem(steps.clone())),
                    (names.end.clone(), var(&names.from).add(Expr::select(is_share(), own, steps.clone()))),
                    (names.pieces.clone(), at(var(&names.from).lt(var(&names.end)), pieces)),
                ]);
                lets
            }
            Phase::Sum { piece, .. } if **piece == *inside => {
                let before = || var(piece).mul(steps.clone());
                let begin = var(&names.from).sub(before()).max(Expr::Int(0));
                let count = var(&names.end).sub(before()).min(steps.clone()).sub(var(&names.step_from));
                vec![
                    (self.tile.clone(), var(&names.first).add(var(piece))),
                    (names.step_from.clone(), begin),
                    (names.steps.clone(), count),
                ]
            }
            Phase::Meet { .. } if *self.tile == *inside => {
                // Those with a step more stand in front.
                let share_of = |step: Expr| {
                    let long = || var(&names.least).add(Expr::Int(1));
                    let longer = || var(&names.longer).mul(long());
                    let behind = step.clone().sub(longer()).div(var(&names.least)).add(var(&names.longer));
                    Expr::select(step.clone().lt(longer()), step.div(long()), behind)
                };
                let first = || var(&self.tile).mul(steps.clone());
                let last = first().add(steps.clone().sub(Expr::Int(1)));
                let mut lets = equal();
                lets.extend([
                    (names.first_share.clone(), share_of(first())),
                    (names.last_share.clone(), share_of(last)),
                    (names.parts.clone(), var(&names.last_share).sub(var(&names.first_share)).add(Expr::Int(1))),
                ]);
                lets
            }
            _ => Vec::new(),
        }
    }

    /// What is expected of the variables that differ from block to block, on the average: tiles of a block, steps in them, parts of a tile.
    pub(crate) fn expected(&self, of: &dyn Fn(&Expr) -> Expr) -> Vec<(Name, Expr)> {
        let [tiles, steps] = self.extents(of);
        let (streamed, blocks) = (self.streamed(of), self.blocks(of));
        let at_least_one = |e: Expr| e.max(Expr::Int(1));
        // Each share but the first begins a part more than there are tiles, if it does not begin with one.
        let inside = streamed.clone().mul(steps.clone().sub(Expr::Int(1)));
        let parts = streamed.clone().add(inside.min(Expr::Int(self.shares - 1)));
        let pieces = at_least_one(tiles.clone().sub(streamed.clone()).add(parts.clone()).div(blocks.clone()));
        let of_piece = at_least_one(tiles.mul(steps).div(blocks.mul(pieces.clone())));
        let of_tile = at_least_one(parts.div(at_least_one(streamed)));
        let names = [&self.names.pieces, &self.names.steps, &self.names.parts];
        names.into_iter().cloned().zip([pieces, of_piece, of_tile]).collect()
    }
}

fn var(name: &Name) -> Expr {
    Expr::Var(name.clone())
}
