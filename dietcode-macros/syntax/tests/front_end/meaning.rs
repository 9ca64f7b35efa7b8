//! Random nests are run statement by statement, and again from their canonical form: whatever the front end accepts
//! must mean the same. (What it refuses is not compared: most random nests are no kernels.)

use dietcode_syntax::{Affine, BinaryOp, CompareOp, Expr, Function, KernelDef, Role, scan};
use std::collections::HashMap;
use std::fmt::Write;

/// All tensors are `EDGE` by `EDGE`.
const EDGE: usize = 3;
type Tensor = [[f64; EDGE]; EDGE];

/// A value: `Load` is of `x`, `Old` of the output, at two names or integers.
enum Value {
    Number(u8),
    Load(Place),
    Old(Place),
    Name(&'static str),
    Scalar,
    Binary(char, Box<Value>, Box<Value>),
    Max(Box<Value>, Box<Value>),
}

type Place = [&'static str; 2];

enum Stmt {
    For(&'static str, usize, Vec<Stmt>),
    /// What stands under `s > 0.5`.
    If(Vec<Stmt>),
    Let {
        name: &'static str,
        mutable: bool,
        value: Value,
    },
    Set {
        name: &'static str,
        op: &'static str,
        value: Value,
    },
    Store {
        place: Place,
        op: &'static str,
        value: Value,
    },
}

/// A small random source: the nests are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 40).expect("it has 24 bits") % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn value(&mut self, around: &Around, depth: usize) -> Value {
        let sub = |random: &mut Random| Box::new(random.value(around, depth + 1));
        match self.below(if depth > 1 { 5 } else { 8 }) {
            0 => Value::Number(u8::try_from(self.below(3)).expect("it is below 3")),
            1 if around.stores() && self.below(2) == 0 => Value::Old(around.output),
            2 if !around.names.is_empty() => Value::Name(self.pick(&around.names)),
            3 if self.below(4) == 0 => Value::Scalar,
            1..5 => Value::Load([self.pick(&around.loops), self.pick(&around.loops)]),
            5 => Value::Max(sub(self), sub(self)),
            _ => Value::Binary(self.pick(&['+', '-', '*']), sub(self), sub(self)),
        }
    }

    /// A statement, mostly one that has a chance where it stands.
    fn stmt(&mut self, around: &mut Around) -> Stmt {
        let value = self.value(around, 0);
        let op = self.pick(&["", "+", "+", "-", "*"]);
        match self.below(6) {
            0 | 1 => {
                let name = self.pick(&["a", "b"]);
                around.names.push(name);
                Stmt::Let { name, mutable: self.below(2) == 0, value }
            }
            2 | 3 if !around.names.is_empty() => Stmt::Set { name: self.pick(&around.names), op, value },
            _ if around.stores() => Stmt::Store { place: around.output, op, value },
            _ => Stmt::Let { name: "c", mutable: false, value },
        }
    }

    fn nest(&mut self, loops: &[&'static str], around: &Around) -> Vec<Stmt> {
        let mut around = around.clone();
        let mut stmts = Vec::new();
        for _ in 0..self.below(3) {
            stmts.push(self.stmt(&mut around));
        }
        if let [first, rest @ ..] = loops {
            let mut inside = around.clone();
            inside.loops.push(first);
            let l = Stmt::For(first, 1 + self.below(EDGE), self.nest(rest, &inside));
            stmts.push(match self.below(8) {
                0 => Stmt::If(vec![self.stmt(&mut around.clone()), l]),
                1..4 => Stmt::If(vec![l]),
                _ => l,
            });
            for _ in 0..self.below(3) {
                stmts.push(self.stmt(&mut around));
            }
        }
        stmts
    }
}

/// What is in scope.
#[derive(Clone)]
struct Around {
    output: Place,
    loops: Vec<&'static str>,
    names: Vec<&'static str>,
}

impl Around {
    fn stores(&self) -> bool {
        self.output.iter().all(|index| self.loops.contains(index))
    }
}

fn write_value(out: &mut String, value: &Value) {
    let element = |out: &mut String, name: &str, [a, b]: &Place| write!(out, "{name}[{a}][{b}]");
    match value {
        Value::Number(n) => write!(out, "{n}.0"),
        Value::Load(place) => element(out, "x", place),
        Value::Old(place) => element(out, "y", place),
        Value::Name(name) => write!(out, "{name}"),
        Value::Scalar => write!(out, "s"),
        Value::Binary(op, lhs, rhs) => {
            out.push('(');
            write_value(out, lhs);
            out.push(*op);
            write_value(out, rhs);
            write!(out, ")")
        }
        Value::Max(lhs, rhs) => {
            write_value(out, lhs);
            out.push_str(".max(");
            write_value(out, rhs);
            write!(out, ")")
        }
    }
    .expect("a string takes it");
}

fn write_stmts(out: &mut String, stmts: &[Stmt]) {
    for stmt in stmts {
        let (head, value) = match stmt {
            Stmt::For(name, extent, body) => {
                write!(out, "for {name} in 0..{extent} {{ ").expect("a string takes it");
                write_stmts(out, body);
                out.push_str("} ");
                continue;
            }
            Stmt::If(body) => {
                out.push_str("if s > 0.5 { ");
                write_stmts(out, body);
                out.push_str("} ");
                continue;
            }
            Stmt::Let { name, mutable, value } => {
                (format!("let {}{name} =", if *mutable { "mut " } else { "" }), value)
            }
            Stmt::Set { name, op, value } => (format!("{name} {op}="), value),
            Stmt::Store { place: [a, b], op, value } => (format!("y[{a}][{b}] {op}="), value),
        };
        out.push_str(&head);
        write_value(out, value);
        out.push_str("; ");
    }
}

/// Runs the statements as Rust would.
struct Machine<'a> {
    x: &'a Tensor,
    y: Tensor,
    s: f64,
    names: Vec<(&'static str, f64)>,
    loops: HashMap<&'static str, usize>,
}

impl Machine<'_> {
    fn run(&mut self, stmts: &[Stmt]) {
        let names = self.names.len();
        for stmt in stmts {
            match stmt {
                Stmt::For(name, extent, body) => (0..*extent).for_each(|at| {
                    self.loops.insert(name, at);
                    self.run(body);
                }),
                Stmt::If(body) if self.s > 0.5 => self.run(body),
                Stmt::If(_) => {}
                Stmt::Let { name, value, .. } => {
                    let value = self.value(value);
                    self.names.push((name, value));
                }
                Stmt::Set { name, op, value } => {
                    let value = self.value(value);
                    let held = self.names.iter_mut().rev().find(|(n, _)| n == name);
                    change(&mut held.expect("the front end knows it").1, op, value);
                }
                Stmt::Store { place, op, value } => {
                    let (value, [a, b]) = (self.value(value), self.at(place));
                    change(&mut self.y[a][b], op, value);
                }
            }
        }
        self.names.truncate(names);
    }

    fn at(&self, place: &Place) -> [usize; 2] {
        place.map(|name| name.parse().unwrap_or_else(|_| self.loops[name]))
    }

    fn value(&self, value: &Value) -> f64 {
        match value {
            Value::Number(n) => f64::from(*n),
            Value::Load(place) => self.x[self.at(place)[0]][self.at(place)[1]],
            Value::Old(place) => self.y[self.at(place)[0]][self.at(place)[1]],
            Value::Scalar => self.s,
            Value::Name(name) => self.names.iter().rev().find(|(n, _)| n == name).expect("the front end knows it").1,
            Value::Binary('+', lhs, rhs) => self.value(lhs) + self.value(rhs),
            Value::Binary('-', lhs, rhs) => self.value(lhs) - self.value(rhs),
            Value::Binary(_, lhs, rhs) => self.value(lhs) * self.value(rhs),
            Value::Max(lhs, rhs) => self.value(lhs).max(self.value(rhs)),
        }
    }
}

fn change(held: &mut f64, op: &str, value: f64) {
    match op {
        "+" => *held += value,
        "-" => *held -= value,
        "*" => *held *= value,
        _ => *held = value,
    }
}

/// Runs the canonical form by its definition.
struct Canonical<'a> {
    def: &'a KernelDef,
    x: &'a Tensor,
    y: Tensor,
    s: f64,
    loops: HashMap<String, i64>,
}

