//! Calls of the functions of `dietcode.cuh`, where it stands how fragments lie in registers and in shared memory.

use super::dialect::constant;
use crate::codegen::printer::{Expressions, element_type};
use crate::ir::{Buffer, Expr, Intrinsic, Operand, Parts, Scope, Swizzle};

/// The statement that carries out an intrinsic.
pub(super) fn text(exprs: &Expressions, intrinsic: &Intrinsic) -> String {
    match intrinsic {
        Intrinsic::Copy {
            to, to_index, to_step, from, from_index, lanes, valid, padding, asynchronous, tf32, ..
        } => {
            let (to_text, from_text) = (exprs.element(to, to_index), exprs.element(from, from_index));
            let valid = exprs.text(valid);
            let tensor = [from, to].into_iter().find(|buffer| buffer.scope == Scope::Global && *lanes > 1);
            let aligned = tensor.map_or("true".to_owned(), |buffer| aligned(buffer, *lanes));
            let element = element_type(to.dtype);
            let padding = padding.as_ref().map_or(String::new(), |e| format!(", {}", constant(exprs, to.dtype, e)));
            match (&to.scope, asynchronous) {
                // The tile's sums are written by the vector that they were collected in.
                (Scope::Global, _) => {
                    format!("dietcode_store<{element}, {lanes}>(&{to_text}, {}, {valid}, {aligned});", from.name)
                }
                (_, true) => {
                    format!(
                        "dietcode_copy_async<{element}, {lanes}>(&{to_text}, &{from_text}, {valid}, {aligned}{padding});"
                    )
                }
                (_, false) => {
                    let tf32 = if *tf32 { ", true" } else { "" };
                    format!(
                        "dietcode_copy<{element}, {lanes}{tf32}>(&{to_text}, {to_step}, &{from_text}, {valid}, {aligned}{padding});"
                    )
                }
            }
        }
        Intrinsic::Commit => "dietcode_commit();".to_owned(),
        Intrinsic::Wait(groups) => format!("dietcode_wait<{groups}>();"),
        Intrinsic::LoadMatrix {
            to,
            to_index,
            from,
            from_index,
            operand,
            reduce_stride,
            spatial_stride,
            fragments,
            parts,
        } => {
            let function = match (operand, fragments) {
                (Operand::A, _) => "dietcode_load_a",
                (Operand::B, 1) => "dietcode_load_b",
                (Operand::B, _) => "dietcode_load_b_pair",
            };
            // As it lies: whether rows of shared memory run along the summed loop, and how far they are apart.
            let (transposed, stride) = match reduce_stride {
                1 => (false, spatial_stride),
                _ => (true, reduce_stride),
            };
            let high = registers(exprs, to, to_index);
            let rows = match Swizzle::of(from).zip(from_index.split_last()) {
                Some((swizzle, (column, rows))) => {
                    let Swizzle { chunk, groups, rows: alike } = swizzle;
                    let part = |kept: &dyn Fn(usize) -> bool| {
                        let zeroed = |(at, e): (usize, &Expr)| if kept(at) { e.clone() } else { Expr::Int(0) };
                        exprs.text(&exprs.offset(from, &from_index.iter().enumerate().map(zeroed).collect::<Vec<_>>()))
                    };
                    let (outer, inner) =
                        (part(&|at| at == 0 && !rows.is_empty()), part(&|at| (1..rows.len()).contains(&at)));
                    let row = exprs.text(&exprs.row_in_turn(from, swizzle, from_index));
                    let columns =
                        from.shape.last().and_then(Expr::as_int).expect("tiles in shared memory have constant extents");
                    let apart = stride / columns;
                    let (element, column) = (element_type(from.dtype), exprs.text(column));
                    let kind = format!("dietcode_swizzled_rows<{element}, {chunk}, {groups}, {alike}, {apart}>");
                    format!("{kind}{{{}, {outer}, {inner}, {row}, {column}, {stride}}}", from.name)
                }
                None => format!("&{}, {stride}", exprs.element(from, from_index)),
            };
            let count = if *operand == Operand::A { 4 } else { 2 * fragments };
            let then = match (parts, to_index.split_first()) {
                (Parts::HighAndLow, Some((_, own))) => {
                    let low = registers(exprs, to, &[&[Expr::Int(1)], own].concat());
                    format!(" dietcode_split_tf32<{count}>({high}, {low});")
                }
                (Parts::High, _) => format!(" dietcode_round_tf32<{count}>({high});"),
                _ => String::new(),
            };
            format!("{function}<{transposed}>({high}, {rows}, dietcode_warp_lane);{then}")
        }
        Intrinsic::Mma { to, to_index, a, a_index, b, b_index } => {
            let [d, a_text, b_text] =
                [(to, to_index), (a, a_index), (b, b_index)].map(|(buffer, index)| registers(exprs, buffer, index));
            format!("dietcode_mma({d}, {a_text}, {b_text}, {}{{}});", element_type(a.dtype))
        }
        Intrinsic::AtomicAdd { to, index, value } => {
            format!("dietcode_atomic_add(&{}, {});", exprs.element(to, index), exprs.text(value))
        }
        Intrinsic::TransposeCopy { .. }
        | Intrinsic::Prefetch { .. }
        | Intrinsic::Dot { .. }
        | Intrinsic::MeetLanes { .. } => {
            unreachable!(
                "lowering for a GPU makes no transposing copies, prefetches nothing, and has other matrix instructions and no lanes"
            )
        }
    }
}

/// The variable that says whether a tensor can be accessed by vectors.
pub(super) fn aligned(buffer: &Buffer, lanes: i64) -> String {
    format!("dietcode_{}_by_{lanes}", buffer.name)
}

/// The first of a thread's registers that an operand takes.
fn registers(exprs: &Expressions, buffer: &Buffer, index: &[Expr]) -> String {
    match exprs.offset(buffer, index) {
        Expr::Int(0) => buffer.name.to_string(),
        offset => format!("{} + {}", buffer.name, exprs.operand(&offset)),
    }
}
