//! Reads a scheduled program that TVM printed (TVMScript) as loops.
//!
//! What TVM does before it extracts features and has nothing to do with memory is done while reading: block variables become what
//! they are bound to (`ConvertBlocksToOpaque`), serial loops that run once vanish (`SimplifyForFeatureExtraction`), and loops over one
//! thread axis become one loop around the kernel (`UnifyThreadBinding`). What has another meaning than loops, stores and
//! arithmetic is refused.

mod cursor;
mod expression;

use std::sync::Arc;

use self::cursor::{Cursor, Line, Parsed, Token, at_line, tokens};
use self::expression::dtype;
use crate::ir::{Buffer, DType, Expr, ForKind, Name, Scope, Stmt};
use crate::{Error, Result};

/// A scheduled program.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) params: Vec<Arc<Buffer>>,
    /// Buffers of the program's own, as large as the tensors that they are copies of.
    pub(super) allocated: Vec<Arc<Buffer>>,
    pub(super) body: Stmt,
    /// Loops with `pragma_auto_unroll_max_step`, and its value.
    pub(super) unroll_max_step: Vec<(Name, i64)>,
    pub(super) reductions: Vec<Reduction>,
}

/// A sum over threads.
#[derive(Debug)]
pub(super) struct Reduction {
    /// Where the sum goes.
    pub(super) buffer: Name,
    /// The loops in a thread that are summed over.
    pub(super) loops: Vec<Name>,
}

/// Nothing that a schedule makes nests deeper.
const DEEPEST: usize = 256;

impl Script {
    /// # Errors
    /// The line, what was found, what is read.
    pub(super) fn parse(lines: &[String]) -> Result<Script> {
        let mut numbered = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let indent = line.len() - line.trim_start().len();
            let tokens = tokens(line).map_err(|what| at_line(at, line, &what))?;
            if !tokens.is_empty() {
                numbered.push(Line { at, indent, text: line, tokens });
            }
        }
        let mut reader = Reader {
            script: Script {
                params: Vec::new(),
                allocated: Vec::new(),
                body: Stmt::Seq(Vec::new()),
                unroll_max_step: Vec::new(),
                reductions: Vec::new(),
            },
            names: Vec::new(),
            loops: Vec::new(),
            predicate: None,
            reduced: Vec::new(),
            threads: Vec::new(),
        };
        let def = numbered.iter().position(|line| line.tokens[0].is("def"));
        let def = def.ok_or_else(|| Error::input("there is no line `def …`: a function was expected"))?;
        reader.parameters(&mut Cursor::of(&numbered[def])).map_err(|what| numbered[def].error(&what))?;
        let mut rest = &numbered[def + 1..];
        reader.script.body = reader.block(&mut rest, numbered[def].indent, 0)?;
        if let Some(line) = rest.first() {
            return Err(line.error("it stands behind the function"));
        }
        if reader.script.body == Stmt::Seq(Vec::new()) {
            return Err(numbered[def].error("the function is empty: loops were expected"));
        }
        Ok(reader.script)
    }
}

fn buffer(name: &str, shape: Vec<Expr>, dtype: DType, scope: Scope) -> Arc<Buffer> {
    Arc::new(Buffer { name: name.into(), dtype, shape, scope, swizzle: 0 })
}

/// A loop over a thread axis, which stands around the whole kernel.
struct Thread {
    tag: String,
    name: Name,
    extent: i64,
}

struct Reader {
    script: Script,
    /// What names in scope stand for.
    names: Vec<(String, Expr)>,
    /// The names of all loops.
    loops: Vec<Name>,
    /// The predicate of the block that is being read.
    predicate: Option<Expr>,
    /// The loops that its variables of reductions are bound to.
    reduced: Vec<Name>,
    /// The thread axes of the kernel around, in the order in which they were met.
    threads: Vec<Thread>,
}

/// The parts of a loop's right side.
struct Range {
    extents: Vec<i64>,
    kind: ForKind,
    tag: Option<String>,
    annotated: bool,
    unroll_max_step: i64,
}