impl Canonical<'_> {
    fn over(&mut self, role: Role, from: usize, body: &mut dyn FnMut(&mut Self)) {
        let Some(at) = (from..self.def.loops.len()).find(|at| self.def.loops[*at].role == role) else {
            return body(self);
        };
        let l = &self.def.loops[at];
        for value in 0..l.extent.as_constant().expect("all extents are integers") {
            self.loops.insert(l.name.clone(), value);
            self.over(role, at + 1, body);
        }
    }

    fn run(&mut self) {
        let def = self.def;
        self.over(Role::Spatial, 0, &mut |run| {
            let mut acc = 0.0;
            if let Some(reduction) = &def.reduction {
                acc = run.value(&reduction.init, acc);
                let taken = reduction.condition.as_ref().is_none_or(|condition| {
                    assert_eq!(condition.op, CompareOp::Gt);
                    run.value(&condition.lhs, 0.0) > run.value(&condition.rhs, 0.0)
                });
                if taken {
                    run.over(Role::Reduce, 0, &mut |run| {
                        acc = reduction.op.apply(acc, run.value(&reduction.update, 0.0));
                    });
                }
            }
            let (value, [a, b]) = (run.value(&def.epilogue, acc), run.at(&def.output_index));
            run.y[a][b] = value;
        });
    }

    fn at(&self, index: &[Affine]) -> [usize; 2] {
        let value =
            |index: &Affine| index.constant + index.terms.iter().map(|(name, c)| c * self.loops[name]).sum::<i64>();
        [value(&index[0]), value(&index[1])].map(|at| usize::try_from(at).expect("it is inside"))
    }

    fn value(&self, expr: &Expr, acc: f64) -> f64 {
        let value = |expr: &Expr| self.value(expr, acc);
        match expr {
            Expr::Acc => acc,
            Expr::Literal(value) => *value,
            Expr::Load { index, .. } if index.is_empty() => self.s,
            Expr::Load { param, index } => {
                let [a, b] = self.at(index);
                if *param == self.def.output { self.y[a][b] } else { self.x[a][b] }
            }
            Expr::Call(Function::Neg, arguments) => -value(&arguments[0]),
            Expr::Binary(BinaryOp::Add, lhs, rhs) => value(lhs) + value(rhs),
            Expr::Binary(BinaryOp::Sub, lhs, rhs) => value(lhs) - value(rhs),
            Expr::Binary(BinaryOp::Mul, lhs, rhs) => value(lhs) * value(rhs),
            Expr::Call(Function::Max, arguments) => value(&arguments[0]).max(value(&arguments[1])),
            other => panic!("no nest here has a {other:?}"),
        }
    }
}

