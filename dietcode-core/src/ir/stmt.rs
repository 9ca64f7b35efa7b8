//! Statements of a scheduled program.

use std::sync::Arc;

use super::{Buffer, Expr, Intrinsic, Name};

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// `for var in 0..extent`.
    For {
        /// The loop variable.
        var: Name,
        /// How many iterations.
        extent: Expr,
        /// How they are carried out.
        kind: ForKind,
        /// What is done in each.
        body: Box<Stmt>,
    },
    /// `let var = value in body`.
    Let {
        /// The variable.
        var: Name,
        /// Its value, an integer.
        value: Expr,
        /// Where it holds.
        body: Box<Stmt>,
    },
    /// `buffer[index] = value`, rounded to the buffer's type.
    Store {
        /// The buffer.
        buffer: Arc<Buffer>,
        /// One entry per dimension.
        index: Vec<Expr>,
        /// The stored element.
        value: Expr,
    },
    /// The buffer exists in `body`; it is not initialised.
    Allocate {
        /// The buffer.
        buffer: Arc<Buffer>,
        /// Where it exists.
        body: Box<Stmt>,
    },
    /// `view` is a window into `whole` if `inside` holds, else into `edge`, after `fill` has run.
    View {
        /// The window; `view[v…]` is `region.buffer[region.base + Σ v·stride]`.
        view: Arc<Buffer>,
        /// Holds where no access of the window is outside of the tensor.
        inside: Expr,
        /// The tensor itself.
        whole: Region,
        /// The padded copy.
        edge: Region,
        /// Fills the padded copy.
        fill: Box<Stmt>,
        /// Where the window exists.
        body: Box<Stmt>,
    },
    /// `if condition { then } else { otherwise }`.
    IfThenElse {
        /// The condition.
        condition: Expr,
        /// If it holds.
        then: Box<Stmt>,
        /// If not.
        otherwise: Option<Box<Stmt>>,
    },
    /// No thread of the block goes on before all have come here; what they wrote to shared memory is seen by all.
    Sync,
    /// One after the other.
    Seq(Vec<Stmt>),
    /// A piece that the target does in a special way.
    Intrinsic(Intrinsic),
}

/// Where a view begins and how far its neighbours are apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// The underlying buffer.
    pub buffer: Arc<Buffer>,
    /// The element at index 0 of the view.
    pub base: Vec<Expr>,
    /// For each dimension of the view, the coefficient of its index in each dimension of `buffer`.
    pub steps: Vec<Vec<i64>>,
}

/// How a loop's iterations are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForKind {
    /// One after the other.
    Serial,
    /// In any order, by any thread.
    Parallel,
    /// All at once, as the lanes of a vector.
    Vectorized,
    /// One after the other, unrolled.
    Unrolled,
    /// Each iteration is a block of a GPU's grid. Nested ones make one grid.
    BlockIdx,
    /// Each iteration is a thread of a block. Nested ones make one block, in which the innermost counts fastest.
    ThreadIdx,
    /// A part of what a thread does that lies apart from the rest, so that neighbouring threads keep neighbouring
    /// elements; carried out by the thread itself, unrolled.
    VThread,
}

impl ForKind {
    /// Whether iterations are tiles of the grid: any thread of a CPU, or any multiprocessor, may take one.
    pub fn is_grid(self) -> bool {
        matches!(self, ForKind::Parallel | ForKind::BlockIdx)
    }
}

impl Stmt {
    /// A loop.
    pub fn for_(var: Name, extent: Expr, kind: ForKind, body: Stmt) -> Stmt {
        Stmt::For { var, extent, kind, body: Box::new(body) }
    }

    /// A conditional without an else.
    pub fn if_(condition: Expr, then: Stmt) -> Stmt {
        match condition {
            Expr::Int(0) => Stmt::Seq(Vec::new()),
            Expr::Int(_) => then,
            condition => Stmt::IfThenElse { condition, then: Box::new(then), otherwise: None },
        }
    }

    /// What a conditional without an else does, and its condition; any other statement is done anyway.
    pub(crate) fn guarded(&self) -> (&Stmt, Option<&Expr>) {
        match self {
            Stmt::IfThenElse { condition, then, otherwise: None } => (then, Some(condition)),
            other => (other, None),
        }
    }

    /// Statements in order, flattened.
    pub fn seq(stmts: impl IntoIterator<Item = Stmt>) -> Stmt {
        let mut flat = Vec::new();
        for stmt in stmts {
            match stmt {
                Stmt::Seq(inner) => flat.extend(inner),
                stmt => flat.push(stmt),
            }
        }
        match flat.len() {
            1 => flat.swap_remove(0),
            _ => Stmt::Seq(flat),
        }
    }

    /// Rebuilds the statements directly inside of this one.
    #[must_use]
    pub fn map_children(mut self, f: &mut impl FnMut(Stmt) -> Stmt) -> Stmt {
        for child in self.children_mut() {
            *child = f(std::mem::replace(child, Stmt::Sync));
        }
        match self {
            Stmt::Seq(stmts) => Stmt::seq(stmts),
            other => other,
        }
    }

    /// Rebuilds the tree bottom up: children first, then every statement is given to `f`.
    #[must_use]
    pub fn map(self, f: &mut impl FnMut(Stmt) -> Stmt) -> Stmt {
        fn go(stmt: Stmt, f: &mut dyn FnMut(Stmt) -> Stmt) -> Stmt {
            let rebuilt = stmt.map_children(&mut |child| go(child, f));
            f(rebuilt)
        }
        go(self, f)
    }

