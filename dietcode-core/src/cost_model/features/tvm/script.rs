//! Reads a scheduled program that TVM printed (TVMScript) as loops.
//!
//! What TVM does before it extracts features and has nothing to do with memory is done while reading: block variables become what
//! they are bound to (`ConvertBlocksToOpaque`), serial loops that run once vanish (`SimplifyForFeatureExtraction`), and loops over one
//! thread axis become one loop around the kernel (`UnifyThreadBinding`). What has another meaning than loops, stores and
//! arithmetic is refused.

use std::sync::Arc;

use crate::ir::{BinaryOp, Buffer, CompareOp, DType, Expr, ForKind, Function, Name, Scope, Stmt};
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
            },
            names: Vec::new(),
            loops: Vec::new(),
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

fn at_line(at: usize, text: &str, what: &str) -> Error {
    let shown: String = text.trim().chars().take(100).collect();
    Error::input(format!("line {} of the program, `{shown}`: {what}", at + 1))
}

struct Line<'a> {
    at: usize,
    indent: usize,
    text: &'a str,
    tokens: Vec<Token>,
}

impl Line<'_> {
    fn error(&self, what: &str) -> Error {
        at_line(self.at, self.text, what)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// A name, with its dots, or a keyword.
    Word(String),
    Int(i64),
    Float(f64),
    Text(String),
    Sign(&'static str),
}

impl Token {
    fn is(&self, what: &str) -> bool {
        match self {
            Token::Word(word) => word == what,
            Token::Sign(sign) => *sign == what,
            _ => false,
        }
    }
}

const SIGNS: [&str; 23] = [
    "//", "<=", ">=", "==", "!=", "->", "(", ")", "[", "]", "{", "}", ",", ":", "=", "+", "-", "*", "/", "%", "<", ">",
    "@",
];

/// The tokens of a line up to a comment.
fn tokens(line: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = line.trim();
    while let Some(first) = rest.chars().next() {
        let run = |is: fn(char) -> bool| rest.find(|c| !is(c)).unwrap_or(rest.len());
        let length = match first {
            '#' => break,
            c if c.is_whitespace() => c.len_utf8(),
            '"' => {
                let end = rest[1..].find('"').ok_or("a text without an end")?;
                tokens.push(Token::Text(rest[1..=end].to_owned()));
                end + 2
            }
            c if c.is_ascii_digit() => {
                let mut end = run(|c| c.is_ascii_alphanumeric() || c == '.');
                if rest[..end].ends_with(['e', 'E']) && rest[end..].starts_with(['-', '+']) {
                    end += 1 + rest[end + 1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - end - 1);
                }
                let number = &rest[..end];
                tokens.push(match (number.parse(), number.parse()) {
                    (Ok(int), _) => Token::Int(int),
                    (_, Ok(float)) => Token::Float(float),
                    _ => return Err(format!("`{number}` is no number")),
                });
                end
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let end = run(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
                tokens.push(Token::Word(rest[..end].to_owned()));
                end
            }
            c => {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
                tokens.push(Token::Sign(sign.ok_or_else(|| format!("`{c}` is not read"))?));
                tokens.last().map_or(0, |token| if let Token::Sign(sign) = token { sign.len() } else { 0 })
            }
        };
        rest = &rest[length..];
    }
    Ok(tokens)
}

struct Cursor<'a> {
    tokens: &'a [Token],
    depth: usize,
}

type Parsed<T> = Result<T, String>;

impl<'a> Cursor<'a> {
    fn of(line: &'a Line<'_>) -> Cursor<'a> {
        Cursor { tokens: &line.tokens, depth: 0 }
    }

    fn next(&mut self) -> Parsed<&'a Token> {
        let (first, rest) = self.tokens.split_first().ok_or("the line ends too early")?;
        self.tokens = rest;
        Ok(first)
    }

    fn peek(&self, what: &str) -> bool {
        self.tokens.first().is_some_and(|token| token.is(what))
    }

    fn take(&mut self, what: &str) -> bool {
        let found = self.peek(what);
        if found {
            self.tokens = &self.tokens[1..];
        }
        found
    }

    fn expect(&mut self, what: &str) -> Parsed<()> {
        if self.take(what) { Ok(()) } else { Err(format!("expected `{what}`{}", self.found())) }
    }

    fn found(&self) -> String {
        match self.tokens.first() {
            None => ", found the end of the line".into(),
            Some(Token::Word(word)) => format!(", found `{word}`"),
            Some(Token::Sign(sign)) => format!(", found `{sign}`"),
            Some(Token::Int(int)) => format!(", found {int}"),
            Some(Token::Float(float)) => format!(", found {float}"),
            Some(Token::Text(text)) => format!(", found \"{text}\""),
        }
    }

    fn word(&mut self) -> Parsed<&'a str> {
        match self.tokens.first() {
            Some(Token::Word(word)) => {
                self.tokens = &self.tokens[1..];
                Ok(word)
            }
            _ => Err(format!("expected a name{}", self.found())),
        }
    }

    fn text(&mut self) -> Parsed<&'a str> {
        match self.tokens.first() {
            Some(Token::Text(text)) => {
                self.tokens = &self.tokens[1..];
                Ok(text)
            }
            _ => Err(format!("expected a text{}", self.found())),
        }
    }

    /// A number from 0 to 2³¹.
    fn length(&mut self) -> Parsed<i64> {
        match self.tokens.first() {
            Some(Token::Int(length)) if (0..=1 << 31).contains(length) => {
                self.tokens = &self.tokens[1..];
                Ok(*length)
            }
            _ => Err(format!("expected a length{}", self.found())),
        }
    }

    /// `(a, b, …)`, of lengths.
    fn shape(&mut self) -> Parsed<Vec<Expr>> {
        self.expect("(")?;
        let mut shape = Vec::new();
        while !self.take(")") {
            shape.push(Expr::Int(self.length()?));
            if !self.peek(")") {
                self.expect(",")?;
            }
        }
        Ok(shape)
    }

    fn end(&self) -> Parsed<()> {
        if self.tokens.is_empty() { Ok(()) } else { Err(format!("the line goes on{}", self.found())) }
    }
}

