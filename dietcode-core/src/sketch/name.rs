//! Names of micro-kernels and of configurations: they are files and parts of symbols.

use serde::Serialize;

use super::Cover;
use crate::schedule::{Instruction, Level, Trace};

/// The longest name; longer ones are cut and end in a hash.
pub(super) const MAX_NAME: usize = 128;

/// A C identifier for parameters: their plain name if that reads in one way only and is not too long, else its beginning
/// and a hash of the parameters.
pub(super) fn identifier(parameters: &impl Serialize, plain: &str, reads_one_way: bool) -> String {
    if reads_one_way && plain.len() <= MAX_NAME {
        return plain.to_owned();
    }
    let json = serde_json::to_vec(parameters).unwrap_or_default();
    let hash = blake3::hash(&json).to_hex();
    let readable = plain.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let start: String = readable.take(MAX_NAME - 18).collect();
    format!("{start}_0{}", &hash[..16])
}

/// The name of a micro-kernel: the tile that a thread has in registers, and 8 digits of the trace's hash, `8x48_3f9a12c4`; what is not
/// split is called `nest_3f9a12c4`, and a cover by both of its tiles, `8x48_and_2x48_3f9a12c4`. A symbol has the kernel's name in front of
/// it.
pub(super) fn name_of(trace: &Trace, cover: Option<&Cover>) -> String {
    let (json, tiles) = match cover {
        None => (serde_json::to_vec(trace), tile_of(trace)),
        Some(cover) => {
            (serde_json::to_vec(&(trace, cover)), format!("{}_and_{}", tile_of(trace), tile_of(&cover.rest)))
        }
    };
    let hash = &blake3::hash(&json.unwrap_or_default()).to_hex()[..8];
    format!("{tiles}_{hash}")
}

/// The tile that a thread has in registers.
fn tile_of(trace: &Trace) -> String {
    let splits =
        |instruction: &Instruction| matches!(instruction, Instruction::Split { .. } | Instruction::SplitInto { .. });
    if !trace.instructions.iter().any(splits) {
        return "nest".to_owned();
    }
    let tile: Vec<String> = register_tile(trace).into_iter().filter(|size| *size > 1).map(|n| n.to_string()).collect();
    if tile.is_empty() { "1".to_owned() } else { tile.join("x") }
}

/// The elements of each axis that a thread has in registers.
fn register_tile(trace: &Trace) -> Vec<i64> {
    let in_registers = |level: Level| {
        use Level::{Fragment, Inner, Lanes, Outer, Register, Vthread};
        matches!(level, Register | Lanes | Vthread | Outer | Inner | Fragment)
    };
    let axes = trace.instructions.iter().flat_map(|instruction| match instruction {
        Instruction::SampleTiles(axes) => &axes[..],
        _ => &[],
    });
    axes.map(|axis| {
        let factors = axis.factors.iter().filter(|factor| in_registers(factor.level));
        factors
            .filter_map(|factor| trace.decisions.get(&factor.var))
            .fold(1, |tile: i64, size| tile.saturating_mul(*size))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::schedule::{Axis, Factor, Part, Size, Tail};

    fn trace(rows: i64, lanes: i64, steps: i64) -> Trace {
        let axis = |name: &str, factors: &[(&str, Level)]| Axis {
            name: name.into(),
            factors: factors.iter().map(|(var, level)| Factor { var: (*var).into(), level: *level }).collect(),
        };
        let axes = vec![
            axis("i", &[("i_block", Level::Block), ("i_register", Level::Register)]),
            axis("j", &[("j_lanes", Level::Lanes)]),
            axis("k", &[("k_steps", Level::Steps)]),
        ];
        let factor = Size(vec![Part::Var("i_register".into())]);
        let split = Instruction::Split { parent: "i".into(), factor, tail: Tail::Pad, into: ["a".into(), "b".into()] };
        let values = [("i_block", 64), ("i_register", rows), ("j_lanes", lanes), ("k_steps", steps)];
        let decisions: BTreeMap<_, _> = values.map(|(var, value)| (var.into(), value)).into();
        Trace::new([Instruction::SampleTiles(axes), split]).with(decisions)
    }

    #[test]
    fn a_name_is_the_register_tile_and_a_hash_of_all() {
        let name_of = |trace: &Trace| super::name_of(trace, None);
        let name = name_of(&trace(8, 48, 384));
        assert!(name.starts_with("8x48_") && name.len() == "8x48_".len() + 8, "{name}");
        assert_eq!(name, name_of(&trace(8, 48, 384)), "equal traces have equal names");
        assert_ne!(name, name_of(&trace(8, 48, 385)));
        assert!(name_of(&trace(1, 16, 1)).starts_with("16_"), "what is 1 is left out");
        assert!(name_of(&trace(1, 1, 1)).starts_with("1_"));
        assert!(name_of(&Trace::new([Instruction::DecomposeReduction])).starts_with("nest_"));
    }

    #[test]
    fn the_name_of_a_cover_follows_from_all_that_it_is_made_of() {
        let of = |rest: &Trace, multiple: i64, along: &str| {
            let cover = Cover { along: along.to_owned(), multiple, rest: rest.clone() };
            super::name_of(&trace(8, 48, 384), Some(&cover))
        };
        let rest = trace(2, 48, 384);
        let name = of(&rest, 64, "M");
        assert!(name.starts_with("8x48_and_2x48_") && name.len() == "8x48_and_2x48_".len() + 8, "{name}");
        let others = [of(&rest, 32, "M"), of(&rest, 64, "N"), of(&trace(2, 48, 64), 64, "M")];
        assert!(!others.contains(&name) && of(&rest, 64, "M") == name, "{name} {others:?}");
    }
}