    /// Replaces every expression for which there is another.
    #[must_use]
    pub fn rewrite_exprs(mut self, f: &mut impl FnMut(&Expr) -> Option<Expr>) -> Stmt {
        fn go(stmt: &mut Stmt, f: &mut dyn FnMut(&Expr) -> Option<Expr>) {
            stmt.rewrite_own_exprs(f);
            stmt.children_mut().into_iter().for_each(|child| go(child, f));
        }
        go(&mut self, f);
        self
    }

    /// The same, only of those that stand directly in this statement.
    pub(crate) fn rewrite_own_exprs(&mut self, f: &mut dyn FnMut(&Expr) -> Option<Expr>) {
        let mut rewrite = |e: &mut Expr| {
            if let Some(new) = f(e) {
                *e = new;
            }
        };
        match self {
            Stmt::For { extent: e, .. } | Stmt::Let { value: e, .. } | Stmt::IfThenElse { condition: e, .. } => {
                rewrite(e);
            }
            Stmt::Store { index, value, .. } => index.iter_mut().chain([value]).for_each(rewrite),
            Stmt::View { inside, whole, edge, .. } => {
                [inside].into_iter().chain(&mut whole.base).chain(&mut edge.base).for_each(rewrite);
            }
            Stmt::Intrinsic(intrinsic) => intrinsic.visit_exprs_mut(&mut rewrite),
            Stmt::Allocate { .. } | Stmt::Seq(_) | Stmt::Sync => {}
        }
    }

    fn children_mut(&mut self) -> Vec<&mut Stmt> {
        match self {
            Stmt::For { body, .. } | Stmt::Let { body, .. } | Stmt::Allocate { body, .. } => vec![body],
            Stmt::View { fill, body, .. } => vec![fill, body],
            Stmt::IfThenElse { then, otherwise, .. } => {
                std::iter::once(then).chain(otherwise).map(|stmt| &mut **stmt).collect()
            }
            Stmt::Seq(stmts) => stmts.iter_mut().collect(),
            Stmt::Store { .. } | Stmt::Intrinsic(_) | Stmt::Sync => Vec::new(),
        }
    }

    /// Replaces a buffer by another.
    #[must_use]
    pub fn rename(self, from: &Arc<Buffer>, to: &Arc<Buffer>) -> Stmt {
        self.rewrite_accesses(from, to, &|_| {})
    }

    /// Gives a buffer a dimension more, of this extent, at a place among its own; in it all accesses have this index.
    #[must_use]
    pub(crate) fn with_dimension(self, buffer: &Arc<Buffer>, place: usize, extent: i64, at: &Expr) -> Stmt {
        let several = buffer.with_dimension(place, extent);
        self.rewrite_accesses(buffer, &several, &|index| index.insert(place, at.clone()))
    }

    fn rewrite_accesses(self, from: &Arc<Buffer>, to: &Arc<Buffer>, f: &dyn Fn(&mut Vec<Expr>)) -> Stmt {
        let rewritten = self.rewrite_exprs(&mut |e| {
            e.rewrite(&mut |e| match e {
                Expr::Load(buffer, index) if buffer == from => {
                    let mut index = index.clone();
                    f(&mut index);
                    Some(Expr::Load(to.clone(), index))
                }
                _ => None,
            })
        });
        rewritten.map(&mut |stmt| match stmt {
            Stmt::Store { buffer, mut index, value } if buffer == *from => {
                f(&mut index);
                Stmt::Store { buffer: to.clone(), index, value }
            }
            Stmt::Intrinsic(mut intrinsic) => {
                intrinsic.rewrite_accesses(from, to, f);
                Stmt::Intrinsic(intrinsic)
            }
            other => other,
        })
    }

    /// Replaces a variable by a value.
    #[must_use]
    pub fn substitute(self, name: &str, value: &Expr) -> Stmt {
        self.rewrite_exprs(&mut |e| e.uses(name).then(|| e.substitute(name, value)))
    }

    /// Calls `f` on every expression that stands directly in a statement, parents' first.
    pub fn visit_exprs<'a>(&'a self, f: &mut impl FnMut(&'a Expr)) {
        self.visit(&mut |stmt| match stmt {
            Stmt::For { extent: e, .. } | Stmt::Let { value: e, .. } | Stmt::IfThenElse { condition: e, .. } => f(e),
            Stmt::Store { index, value, .. } => index.iter().chain([value]).for_each(&mut *f),
            Stmt::View { inside, whole, edge, .. } => {
                [inside].into_iter().chain(&whole.base).chain(&edge.base).for_each(&mut *f);
            }
            Stmt::Intrinsic(intrinsic) => {
                let indices = intrinsic.accesses().into_iter().flat_map(|(_, index, _)| index);
                indices.chain(intrinsic.values()).for_each(&mut *f);
            }
            Stmt::Allocate { .. } | Stmt::Seq(_) | Stmt::Sync => {}
        });
    }

    /// Whether a variable occurs in an expression.
    pub fn uses(&self, name: &str) -> bool {
        let mut found = false;
        self.visit_exprs(&mut |e| found |= e.uses(name));
        found
    }

    /// Calls `f` on every statement, parents first.
    pub fn visit<'a>(&'a self, f: &mut impl FnMut(&'a Stmt)) {
        f(self);
        match self {
            Stmt::For { body, .. } | Stmt::Let { body, .. } | Stmt::Allocate { body, .. } => body.visit(f),
            Stmt::View { fill, body, .. } => {
                fill.visit(f);
                body.visit(f);
            }
            Stmt::IfThenElse { then, otherwise, .. } => {
                then.visit(f);
                if let Some(otherwise) = otherwise {
                    otherwise.visit(f);
                }
            }
            Stmt::Seq(stmts) => stmts.iter().for_each(|stmt| stmt.visit(f)),
            Stmt::Store { .. } | Stmt::Intrinsic(_) | Stmt::Sync => {}
        }
    }
}