fn dtype(name: &str) -> Parsed<DType> {
    match name {
        "float32" => Ok(DType::F32),
        "float16" => Ok(DType::F16),
        "bfloat16" => Ok(DType::BF16),
        other => Err(format!("elements of type {other}: float32, float16 and bfloat16 are read")),
    }
}

fn buffer(name: &str, shape: Vec<Expr>, dtype: DType, scope: Scope) -> Arc<Buffer> {
    Arc::new(Buffer { name: name.into(), dtype, shape, scope })
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
                    if !matches!(what, "T.sblock" | "T.block") {
                        return Err(line.error(&format!("`with {what}` is not read; `with T.sblock` is")));
                    }
                    stmts.push(self.block(lines, line.indent, depth + 1)?);
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
        // What says something about the block that its body says too, and predicates: all iterations count.
        const SAID: [&str; 6] = ["T.reads", "T.writes", "T.where", "T.sblock_attr", "T.block_attr", "T.func_attr"];
        if SAID.contains(&word) {
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
                line.text()?;
                line.expect(",")?;
                line.expect("[")?;
                let values = self.list(line, "]")?;
                line.expect(")")?;
                if values.len() != targets.len() {
                    return Err(format!("{} loops for {} variables", values.len(), targets.len()));
                }
                self.names.extend(targets.into_iter().zip(values));
            }
            "T.axis.spatial" | "T.axis.reduce" | "T.axis.S" | "T.axis.R" => {
                line.expect("(")?;
                line.length()?;
                line.expect(",")?;
                let value = self.expression(line)?;
                line.expect(")")?;
                let [name] = &targets[..] else { return Err("one value for several names".into()) };
                self.names.push((name.clone(), value));
            }
            other => return Err(format!("`{other}` is not read")),
        }
        line.end()?;
        Ok(None)
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

    /// Expressions up to a bracket.
    fn list(&self, line: &mut Cursor<'_>, end: &str) -> Parsed<Vec<Expr>> {
        let mut list = Vec::new();
        while !line.take(end) {
            list.push(self.expression(line)?);
            if !line.peek(end) {
                line.expect(",")?;
            }
        }
        Ok(list)
    }

    fn expression(&self, line: &mut Cursor<'_>) -> Parsed<Expr> {
        line.depth += 1;
        if line.depth > DEEPEST {
            return Err("the expression is nested too deep".into());
        }
        let mut sum = self.comparison(line)?;
        while line.take("and") {
            sum = sum.and(self.comparison(line)?);
        }
        line.depth -= 1;
        Ok(sum)
    }

    fn comparison(&self, line: &mut Cursor<'_>) -> Parsed<Expr> {
        let a = self.sum(line)?;
        let ops = [
            ("<", CompareOp::Lt),
            ("<=", CompareOp::Le),
            (">", CompareOp::Gt),
            (">=", CompareOp::Ge),
            ("==", CompareOp::Eq),
            ("!=", CompareOp::Ne),
        ];
        match ops.into_iter().find(|(sign, _)| line.take(sign)) {
            Some((_, op)) => Ok(Expr::compare(op, a, self.sum(line)?)),
            None => Ok(a),
        }
    }

    fn sum(&self, line: &mut Cursor<'_>) -> Parsed<Expr> {
        let mut sum = self.product(line)?;
        loop {
            let op = if line.take("+") {
                BinaryOp::Add
            } else if line.take("-") {
                BinaryOp::Sub
            } else {
                return Ok(sum);
            };
            sum = Expr::binary(op, sum, self.product(line)?);
        }
    }

    fn product(&self, line: &mut Cursor<'_>) -> Parsed<Expr> {
        let mut product = self.operand(line)?;
        loop {
            let op = if line.take("*") {
                BinaryOp::Mul
            } else if line.take("//") || line.take("/") {
                BinaryOp::Div
            } else if line.take("%") {
                BinaryOp::Mod
            } else {
                return Ok(product);
            };
            product = Expr::binary(op, product, self.operand(line)?);
        }
    }

    fn operand(&self, line: &mut Cursor<'_>) -> Parsed<Expr> {
        match line.next()? {
            Token::Int(value) => Ok(Expr::Int(*value)),
            Token::Float(value) => Ok(Expr::Float(*value)),
            Token::Sign("-") => match line.next()? {
                Token::Int(value) => Ok(Expr::Int(-value)),
                Token::Float(value) => Ok(Expr::Float(-value)),
                _ => Err("`-` in front of what is no number is not read".into()),
            },
            Token::Sign("(") => {
                let inner = self.expression(line)?;
                line.expect(")")?;
                Ok(inner)
            }
            Token::Word(word) if line.take("[") => {
                let index = self.list(line, "]")?;
                Ok(Expr::Load(self.buffer(word, index.len())?, index))
            }
            Token::Word(word) if line.take("(") => self.call(word, line),
            Token::Word(word) => {
                let known = self.names.iter().rev().find(|(name, _)| name == word);
                known.map(|(_, value)| value.clone()).ok_or_else(|| format!("`{word}` is not known"))
            }
            _ => Err("expected an expression".into()),
        }
    }

    fn call(&self, function: &str, line: &mut Cursor<'_>) -> Parsed<Expr> {
        if function == "T.Cast" {
            let of = dtype(line.text()?)?;
            line.expect(",")?;
            let value = self.expression(line)?;
            line.expect(")")?;
            return Ok(Expr::Cast(of, Arc::new(value)));
        }
        let arguments = self.list(line, ")")?;
        let function = function.strip_prefix("T.").unwrap_or(function);
        let of_one = |function| Ok(Expr::Call(function, arguments.clone()));
        match (function, &arguments[..]) {
            ("float32" | "float16" | "bfloat16", [Expr::Float(x)]) => Ok(Expr::Float(*x)),
            ("float32" | "float16" | "bfloat16", [Expr::Int(x)]) => Ok(Expr::Float(*x as f64)),
            ("int32" | "int64", [Expr::Int(x)]) => Ok(Expr::Int(*x)),
            ("max", [a, b]) => Ok(Expr::Binary(BinaryOp::Max, Arc::new(a.clone()), Arc::new(b.clone()))),
            ("min", [a, b]) => Ok(Expr::Binary(BinaryOp::Min, Arc::new(a.clone()), Arc::new(b.clone()))),
            ("if_then_else", [c, a, b]) => {
                Ok(Expr::Select(Arc::new(c.clone()), Arc::new(a.clone()), Arc::new(b.clone())))
            }
            ("exp", [_]) => of_one(Function::Exp),
            ("log", [_]) => of_one(Function::Ln),
            ("sqrt", [_]) => of_one(Function::Sqrt),
            ("tanh", [_]) => of_one(Function::Tanh),
            ("erf", [_]) => of_one(Function::Erf),
            ("fabs", [_]) => of_one(Function::Abs),
            (other, _) => Err(format!("a call of `{other}` with {} arguments is not read", arguments.len())),
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