#[test]
fn what_is_accepted_means_the_same() {
    let x: Tensor = [[0.5, -1.25, 2.0], [3.0, 0.75, -0.5], [1.5, -2.0, 0.25]];
    let y: Tensor = [[1.0, 2.0, -3.0], [0.5, -0.25, 4.0], [-1.5, 0.125, 2.5]];
    let (mut kernels, mut sums, mut conditioned) = (0, 0, 0);
    for seed in 0..20_000 {
        let random = &mut Random(seed);
        let loops = random.pick(&[&["i", "j", "k"][..], &["k", "i", "j"], &["i", "k", "j"], &["j", "i"], &["i"]]);
        let output = random.pick(&[["i", "j"], ["j", "i"], ["i", "0"], ["0", "j"]]);
        let nest = random.nest(loops, &Around { output, loops: vec!["0"], names: Vec::new() });
        let mut body = String::new();
        write_stmts(&mut body, &nest);
        let scalar = if body.contains('s') { "s: f32, " } else { "" };
        let source = format!(
            "#[dynamic_kernel] fn f({scalar}x: &[[f32; {EDGE}]; {EDGE}], y: &mut [[f32; {EDGE}]; {EDGE}]) {{ {body} }}"
        );
        let Ok(def) = scan(&source).expect("it is Rust")[0].parse() else { continue };
        kernels += 1;
        sums += usize::from(def.reduction.is_some());
        conditioned += usize::from(def.reduction.as_ref().is_some_and(|reduction| reduction.condition.is_some()));

        for s in [0.0, 1.5] {
            let mut machine = Machine { x: &x, y, s, names: Vec::new(), loops: HashMap::new() };
            machine.run(&nest);
            let mut canonical = Canonical { def: &def, x: &x, y, s, loops: HashMap::new() };
            canonical.run();
            for (a, b) in machine.y.iter().flatten().zip(canonical.y.iter().flatten()) {
                assert!((a - b).abs() <= 1e-9 * a.abs().max(1.0), "{a} is not {b} with s = {s}\n{source}\n{def}");
            }
        }
    }
    assert!(
        kernels > 400 && sums > 100 && conditioned > 100,
        "too few are kernels to say anything: {kernels}, with sums {sums}, under conditions {conditioned}"
    );
}
