//! What the decision tree may split by beside shape variables: what follows of several, as integers.

use super::grow::variables;
use crate::codegen::quantity::Quantity;
use crate::ir::{ForKind, Program};
use crate::schedule::{Relation, Schedule};
use crate::sketch::Lowered;

/// What splits may be by, for micro-kernels on so many cores: shape variables first, of which a split is taken where others gain no more.
pub(super) fn quantities(program: &Program, micro_kernels: &[&Lowered], cores: i64) -> Vec<Quantity<String>> {
    let vars: Vec<String> = program.shape_vars.iter().map(|var| var.to_string()).collect();
    let int = Quantity::Int;
    let mut all = variables(&vars);
    let bytes = program.params.iter().map(|tensor| {
        let elements = product(tensor.shape.iter().map(Quantity::of_expr))?;
        Some(elements.times(int(tensor.dtype.bytes())))
    });
    let bytes = bytes.collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().reduce(Quantity::plus));
    let mut new = |quantity: Option<Quantity<String>>| {
        let is_variable = |quantity: &Quantity<String>| {
            let mut any = false;
            quantity.each_var(&mut |_| any = true);
            any
        };
        // Derived extents have no place in a dispatcher.
        let is_known = |quantity: &Quantity<String>| quantity.map(&|var| vars.contains(var).then_some(())).is_some();
        // A file in which it stood would not be read.
        let is_readable = |quantity: &Quantity<String>| Quantity::parse(&quantity.to_string()).is_ok();
        all.extend(quantity.filter(|q| is_variable(q) && is_known(q) && is_readable(q) && !all.contains(q)));
    };
    new(bytes);
    for lowered in micro_kernels {
        let parts = parts(lowered);
        let tiles = |part: &Part<'_>| Some(part.of(&tiles(part.schedule)?));
        let Some(tiles) = sum(parts.iter().map(tiles)) else { continue };
        // In percent: of the cores' time that all waves take, and of the elements that all tiles have.
        let waves = tiles.clone().plus(int(cores - 1)).over(int(cores));
        let used = tiles.clone().times(int(100)).over(waves.times(int(cores)));
        new(Some(tiles));
        new(Some(used).filter(|_| cores > 1));
        let [padded, asked] = [0, 1].map(|which| {
            let of = |part: &Part<'_>| Some(part.of(&padded(part.schedule, parts.len() > 1)?[which]));
            sum(parts.iter().map(of))
        });
        new(padded.zip(asked).map(|(padded, asked)| padded.times(int(100)).over(asked)));
    }
    all
}

/// A schedule, and what it computes of a shape variable: of a cover, which has two.
struct Part<'l> {
    schedule: &'l Schedule,
    of: Option<(String, Quantity<String>)>,
}

impl Part<'_> {
    /// A quantity of the whole, of the part.
    fn of(&self, quantity: &Quantity<String>) -> Quantity<String> {
        match &self.of {
            None => quantity.clone(),
            Some((var, size)) => quantity.substitute(var, size),
        }
    }
}

/// The parts of a micro-kernel: one, or those of a cover.
fn parts(lowered: &Lowered) -> Vec<Part<'_>> {
    let Some(cover) = &lowered.cover else { return vec![Part { schedule: lowered.schedule(), of: None }] };
    let var = cover.cut.along.to_string();
    let (whole, multiple) = (Quantity::Var(var.clone()), Quantity::Int(cover.multiple));
    let main = whole.clone().over(multiple.clone()).times(multiple);
    let of = |schedule, size| Part { schedule, of: Some((var.clone(), size)) };
    vec![of(lowered.schedule(), main.clone()), of(cover.rest.schedule(), whole.minus(main))]
}

/// None where a summand is none.
fn sum(mut all: impl Iterator<Item = Option<Quantity<String>>>) -> Option<Quantity<String>> {
    all.try_fold(Quantity::Int(0), |sum, part| Some(part?.plus(sum)))
}

/// How many tiles a schedule has.
fn tiles(schedule: &Schedule) -> Option<Quantity<String>> {
    let is_parallel = |kind: ForKind| matches!(kind, ForKind::Parallel | ForKind::BlockIdx);
    let parallel = schedule.loops.iter().filter(|l| is_parallel(l.kind));
    product(parallel.map(|l| Quantity::of_expr(&schedule.program.taken(&l.extent))))
}

/// None where a factor is none.
fn product(mut all: impl Iterator<Item = Option<Quantity<String>>>) -> Option<Quantity<String>> {
    all.try_fold(Quantity::Int(1), |product, factor| Some(product.times(factor?)))
}

