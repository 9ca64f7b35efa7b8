//! Random nests: 1 to 3 spatial loops, 0 to 2 reductions by any operator, extents up to 70, primes among them, seldom an empty one. Some have
//! scalars, sums under a condition or over a triangle, or read the element that they write. Half of them are all `f32`, an eighth all
//! `f64`, the others have any element type anywhere.

use dietcode_syntax::{
    Affine, BinaryOp, CompareOp, Condition, DType, Expr, Function, KernelDef, LoopDef, Param, Prepared, ReduceOp,
    Reduction, Role, ShapeVar,
};
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};

/// The types that nests of floats store.
const FLOATS: [DType; 4] = [DType::F32, DType::F16, DType::BF16, DType::F64];

/// A nest over random accesses, with a random update and a random tail.
fn random(rng: &mut StdRng, name: &str) -> KernelDef {
    let spatial = rng.random_range(1..=3);
    let reduce = rng.random_range(0..=2);
    let mut def = KernelDef {
        name: name.into(),
        config: None,
        params: Vec::new(),
        shape_vars: Vec::new(),
        loops: loops(rng, spatial, reduce),
        output: 0,
        output_index: Vec::new(),
        reduction: None,
        epilogue: Expr::Acc,
        idle_reads: Vec::new(),
        prepared: Vec::new(),
    };
    def.shape_vars = def.loops.iter().flat_map(|l| &l.extent.terms).map(|(name, _)| shape_var(name)).collect();
    let inputs = rng.random_range(1..=2);
    let loads: Vec<Expr> = (0..inputs).map(|n| input(rng, &mut def, &format!("in{n}"))).collect();
    output(rng, &mut def);
    let (a, b) = (loads[0].clone(), loads[loads.len() - 1].clone());
    if reduce > 0 || rng.random_bool(0.2) {
        let op = if rng.random_bool(0.4) { ReduceOp::Sum } else { *ReduceOp::ALL.choose(rng).expect("operators") };
        let init = match rng.random_range(0..5) {
            0 => Expr::Literal(1.5),
            1 => Expr::Load { param: def.output, index: def.output_index.clone() },
            2 => along_spatial(rng, &mut def, "start"),
            _ => Expr::Literal(op.identity(DType::F32)),
        };
        let adds_to_output = matches!(init, Expr::Load { param, .. } if param == def.output);
        let mut update = if op == ReduceOp::Prod { factor(rng, a, b) } else { update(rng, a, b) };
        if rng.random_bool(0.15) {
            update = binary(BinaryOp::Mul, scalar(&mut def, "scale"), update);
        }
        let condition = (reduce > 0 && rng.random_bool(0.25)).then(|| condition(rng, &mut def));
        def.reduction = Some(Reduction { op, dtype: DType::F32, init, update, condition });
        def.epilogue = tail(rng, &mut def, Expr::Acc);
        if !adds_to_output && rng.random_bool(0.25) {
            def.epilogue = plus_output(rng, &mut def);
        }
    } else {
        let value = update(rng, a, b);
        def.epilogue = tail(rng, &mut def, value);
    }
    if rng.random_bool(0.5) {
        let tensors = def.params.iter_mut().filter(|param| !param.dims.is_empty());
        tensors.for_each(|param| param.dtype = *FLOATS.choose(rng).expect("there are types"));
    } else if StdRng::seed_from_u64(def.source_hash()).random_bool(0.25) {
        // What this draws leaves all others as they are.
        def.params.iter_mut().for_each(|param| param.dtype = DType::F64);
    }
    let computes = def.computes_in();
    def.reduction.iter_mut().for_each(|reduction| reduction.dtype = computes);
    triangle(def)
}

/// The nest with terms on one side of a diagonal of two loops only: a fifth of the nests that reduce.
fn triangle(mut def: KernelDef) -> KernelDef {
    // What this draws leaves all others as they are.
    let mut own = StdRng::seed_from_u64(def.source_hash());
    let mut index = || Box::new(Expr::Index(Affine::var(&def.loops.choose(&mut own).expect("a nest has loops").name)));
    let (lhs, rhs) = (index(), index());
    let Some(reduction) = def.reduction.as_mut().filter(|_| own.random_bool(0.2)) else { return def };
    let otherwise = if reduction.op == ReduceOp::Prod { 1.0 } else { 0.0 };
    reduction.update = Expr::Select {
        op: *[CompareOp::Lt, CompareOp::Eq].choose(&mut own).expect("operators"),
        lhs,
        rhs,
        then: Box::new(reduction.update.clone()),
        otherwise: Box::new(Expr::Literal(otherwise)),
    };
    def
}

