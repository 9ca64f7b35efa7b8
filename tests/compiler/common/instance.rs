//! A nest at a shape: its tensors in memory, and what the output must be.

use dietcode_core::ir::holds;
use dietcode_core::reference::{Approx, comparable};
use dietcode_core::runtime::PreparedLayout;
use dietcode_syntax::{Affine, Condition, DType, Expr, KernelDef, Param, Prepared, ReduceOp};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::common::memory::{Memory, rounded};

/// Elements before and after every tensor: those of the output must keep their bits, those of inputs are NaN.
pub(crate) const GUARD: usize = 64;
/// A number of every type.
pub(crate) const CANARY: f64 = 1280.0;

/// A nest with values of its shape variables.
#[derive(Clone)]
pub(crate) struct Instance {
    pub(crate) seed: u64,
    pub(crate) def: KernelDef,
    pub(crate) shape: Vec<i64>,
    /// Elements that lie between the rows of every tensor, and belong to none.
    pub(crate) gap: usize,
    /// Whether the tensors hold numbers of 8 bits only, so that no matrix unit rounds them.
    pub(crate) coarse: bool,
}

impl Instance {
    pub(crate) fn shape_var(&self, name: &str) -> i64 {
        let at = self.def.shape_vars.iter().position(|var| var.name == name);
        self.shape[at.expect("every variable has a value")]
    }

    fn value(&self, form: &Affine) -> i64 {
        form.terms.iter().fold(form.constant, |sum, (name, c)| sum + c * self.shape_var(name))
    }

    fn dims(&self, param: usize) -> Vec<usize> {
        self.def.params[param].dims.iter().map(|dim| self.value(dim).max(0) as usize).collect()
    }

    pub(crate) fn strides(&self, param: usize) -> Vec<usize> {
        let mut dims = self.dims(param);
        dims.last_mut().into_iter().for_each(|row| *row += self.gap);
        (0..dims.len()).map(|d| dims[d + 1..].iter().product()).collect()
    }

    /// Where the elements of a tensor lie, in row-major order.
    fn places(&self, param: usize) -> Vec<usize> {
        let mut places = vec![GUARD];
        for (extent, stride) in self.dims(param).into_iter().zip(self.strides(param)) {
            places = places.iter().flat_map(|place| (0..extent).map(move |i| place + i * stride)).collect();
        }
        places
    }

    /// A tensor in memory: its elements where its strides say, the given value everywhere else.
    fn spread(&self, param: usize, elements: &[f64], elsewhere: f64) -> Memory {
        let places = self.places(param);
        let len = places.last().unwrap_or(&0) + 1 + GUARD;
        let mut memory = Memory::filled(self.def.params[param].dtype, len, elsewhere);
        places.iter().zip(elements).for_each(|(place, element)| memory.set(*place, *element));
        memory
    }

    /// Fresh random tensors, the output's old contents among them. Half of the scalars are 0 or 1. Factors are near 1 in size, and
    /// where an extreme is taken, some elements are NaN, infinite or the other zero.
    pub(crate) fn tensors(&self) -> Vec<Vec<f64>> {
        let mut rng = StdRng::seed_from_u64(self.seed ^ 0x5eed);
        let mut tensor = |(n, param): (usize, &Param)| -> Vec<f64> {
            if param.dims.is_empty() && rng.random_bool(0.5) {
                return vec![if rng.random_bool(0.5) { 0.0 } else { 1.0 }];
            }
            let elements = 0..self.dims(n).iter().product();
            let number = |x: f64| if self.coarse { rounded(DType::BF16, x) } else { x };
            let op = self.def.reduction.as_ref().map(|reduction| reduction.op);
            let special = [f64::NAN, -0.0, f64::NEG_INFINITY, f64::INFINITY];
            let special = &special[..if takes_elements(&self.def) { 4 } else { 2 }];
            // As many bits as the type has, and as it always was of the others.
            let of_type = |rng: &mut StdRng, dtype: DType| match dtype {
                DType::F64 => rng.random_range(-1.0..1.0f64),
                DType::U8 => rng.random_range(0..=u8::MAX).into(),
                DType::I8 => rng.random_range(i8::MIN..=i8::MAX).into(),
                DType::I32 => rng.random_range(i32::MIN..=i32::MAX).into(),
                _ => rng.random_range(-1.0..1.0f32).into(),
            };
            let mut element = || match (op, of_type(&mut rng, param.dtype)) {
                (_, x) if param.dtype.is_integer() => x,
                (Some(ReduceOp::Prod), x) => x.signum() * (1.0 + 0.05 * x),
                (Some(ReduceOp::Max | ReduceOp::Min), x) => match rng.random_bool(0.06) {
                    true => special[rng.random_range(0..special.len())],
                    false => x,
                },
                (_, x) => x,
            };
            elements.map(|_| rounded(param.dtype, number(element()))).collect()
        };
        self.def.params.iter().enumerate().map(&mut tensor).collect()
    }