/// Iterations of all tiles of the loops of a nest that are split first, and of these loops; or of all loops, of which sums are taken.
fn padded(schedule: &Schedule, of_all: bool) -> Option<[Quantity<String>; 2]> {
    let mut both = [Quantity::Int(1), Quantity::Int(1)];
    for iter in &schedule.block.iters {
        let factor = schedule.relations.iter().find_map(|relation| match relation {
            Relation::Split { parent, factor, guard: true, .. } if *parent == iter.name => Some(factor),
            _ => None,
        });
        let extent = || Quantity::of_expr(&schedule.program.taken(&iter.extent));
        let (padded, asked) = match factor {
            None if of_all => (extent()?, extent()?),
            None => continue,
            Some(factor) => {
                let (extent, factor) = (extent()?, Quantity::of_expr(factor)?);
                let tiles = extent.clone().plus(factor.clone()).minus(Quantity::Int(1)).over(factor.clone());
                (tiles.times(factor), extent)
            }
        };
        let [before, of_asked] = both;
        both = [before.times(padded), of_asked.times(asked)];
    }
    Some(both)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Target, avx512};
    use crate::sketch::{MicroKernel, Tiled};
    use crate::testing::{DENSE, program};

    #[test]
    fn a_split_may_be_by_tiles_padding_waves_and_bytes() {
        let (program, target) = (program(DENSE), Target::Cpu(avx512()));
        let tile = Tiled::default_for(&program, &avx512()).micro_kernel(&program, &avx512()).unwrap();
        let nest = MicroKernel::nest(&program).lowered(&program, &target).unwrap();
        let all = quantities(&program, &[&tile.1, &nest], 4);
        let texts: Vec<String> = all.iter().map(ToString::to_string).collect();
        assert!(
            all.len() >= 6 && texts.iter().all(|text| Quantity::parse(text).unwrap().to_string() == *text),
            "{texts:?}"
        );
        let value = |m: i64, of: &Quantity<String>| of.value(&|var| if var == "M" { m } else { 768 });
        let with = |word: &str| all.iter().find(|q| q.to_string().contains(word)).unwrap();
        assert_eq!(value(100, with("* 4 + ")), 4 * (100 * 768 + 768 * 768 + 100 * 768), "{texts:?}");
        // Both vary with the tile that is wasted.
        let percent: Vec<&Quantity<String>> = all.iter().filter(|q| q.to_string().contains("* 100 / ")).collect();
        assert!(percent.len() >= 2 && percent.iter().all(|of| (1..=20_000).contains(&value(1, of))), "{texts:?}");
    }

    /// Of 70 rows, 64 are covered by tiles of 8 and 6 by tiles of 6.
    #[test]
    fn both_parts_of_a_cover_count() {
        let (program, target) = (program(DENSE), Target::Cpu(avx512()));
        let [main, rest] = [8, 6].map(|rows| {
            let register_tile = [("i".to_owned(), rows), ("j".to_owned(), 16)].into();
            let block_tile = [("k".to_owned(), 32)].into();
            let tiled = Tiled { vector: Some("j".into()), register_tile, block_tile, ..Tiled::default() };
            tiled.micro_kernel(&program, &avx512()).unwrap().0
        });
        let cover = MicroKernel::cover(&main, &rest, "M", 64).lowered(&program, &target).unwrap();
        let of_48 = MicroKernel::cover(&main, &rest, "M", 48).lowered(&program, &target).unwrap();
        let value = |var: &str| if var == "M" { 70 } else { 96 };
        let shape: Vec<i64> = program.shape_vars.iter().map(|var| value(var)).collect();
        // Tiles, and their elements in percent of those that are asked for.
        for (lowered, padded) in [(main.lowered(&program, &target).unwrap(), 102), (cover, 100), (of_48, 102)] {
            let all = quantities(&program, &[&lowered], 1);
            let values = all[program.shape_vars.len() + 1..].iter().map(|of| of.value(&|var: &String| value(var)));
            let tiles = crate::cost_model::Adaptation::of(&lowered, &shape, 1).grid;
            assert_eq!(values.collect::<Vec<_>>(), [tiles, padded], "{all:?}");
        }
    }

    #[test]
    fn no_split_is_by_what_a_tuned_file_cannot_have() {
        let names: Vec<String> = (0..8).map(|dim| format!("{}{dim}", "EXTENT_".repeat(9))).collect();
        let shape = names.iter().fold("f32".to_owned(), |of, name| format!("[{of}; {name}]"));
        let loops: String = (0..8).map(|dim| format!("for i{dim} in 0..{} {{ ", names[dim])).collect();
        let element: String = (0..8).rev().map(|dim| format!("[i{dim}]")).collect();
        let (tensor, ends) = (format!("&{shape}"), "}".repeat(8));
        let source = format!(
            "fn sum(a: {tensor}, b: {tensor}, c: {tensor}, y: &mut {shape}) {{
                {loops} y{element} = a{element} + b{element} + c{element}; {ends} }}"
        );
        let (program, target) = (program(&source), Target::Cpu(avx512()));
        let nest = MicroKernel::nest(&program).lowered(&program, &target).unwrap();
        let all = quantities(&program, &[&nest], 4);
        assert!(names.iter().all(|name| all.iter().any(|of| of.to_string() == *name)));
        assert!(all.iter().all(|of| Quantity::parse(&of.to_string()).is_ok()));
        assert!(!all.iter().any(|of| of.to_string().contains("* 4 + ")), "bytes name all extents four times: {all:?}");
    }
}