/// A random nest: a sixth of those that can be are over integers.
pub(crate) fn any(rng: &mut StdRng, name: &str) -> KernelDef {
    let def = random(rng, name);
    // What this draws leaves all others as they are.
    let is_one = StdRng::seed_from_u64(def.source_hash() ^ 0x1397).random_bool(1.0 / 6.0);
    if is_one { integers(def.clone()).unwrap_or(def) } else { def }
}

/// The nest over integers: of the same loops and accesses, with terms and a tail that integers have, into an output of integers, or, scaled, of
/// floats. Of nests without a reduction, and of those with scalars, which are floats, none.
fn integers(mut def: KernelDef) -> Option<KernelDef> {
    if def.params.iter().any(|param| param.dims.is_empty()) {
        return None;
    }
    let mut own = StdRng::seed_from_u64(def.source_hash() ^ 0x1297);
    let rng = &mut own;
    let reduction = def.reduction.as_mut()?;
    let output = def.output;
    let is_input = |e: &Expr| matches!(e, Expr::Load { param, index } if *param != output && !index.is_empty());
    let mut loads = Vec::new();
    collect(&reduction.update, &is_input, &mut loads);
    let (a, b) = (loads.first()?.clone(), loads.last()?.clone());
    let literal = |rng: &mut StdRng| Expr::Literal(f64::from(rng.random_range(-200..=200)));
    let stores_floats = rng.random_bool(0.4);
    reduction.dtype = DType::I32;
    reduction.update = match rng.random_range(0..7) {
        0 => a,
        1 => binary(BinaryOp::Sub, a, b),
        2 => binary(BinaryOp::Mul, Expr::Call(Function::Max, vec![a, literal(rng)]), b),
        3 => Expr::Call(Function::Neg, vec![binary(BinaryOp::Mul, a, binary(BinaryOp::Add, b, literal(rng)))]),
        _ => binary(BinaryOp::Mul, a, b),
    };
    let reads_output = matches!(&reduction.init, Expr::Load { param, .. } if *param == output);
    reduction.init = match &reduction.init {
        init @ Expr::Load { param, .. } if *param != output || !stores_floats => init.clone(),
        _ if reads_output || rng.random_bool(0.5) => Expr::Literal(reduction.op.identity(DType::I32)),
        _ => literal(rng),
    };
    let tail = match rng.random_range(0..3) {
        0 => Expr::Call(Function::Max, vec![Expr::Acc, Expr::Literal(0.0)]),
        _ => Expr::Acc,
    };
    for (at, param) in def.params.iter_mut().enumerate() {
        // The first input has 8 bits, so that products of such meet.
        let inputs = [DType::U8, DType::I8, DType::I32];
        param.dtype = if at < output { *inputs[..2 + at.min(1)].choose(rng).expect("types") } else { DType::I32 };
    }
    def.epilogue = match stores_floats {
        true => binary(BinaryOp::Mul, tail, Expr::Literal(0.25)),
        false => tail,
    };
    if stores_floats {
        def.params[output].dtype = *FLOATS[..3].choose(rng).expect("types");
    }
    Some(def)
}

/// The parts of an expression that are of a kind.
fn collect(e: &Expr, is: &dyn Fn(&Expr) -> bool, found: &mut Vec<Expr>) {
    if is(e) {
        found.push(e.clone());
    }
    e.parts().into_iter().for_each(|part| collect(part, is, found));
}

/// The nest with operands that are laid out before calls: in a third of the nests, each input that may be.
pub(crate) fn prepared(def: KernelDef) -> KernelDef {
    // What this draws leaves all others as they are.
    let mut own = StdRng::seed_from_u64(def.source_hash());
    let inputs = if own.random_bool(0.33) { 0..def.params.len() } else { 0..0 };
    let prepared = inputs.filter_map(|param| Prepared::of(&def, param)).collect();
    KernelDef { prepared, ..def }
}

/// A scalar parameter.
fn scalar(def: &mut KernelDef, name: &str) -> Expr {
    def.params.push(Param { name: name.into(), dims: Vec::new(), dtype: DType::F32, mutable: false });
    Expr::Load { param: def.params.len() - 1, index: Vec::new() }
}