impl Reader {
    /// `def main(X: T.Buffer((1600, 3072), "float32"), …):`
    fn parameters(&mut self, line: &mut Cursor<'_>) -> Parsed<()> {
        line.expect("def")?;
        line.word()?;
        line.expect("(")?;
        while !line.take(")") {
            let name = line.word()?;
            line.expect(":")?;
            line.expect("T.Buffer")?;
            line.expect("(")?;
            let shape = line.shape()?;
            let of = if line.take(",") { dtype(line.text()?)? } else { DType::F32 };
            line.expect(")")?;
            self.script.params.push(buffer(name, shape, of, Scope::Global));
            if !line.peek(")") {
                line.expect(",")?;
            }
        }
        line.expect(":")
    }

    /// The lines that are indented deeper.
    fn block(&mut self, lines: &mut &[Line<'_>], indent: usize, depth: usize) -> Result<Stmt> {
        let mut stmts = Vec::new();
        let mut own = None;
        while let Some(line) = lines.first().filter(|line| line.indent > indent) {
            if line.indent != *own.get_or_insert(line.indent) {
                return Err(line.error("it is indented deeper than the line before"));
            }
            if depth > DEEPEST {
                return Err(line.error("it is nested too deep"));
            }
            *lines = &lines[1..];
            let mut cursor = Cursor::of(line);
            let scope = self.names.len();
            let first = cursor.next().map_err(|what| line.error(&what))?;
            match first {
                Token::Word(word) if word == "for" => {
                    let (targets, range) = self.head(&mut cursor).map_err(|what| line.error(&what))?;
                    let outermost = self.threads.is_empty();
                    let made = self.open(&targets, &range).map_err(|what| line.error(&what))?;
                    let mut body = self.block(lines, line.indent, depth + 1)?;
                    for (name, extent) in made.into_iter().rev() {
                        body = Stmt::for_(name, Expr::Int(extent), range.kind, body);
                    }
                    if outermost {
                        for Thread { tag, name, extent } in self.threads.drain(..).rev() {
                            let kind = axis(&tag).map_err(|what| line.error(&what))?;
                            body = Stmt::for_(name, Expr::Int(extent), kind, body);
                        }
                    }
                    stmts.push(body);
                    self.names.truncate(scope);
                }
                Token::Word(word) if word == "with" => {
                    let what = cursor.word().map_err(|what| line.error(&what))?;
                    if what == "T.init" {
                        // A constant, which has no features.
                        let init = self.block(lines, line.indent, depth + 1)?;
                        self.reduction(&init);
                        continue;
                    }
                    if !matches!(what, "T.sblock" | "T.block") {
                        return Err(
                            line.error(&format!("`with {what}` is not read; `with T.sblock` and `with T.init` are"))
                        );
                    }
                    self.reduced.clear();
                    let around = self.predicate.take();
                    let body = self.block(lines, line.indent, depth + 1)?;
                    stmts.push(match std::mem::replace(&mut self.predicate, around) {
                        Some(condition) => Stmt::IfThenElse { condition, then: Box::new(body), otherwise: None },
                        None => body,
                    });
                    self.names.truncate(scope);
                }
                Token::Word(word) if word == "if" => {
                    let condition = self.expression(&mut cursor).map_err(|what| line.error(&what))?;
                    cursor.expect(":").map_err(|what| line.error(&what))?;
                    let then = Box::new(self.block(lines, line.indent, depth + 1)?);
                    stmts.push(Stmt::IfThenElse { condition, then, otherwise: None });
                }
                Token::Word(word) => {
                    stmts.extend(self.line(word, &mut cursor).map_err(|what| line.error(&what))?);
                }
                _ => return Err(line.error("expected a statement")),
            }
        }
        Ok(Stmt::seq(stmts))
    }

    /// Takes in what a block that is not decomposed begins with. It is, unless threads have a part of the sum each.
    fn reduction(&mut self, init: &Stmt) {
        let of_threads = |name: &Name| self.threads.iter().any(|thread| thread.name == *name);
        let (threads, loops): (Vec<Name>, Vec<Name>) =
            std::mem::take(&mut self.reduced).into_iter().partition(|name| of_threads(name));
        if let Stmt::Store { buffer, .. } = init
            && !threads.is_empty()
        {
            self.script.reductions.push(Reduction { buffer: buffer.name.clone(), loops });
        }
    }

    /// `i_0, j_0 in T.grid(2, 4):`, behind `for`.
    fn head(&mut self, line: &mut Cursor<'_>) -> Parsed<(Vec<String>, Range)> {
        let mut targets = vec![line.word()?.to_owned()];
        while line.take(",") {
            targets.push(line.word()?.to_owned());
        }
        line.expect("in")?;
        let how = line.word()?;
        let kind = match how {
            "T.grid" | "range" | "T.serial" | "T.thread_binding" => ForKind::Serial,
            "T.parallel" => ForKind::Parallel,
            "T.vectorized" => ForKind::Vectorized,
            "T.unroll" => ForKind::Unrolled,
            other => return Err(format!("a loop over `{other}` is not read")),
        };
        let mut range = Range { extents: Vec::new(), kind, tag: None, annotated: false, unroll_max_step: 0 };
        line.expect("(")?;
        while !line.take(")") {
            if line.take("thread") {
                line.expect("=")?;
                let tag = line.text()?;
                range.kind = axis(tag)?;
                range.tag = Some(tag.to_owned());
            } else if line.take("annotations") {
                line.expect("=")?;
                range.annotated = true;
                range.unroll_max_step = annotations(line)?;
            } else {
                range.extents.push(line.length()?);
            }
            if !line.peek(")") {
                line.expect(",")?;
            }
        }
        line.expect(":")?;
        line.end()?;
        if range.extents.len() != targets.len() {
            return Err(format!("{} lengths for {} loops; loops begin at 0", range.extents.len(), targets.len()));
        }
        if how == "T.thread_binding" && range.tag.is_none() {
            return Err("expected `thread=…`".into());
        }
        if range.extents.contains(&0) {
            return Err("a loop of length 0".into());
        }
        Ok((targets, range))
    }

    /// Brings the loops into scope; those that stand where the line stands.
    fn open(&mut self, targets: &[String], range: &Range) -> Parsed<Vec<(Name, i64)>> {
        let mut made = Vec::new();
        for (target, extent) in targets.iter().zip(&range.extents) {
            if let Some(tag) = &range.tag {
                let name = match self.threads.iter().find(|thread| thread.tag == *tag) {
                    Some(thread) if thread.extent != *extent => {
                        return Err(format!("{extent} of {tag}, of which there are {} around", thread.extent));
                    }
                    Some(thread) => thread.name.clone(),
                    None => {
                        let name = self.name(target, range);
                        self.threads.push(Thread { tag: tag.clone(), name: name.clone(), extent: *extent });
                        name
                    }
                };
                self.names.push((target.clone(), Expr::Var(name)));
            } else if *extent == 1 && range.kind == ForKind::Serial && !range.annotated {
                self.names.push((target.clone(), Expr::Int(0)));
            } else {
                let name = self.name(target, range);
                self.names.push((target.clone(), Expr::Var(name.clone())));
                made.push((name, *extent));
            }
        }
        Ok(made)
    }

    /// A name that no other loop has.
    fn name(&mut self, target: &str, range: &Range) -> Name {
        let taken = |name: &str| self.loops.iter().any(|known| **known == *name);
        let mut name = target.to_owned();
        let mut count = 1;
        while taken(&name) {
            count += 1;
            name = format!("{target}.{count}");
        }
        let name = Name::from(name);
        self.loops.push(name.clone());
        if range.unroll_max_step > 0 {
            self.script.unroll_max_step.push((name.clone(), range.unroll_max_step));
        }
        name
    }

    /// A statement of one line that begins with this word.
    fn line(&mut self, word: &str, line: &mut Cursor<'_>) -> Parsed<Option<Stmt>> {
        // What says something about the block that its body says too.
        const SAID: [&str; 5] = ["T.reads", "T.writes", "T.sblock_attr", "T.block_attr", "T.func_attr"];
        if SAID.contains(&word) {
            return Ok(None);
        }
        if word == "T.where" {
            line.expect("(")?;
            self.predicate = Some(self.expression(line)?);
            line.expect(")")?;
            line.end()?;
            return Ok(None);
        }
        if line.take("[") {
            let index = self.list(line, "]")?;
            line.expect("=")?;
            let value = self.expression(line)?;
            line.end()?;
            let buffer = self.buffer(word, index.len())?;
            return Ok(Some(Stmt::Store { buffer, index, value }));
        }
        let mut targets = vec![word.to_owned()];
        while line.take(",") {
            targets.push(line.word()?.to_owned());
        }
        line.expect("=")?;
        match line.word()? {
            "T.sblock_alloc_buffer" | "T.alloc_buffer" => {
                line.expect("(")?;
                let shape = line.shape()?;
                let (mut of, mut scope) = (DType::F32, Scope::Panel);
                while !line.take(")") {
                    line.expect(",")?;
                    if line.take("scope") {
                        line.expect("=")?;
                        scope = match line.text()? {
                            "global" => Scope::Panel,
                            "shared" | "shared.dyn" => Scope::Shared,
                            "local" => Scope::Local,
                            other => return Err(format!("scope {other}: global, shared and local are read")),
                        };
                    } else {
                        of = dtype(line.text()?)?;
                    }
                }
                let [name] = &targets[..] else { return Err("one buffer for several names".into()) };
                self.script.allocated.push(buffer(name, shape, of, scope));
            }
            "T.axis.remap" => {
                line.expect("(")?;
                let kinds = line.text()?;
                line.expect(",")?;
                line.expect("[")?;
                let values = self.list(line, "]")?;
                line.expect(")")?;
                if values.len() != targets.len() {
                    return Err(format!("{} loops for {} variables", values.len(), targets.len()));
                }
                let reduced = kinds.chars().zip(&values).filter(|(kind, _)| *kind == 'R');
                reduced.for_each(|(_, value)| self.summed_over(value));
                self.names.extend(targets.into_iter().zip(values));
            }
            kind @ ("T.axis.spatial" | "T.axis.reduce" | "T.axis.S" | "T.axis.R") => {
                line.expect("(")?;
                line.length()?;
                line.expect(",")?;
                let value = self.expression(line)?;
                line.expect(")")?;
                if matches!(kind, "T.axis.reduce" | "T.axis.R") {
                    self.summed_over(&value);
                }
                let [name] = &targets[..] else { return Err("one value for several names".into()) };
                self.names.push((name.clone(), value));
            }
            other => return Err(format!("`{other}` is not read")),
        }
        line.end()?;
        Ok(None)
    }

    fn summed_over(&mut self, value: &Expr) {
        value.visit(&mut |e| {
            if let Expr::Var(name) = e {
                self.reduced.push(name.clone());
            }
        });
    }

    fn buffer(&self, name: &str, dims: usize) -> Parsed<Arc<Buffer>> {
        let mut all = self.script.params.iter().chain(&self.script.allocated);
        match all.find(|buffer| *buffer.name == *name) {
            None => Err(format!("there is no buffer `{name}`")),
            Some(buffer) if buffer.shape.len() != dims => {
                Err(format!("{dims} indices into `{name}`, which has {} dimensions", buffer.shape.len()))
            }
            Some(buffer) => Ok(buffer.clone()),
        }
    }
}

/// The kind of a thread axis.
fn axis(tag: &str) -> Parsed<ForKind> {
    match tag {
        "blockIdx.x" => Ok(ForKind::BlockIdx),
        "threadIdx.x" => Ok(ForKind::ThreadIdx),
        "vthread" | "vthread.x" => Ok(ForKind::VThread),
        other => Err(format!("axis {other}: blockIdx.x, vthread.x and threadIdx.x are read")),
    }
}

/// `{"pragma_auto_unroll_max_step": 64, …}`: that number, or 0.
fn annotations(line: &mut Cursor<'_>) -> Parsed<i64> {
    line.expect("{")?;
    let mut steps = 0;
    while !line.take("}") {
        let key = line.text()?;
        line.expect(":")?;
        if key == "pragma_auto_unroll_max_step" {
            steps = line.length()?;
        } else {
            // A number, a text, or a list of them.
            let list = line.take("[");
            line.next()?;
            while list && !line.take("]") {
                line.next()?;
            }
        }
        if !line.peek("}") {
            line.expect(",")?;
        }
    }
    Ok(steps)
}