    /// The tensors in memory, with NaN around them; those of a sum that is not taken are not even there.
    pub(crate) fn memory(&self, tensors: &[Vec<f64>]) -> Vec<Memory> {
        let unread = self.unread(tensors);
        let memory = |(param, elements): (usize, &Vec<f64>)| match unread.contains(&param) {
            true => Memory::unmapped(self.def.params[param].dtype),
            false => self.spread(param, elements, f64::NAN),
        };
        tensors.iter().enumerate().map(memory).collect()
    }

    /// Lays out what the nest's code takes so, with NaN around it; what is not even there stays away.
    pub(crate) fn prepare(&self, memory: &mut [Memory]) {
        for of in &self.def.prepared {
            let Prepared { param, dim, outer, inner, panel, .. } = of;
            let layout = PreparedLayout { param: *param, dim: *dim, outer, inner, panel: *panel as usize };
            let (dims, tensor) = (self.dims(*param), &memory[*param]);
            if tensor.is_unmapped() {
                continue;
            }
            let mut laid_out = vec![f64::NAN; layout.elements(&dims).expect("it fits memory")];
            layout.fill(&dims, &self.strides(*param), |at| tensor.get(GUARD + at), &mut laid_out);
            let mut prepared = Memory::filled(self.def.computes_in(), laid_out.len() + 2 * GUARD, f64::NAN);
            laid_out.into_iter().enumerate().for_each(|(at, element)| prepared.set(GUARD + at, element));
            memory[*param] = prepared;
        }
    }

    /// The tensors that are read for the sum alone, if its condition does not hold.
    fn unread(&self, tensors: &[Vec<f64>]) -> Vec<usize> {
        let Some(reduction) = &self.def.reduction else { return Vec::new() };
        let Some(Condition { op, lhs, rhs }) = &reduction.condition else { return Vec::new() };
        let value = |e: &Expr| match e {
            Expr::Load { param, .. } => tensors[*param][0],
            Expr::Literal(value) => *value,
            other => panic!("{other:?} is no side of a condition"),
        };
        if holds(*op, &value(lhs), &value(rhs)) {
            return Vec::new();
        }
        let alone = |param: &usize| {
            let elsewhere = [&reduction.init, &self.def.epilogue].iter().any(|e| reads(e, *param));
            !self.def.params[*param].dims.is_empty() && !elsewhere
        };
        (0..tensors.len()).filter(|param| reads(&reduction.update, *param)).filter(alone).collect()
    }

    /// The output before a call: poisoned, unless the nest reads it, or leaves a part of it as it is.
    pub(crate) fn output(&self, tensors: &[Vec<f64>]) -> Memory {
        let before = &tensors[self.def.output];
        let poison = vec![f64::NAN; before.len()];
        self.spread(
            self.def.output,
            if reads_output(&self.def) || !writes_all(&self.def) { before } else { &poison },
            CANARY,
        )
    }

    /// The elements of a tensor in memory, in row-major order.
    pub(crate) fn elements(&self, param: usize, memory: &Memory) -> Vec<f64> {
        self.places(param).into_iter().map(|place| memory.get(place)).collect()
    }

    /// Every element of the output is within its bound, and nothing around it was written.
    pub(crate) fn check(&self, output: &mut Memory, expected: &[Approx], describe: impl Fn() -> String) {
        let dtype = self.def.params[self.def.output].dtype;
        for (at, (place, expected)) in self.places(self.def.output).into_iter().zip(expected).enumerate() {
            let found = output.get(place);
            output.set(place, CANARY);
            let admitted = expected.admits(self.def.computes_in(), comparable(dtype, found));
            assert!(admitted, "element {at} is {found}, expected {expected:?}: {}", describe());
        }
        assert!(output.values().all(|x| x == CANARY), "written out of bounds: {}", describe());
    }
}

fn writes_all(def: &KernelDef) -> bool {
    let whole = |(index, dim): (&Affine, &Affine)| {
        def.loops.iter().any(|l| index.as_var() == Some(&l.name) && l.extent == *dim)
    };
    def.output_index.iter().zip(&def.params[def.output].dims).all(whole)
}

/// Whether an extreme of elements is stored as it is: infinite ones then are, and nothing is known of what is computed of them.
fn takes_elements(def: &KernelDef) -> bool {
    let terms = def.reduction.as_ref().map(|reduction| &reduction.update);
    matches!(terms, Some(Expr::Load { .. })) && def.epilogue == Expr::Acc
}

fn reads_output(def: &KernelDef) -> bool {
    let init = def.reduction.as_ref().map(|reduction| &reduction.init);
    init.into_iter().chain([&def.epilogue]).any(|e| reads(e, def.output))
}

fn reads(e: &Expr, of: usize) -> bool {
    match e {
        Expr::Load { param, .. } => *param == of,
        Expr::Acc | Expr::Literal(_) | Expr::Index(_) => false,
        Expr::Binary(_, a, b) => reads(a, of) || reads(b, of),
        Expr::Call(_, args) => args.iter().any(|e| reads(e, of)),
        Expr::Select { lhs, rhs, then, otherwise, .. } => [lhs, rhs, then, otherwise].iter().any(|e| reads(e, of)),
    }
}