/// A condition on a sum that holds or not, by a scalar's value.
fn condition(rng: &mut StdRng, def: &mut KernelDef) -> Condition {
    let (lhs, rhs) = (scalar(def, "alpha"), Expr::Literal(0.0));
    match rng.random_range(0..3) {
        0 => Condition { op: CompareOp::Lt, lhs: rhs, rhs: lhs },
        _ => Condition { op: CompareOp::Ne, lhs, rhs },
    }
}

/// The nest's value plus what the output held before, always or unless a scalar is 0.
fn plus_output(rng: &mut StdRng, def: &mut KernelDef) -> Expr {
    let value = def.epilogue.clone();
    let before = Expr::Load { param: def.output, index: def.output_index.clone() };
    let beta = scalar(def, "beta");
    let sum = binary(BinaryOp::Add, value.clone(), binary(BinaryOp::Mul, beta.clone(), before));
    if rng.random_bool(0.3) {
        return sum;
    }
    Expr::Select {
        op: CompareOp::Eq,
        lhs: Box::new(beta),
        rhs: Box::new(Expr::Literal(0.0)),
        then: Box::new(value),
        otherwise: Box::new(sum),
    }
}

fn shape_var(name: &str) -> ShapeVar {
    ShapeVar { name: name.into(), param: 0, dim: 0 }
}

fn loops(rng: &mut StdRng, spatial: usize, reduce: usize) -> Vec<LoopDef> {
    let names = ["i", "j", "l", "k", "m"];
    let mut loops = Vec::new();
    for n in 0..spatial + reduce {
        let name = if n < spatial { names[n] } else { names[3 + n - spatial] };
        let mut extent = match rng.random_bool(0.2) {
            true => Affine::constant(rng.random_range(1..=70)),
            false => Affine::var(name.to_uppercase()),
        };
        if extent.as_var().is_some() && rng.random_bool(0.1) {
            extent.constant = -2;
        }
        let role = if n < spatial { Role::Spatial } else { Role::Reduce };
        loops.push(LoopDef { name: name.into(), extent, role });
    }
    loops
}

/// An input that is read at a random affine index, and is just large enough for it.
fn input(rng: &mut StdRng, def: &mut KernelDef, name: &str) -> Expr {
    let mut index = Vec::new();
    let mut dims = Vec::new();
    for _ in 0..rng.random_range(1..=3) {
        let mut form = Affine::constant(if rng.random_bool(0.2) { rng.random_range(1..=2) } else { 0 });
        let mut extent = Affine::constant(form.constant + 1);
        for _ in 0..if rng.random_bool(0.2) { 2 } else { 1 } {
            let l = def.loops.choose(rng).expect("a nest has loops");
            let c = if rng.random_bool(0.15) { 2 } else { 1 };
            if rng.random_bool(0.15) {
                // From the end: c·(extent − 1 − l).
                form = form.add_scaled(&l.extent, c).expect("small numbers");
                form = form.add_scaled(&Affine::var(&l.name), -c).expect("small numbers");
                form.constant -= c;
            } else {
                form = form.add_scaled(&Affine::var(&l.name), c).expect("small numbers");
            }
            extent = extent.add_scaled(&l.extent, c).expect("small numbers");
            extent.constant -= c;
        }
        index.push(form);
        dims.push(extent);
    }
    def.params.push(Param { name: name.into(), dims, dtype: DType::F32, mutable: false });
    Expr::Load { param: def.params.len() - 1, index }
}

