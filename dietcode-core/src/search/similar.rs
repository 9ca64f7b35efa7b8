//! Kernels that are alike: the best of one is worth trying for the other.
//!
//! ```text
//! dense(x, w, y): i, j, k    ─┐  the same sum of the same reads,          split k into k_0, k_1; stage w as w_panel
//! layer(a, b, bias, c): …    ─┘  names and what is made of it aside   →   split p into p_0, p_1; stage b as b_panel
//! ```
//!
//! Of several kernels that are searched in one run, an evolution tries in its first round the best of those that had one before. Whether they hold
//! is up to the space of the other: extents, limits and operands of the epilogue differ.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Candidate, Task, Tuning};
use crate::ir::{Expr, Name, Program};
use crate::schedule::Trace;

/// How many of the best of each kernel are tried for others.
const OF_EACH: usize = 8;

/// The traces that were found for kernels that are like one of the tasks, on the same device, in the names of that one: the best of each first.
pub(super) fn traces_for(tasks: &[Task<'_>], at: usize) -> Vec<Trace> {
    let own = &tasks[at].tuning;
    let others = tasks.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, task)| &task.tuning);
    let others = others.filter(|other| other.round > 0 && other.device.machine() == own.device.machine());
    let mut ranked: Vec<(usize, Trace)> = others.flat_map(|other| renamed(other, own.device.program())).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let mut traces: Vec<Trace> = Vec::new();
    for (_, trace) in ranked {
        if !traces.contains(&trace) {
            traces.push(trace);
        }
    }
    traces
}

/// With the rank of each at the number of threads at which it is one of the best.
fn renamed(other: &Tuning<'_>, to: &Program) -> Vec<(usize, Trace)> {
    let Some(names) = Names::between(other.device.program(), to) else { return Vec::new() };
    let settings = 0..other.threads.len();
    let best = settings.flat_map(|threads| other.best_first(threads).into_iter().take(OF_EACH).enumerate());
    let drawn = best.filter(|(_, candidate)| !candidate.micro_kernel.is_nest());
    let renamed = |(rank, candidate): (usize, &Candidate)| {
        Some((rank, names.of_trace(&candidate.micro_kernel.trace.before_postproc())?))
    };
    drawn.filter_map(renamed).collect()
}

/// Which names of one program stand for which of another: loops, tensors, and variables of indices.
#[derive(Debug, Default)]
struct Names(BTreeMap<Name, Name>);

impl Names {
    /// None where the programs reduce other things, in another order of loops, or in another type.
    fn between(from: &Program, to: &Program) -> Option<Names> {
        let ([a], [b]) = (&*from.blocks, &*to.blocks) else { return None };
        let mut names = Names::default();
        let are_loops = a.iters.len() == b.iters.len()
            && a.iters.iter().zip(&b.iters).all(|(a, b)| a.role == b.role && names.stands_for(&a.name, &b.name));
        let is_output = a.output.dtype == b.output.dtype
            && names.stands_for(&a.output.name, &b.output.name)
            && names.all_alike(&a.output_index, &b.output_index);
        let (a, b) = (a.reduction.as_ref()?, b.reduction.as_ref()?);
        let is_sum = a.op == b.op && a.dtype == b.dtype && names.alike(&a.update, &b.update);
        (are_loops && is_output && is_sum).then_some(names)
    }

    /// Has a name stand for another, unless either is taken.
    fn stands_for(&mut self, from: &Name, to: &Name) -> bool {
        match self.0.get(from) {
            Some(known) => known == to,
            None if self.0.values().any(|known| known == to) => false,
            None => self.0.insert(from.clone(), to.clone()).is_none(),
        }
    }

    fn alike(&mut self, a: &Expr, b: &Expr) -> bool {
        match (a, b) {
            (Expr::Var(a), Expr::Var(b)) => self.stands_for(a, b),
            (Expr::Load(a, a_index), Expr::Load(b, b_index)) => {
                a.dtype == b.dtype && self.stands_for(&a.name, &b.name) && self.all_alike(a_index, b_index)
            }
            (Expr::Binary(one, a, c), Expr::Binary(other, b, d)) => {
                one == other && self.alike(a, b) && self.alike(c, d)
            }
            (Expr::Compare(one, a, c), Expr::Compare(other, b, d)) => {
                one == other && self.alike(a, b) && self.alike(c, d)
            }
            (Expr::Select(a, c, e), Expr::Select(b, d, f)) => self.alike(a, b) && self.alike(c, d) && self.alike(e, f),
            (Expr::Cast(one, a), Expr::Cast(other, b)) => one == other && self.alike(a, b),
            (Expr::Call(one, a), Expr::Call(other, b)) => one == other && self.all_alike(a, b),
            (Expr::Int(_) | Expr::Float(_), _) => a == b,
            _ => false,
        }
    }

