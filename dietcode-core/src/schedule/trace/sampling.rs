//! What a joint draw of tiles decides: for each iteration variable of a block, its factors from the outside in.

use serde::{Deserialize, Serialize};

use crate::ir::Name;
use crate::named::named;

/// The factors of an iteration variable. The outermost loop, which has what the factors leave of the extent, is none of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The iteration variable of the block.
    pub name: Name,
    /// Its factors, outermost first.
    pub factors: Vec<Factor>,
}

/// A sampled factor.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// The variable that holds it.
    pub var: Name,
    /// What its loop is for, which says what limits it.
    pub level: Level,
}

named! {
    /// What the iterations of a factor's loop are.
    ///
    /// | level        | target | axis    | iterations are                                                | limited by                    |
    /// |--------------|--------|---------|---------------------------------------------------------------|-------------------------------|
    /// | `task`       | cpu    | spatial | blocks that one parallel iteration carries out                | extents                       |
    /// | `block`      | cpu    | spatial | register tiles of a block: what panels are packed for         | second-level cache            |
    /// | `register`   | cpu    | spatial | rows, or vectors, of a register tile, unrolled                | vector registers              |
    /// | `lanes`      | cpu    | either  | lanes of a vector: 2, 4, 8 or 16                              | width of a vector register    |
    /// | `steps`      | both   | reduce  | steps in a cache block or in a tile in shared memory          | caches, shared memory         |
    /// | `unroll`     | both   | reduce  | steps that are unrolled; around lanes, sums of their own      | copies, innermost factor      |
    /// | `vthread`    | cuda   | spatial | virtual threads                                               | most virtual threads          |
    /// | `thread`     | cuda   | spatial | threads of a block                                            | threads per block             |
    /// | `outer`      | cuda   | spatial | the outer part of a thread's tile                             | registers, innermost factor   |
    /// | `inner`      | cuda   | spatial | the inner part of a thread's tile, next to each other         | registers, innermost factor   |
    /// | `warp`       | cuda   | spatial | warps of a block, with a matrix unit                          | threads per block             |
    /// | `fragment`   | cuda   | spatial | instructions of a warp, with a matrix unit                    | registers                     |
    /// | `split`      | both   | reduce  | tiles of the grid that share a sum                            | extents, multiprocessors, cores |
    /// | `cross`      | cuda   | reduce  | threads of a block that share a sum                           | threads per block             |
    #[derive(Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[allow(missing_docs, reason = "the table above says what each is")]
    pub enum Level {
        Task = "task",
        Block = "block",
        Register = "register",
        Lanes = "lanes",
        Steps = "steps",
        Unroll = "unroll",
        Vthread = "vthread",
        Thread = "thread",
        Outer = "outer",
        Inner = "inner",
        Warp = "warp",
        Fragment = "fragment",
        Split = "split",
        Cross = "cross",
    }
}

impl Level {
    /// Whether its iterations are elements that a thread holds in registers.
    pub(crate) fn is_held(self) -> bool {
        matches!(self, Level::Register | Level::Lanes | Level::Outer | Level::Inner | Level::Fragment)
    }
}