/// The output, its dimensions in any order of the spatial loops; seldom the nest writes a part of it only.
fn output(rng: &mut StdRng, def: &mut KernelDef) {
    let mut spatial: Vec<LoopDef> = def.loops.iter().filter(|l| l.role == Role::Spatial).cloned().collect();
    if rng.random_bool(0.3) {
        spatial.reverse();
    }
    def.output = def.params.len();
    let mut dims = Vec::new();
    for l in &spatial {
        let [before, after] =
            if rng.random_bool(0.15) { [rng.random_range(0..=4), rng.random_range(0..=2)] } else { [0; 2] };
        let plus = |form: &Affine, n| form.add_scaled(&Affine::constant(n), 1).expect("small numbers");
        def.output_index.push(plus(&Affine::var(&l.name), before));
        dims.push(plus(&l.extent, before + after));
    }
    def.params.push(Param { name: "out".into(), dims, dtype: DType::F32, mutable: true });
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

fn update(rng: &mut StdRng, a: Expr, b: Expr) -> Expr {
    let half = Expr::Literal(0.5);
    match rng.random_range(0..11) {
        0 => a,
        1 => binary(BinaryOp::Sub, a, b),
        2 => binary(BinaryOp::Mul, Expr::Call(Function::Max, vec![a, Expr::Literal(0.0)]), b),
        3 => Expr::Call(Function::Exp, vec![binary(BinaryOp::Mul, a, half)]),
        4 => Expr::Call(Function::Sqrt, vec![Expr::Call(Function::Abs, vec![binary(BinaryOp::Mul, a, b)])]),
        9 | 10 => function(rng, a, b),
        5 => Expr::Call(Function::Neg, vec![binary(BinaryOp::Mul, a, binary(BinaryOp::Add, b, half))]),
        _ => binary(BinaryOp::Mul, a, b),
    }
}

/// What is multiplied: near 1 in size, as the elements are then, so that a long product is a number.
fn factor(rng: &mut StdRng, a: Expr, b: Expr) -> Expr {
    match rng.random_range(0..6) {
        0 => a,
        1 => Expr::Call(Function::Neg, vec![a]),
        2 => Expr::Call(Function::Sqrt, vec![Expr::Call(Function::Abs, vec![binary(BinaryOp::Mul, a, b)])]),
        3 => binary(BinaryOp::Div, a, b),
        _ => binary(BinaryOp::Mul, a, b),
    }
}

/// Any function, of arguments where it is defined, and so large at most that its value is no infinity: `b` is at most 1.
fn function(rng: &mut StdRng, a: Expr, b: Expr) -> Expr {
    let function = *Function::ALL.choose(rng).expect("there are functions");
    let exponent = rng.random_range(-3..=5);
    let size = || Expr::Call(Function::Abs, vec![a.clone()]);
    let positive = || binary(BinaryOp::Add, size(), Expr::Literal(0.25));
    let args = match function {
        Function::Sqrt | Function::Ln1p => vec![size()],
        Function::Ln | Function::Log2 => vec![positive()],
        Function::Powf => vec![positive(), b],
        Function::Powi if exponent < 0 => vec![positive(), Expr::Literal(f64::from(exponent))],
        Function::Powi => vec![a, Expr::Literal(f64::from(exponent))],
        // The bounds are in the wrong order now and then.
        Function::Clamp => vec![a, Expr::Literal(-0.5), b],
        Function::MulAdd => vec![a, b, Expr::Literal(0.5)],
        function => [a, b].into_iter().take(function.arity()).collect(),
    };
    Expr::Call(function, args)
}

/// A tail on the value, sometimes with a bias along one loop of the output.
fn tail(rng: &mut StdRng, def: &mut KernelDef, value: Expr) -> Expr {
    match rng.random_range(0..10) {
        // Some of it is too large for an `f16`.
        6 => binary(BinaryOp::Mul, value, Expr::Literal(30_000.0)),
        0 => binary(BinaryOp::Add, binary(BinaryOp::Mul, value, Expr::Literal(2.0)), Expr::Literal(1.0)),
        1 => Expr::Select {
            op: CompareOp::Gt,
            lhs: Box::new(value.clone()),
            rhs: Box::new(Expr::Literal(0.0)),
            then: Box::new(value),
            otherwise: Box::new(Expr::Literal(0.0)),
        },
        2 => Expr::Call(Function::Tanh, vec![value]),
        7 | 8 => {
            let bounded = Expr::Call(Function::Clamp, vec![value, Expr::Literal(-4.0), Expr::Literal(4.0)]);
            function(rng, bounded, Expr::Literal(0.75))
        }
        3 => {
            let bias = along_spatial(rng, def, "bias");
            binary(BinaryOp::Add, value, bias)
        }
        4 => {
            let l = def.loops.iter().find(|l| l.role == Role::Spatial).expect("a nest has a spatial loop");
            binary(BinaryOp::Sub, value, Expr::Index(Affine::var(&l.name)))
        }
        _ => value,
    }
}

/// A tensor that is read along some of the spatial loops, in any order.
fn along_spatial(rng: &mut StdRng, def: &mut KernelDef, name: &str) -> Expr {
    let mut spatial: Vec<&LoopDef> = def.loops.iter().filter(|l| l.role == Role::Spatial).collect();
    spatial.shuffle(rng);
    spatial.truncate(rng.random_range(1..=2));
    let dims = spatial.iter().map(|l| l.extent.clone()).collect();
    let index = spatial.iter().map(|l| Affine::var(&l.name)).collect();
    def.params.push(Param { name: name.into(), dims, dtype: DType::F32, mutable: false });
    Expr::Load { param: def.params.len() - 1, index }
}