    fn all_alike(&mut self, a: &[Expr], b: &[Expr]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.alike(a, b))
    }

    /// A trace in the other's names. None if a word of traces is a name of the program, so that what comes out is none.
    fn of_trace(&self, trace: &Trace) -> Option<Trace> {
        let value = serde_json::to_value(trace).expect("a trace is JSON");
        serde_json::from_value(self.of_value(value)).ok()
    }

    fn of_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.of_text(&text)),
            Value::Array(values) => values.into_iter().map(|value| self.of_value(value)).collect(),
            Value::Object(entries) => {
                entries.into_iter().map(|(key, value)| (self.of_text(&key), self.of_value(value))).collect()
            }
            other => other,
        }
    }

    /// What is made of a loop or a tensor begins with its name: `k_0`, `w_panel`.
    fn of_text(&self, text: &str) -> String {
        let is_of = |name: &str| text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
        let longest = self.0.iter().filter(|(name, _)| is_of(name)).max_by_key(|(name, _)| name.len());
        longest.map_or_else(|| text.to_owned(), |(from, to)| format!("{to}{}", &text[from.len()..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::avx512;
    use crate::sketch::Tiled;
    use crate::testing::{DENSE, program};

    const LAYER: &str = "fn layer(a_in: &[[f32; P]; N], a: &[[f32; P]; O], bias: &[f32; O], k: &mut [[f32; O]; N]) {
        for w in 0..N { for x in 0..O {
            let mut sum = 0.0;
            for y in 0..P { sum += a_in[w][y] * a[x][y]; }
            k[w][x] = (sum + bias[x]).max(0.0);
        } }
    }";

    #[test]
    fn a_trace_is_that_of_the_other_program_in_its_own_names() {
        let (dense, layer) = (program(DENSE), program(LAYER));
        let trace = |of: &Program| {
            let default = Tiled::default_for(of, &avx512()).micro_kernel(of, &avx512()).unwrap().0;
            default.trace.before_postproc()
        };
        let names = Names::between(&dense, &layer).unwrap();
        assert_eq!(names.of_trace(&trace(&dense)), Some(trace(&layer)));
        let back = Names::between(&layer, &dense).unwrap();
        assert_eq!(back.of_trace(&trace(&layer)), Some(trace(&dense)));
        assert_eq!(back.of_text("a_in_panel"), "x_panel", "not of `a`");
    }

    #[test]
    fn programs_that_reduce_something_else_are_not_alike() {
        let changed = |from: &str, to: &str| {
            assert!(LAYER.contains(from), "{from}");
            program(&LAYER.replace(from, to))
        };
        let layer = program(LAYER);
        let others = [
            program(&LAYER.replace("a: &[[f32; P]; O]", "a: &[[f32; O]; P]").replace("a[x][y]", "a[y][x]")).blocks[0]
                .clone(),
            changed("sum += a_in[w][y] * a[x][y]", "sum = sum.max(a_in[w][y] * a[x][y])").blocks[0].clone(),
            changed("a_in[w][y] * a[x][y]", "a_in[w][y] * a_in[w][y] * a[x][y]").blocks[0].clone(),
            program(&LAYER.replace("a: &[[f32; P]; O]", "a: &[[bf16; P]; O]").replace("a[x][y]", "f32::from(a[x][y])"))
                .blocks[0]
                .clone(),
        ];
        for other in others {
            let other = Program { blocks: vec![other], ..layer.clone() };
            assert!(Names::between(&layer, &other).is_none(), "{:?}", other.blocks[0].reduction);
        }
        // Extents and what is made of a sum differ.
        assert!(Names::between(&layer, &changed("(sum + bias[x]).max(0.0)", "sum * 2.0 + bias[x]")).is_some());
    }
}
