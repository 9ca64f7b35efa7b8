//! Ranges that depend on the variable of another loop: a nest has none, and says how it is written instead.
//!
//! ```text
//! for k in 0..i {              for k in 0..M {
//!     acc += x[i][k];     →        acc += if (k as f32) < i as f32 { x[i][k] } else { 0.0 };
//! }                            }
//! ```

use crate::error::Problem;
use crate::nest::{Assign, For, Range, Stmt};
use crate::scope::{OpenLoop, path};
use crate::text::{text, whole};
use crate::{Affine, BinaryOp};

/// The error at a range that depends on `name`, with the loop and the statement that say the same.
pub(crate) fn problem(
    l: &For<'_>,
    range: Range<'_>,
    [start, end]: [&Affine; 2],
    loops: &[OpenLoop],
) -> Option<Problem> {
    let depends = |side: &Affine| loops.iter().find(|l| side.coefficient(&l.name) != 0);
    let name = depends(start).or_else(|| depends(end))?.name.clone();
    let [least, _] = ends(start, loops)?;
    let [_, mut greatest] = ends(end, loops)?;
    if range.inclusive || (depends(end).is_some() && path(range.end).is_some()) {
        // `0..i` runs to `M - 1`: one iteration more says the same, and has an extent of its own.
        greatest = greatest.add_scaled(&Affine::constant(1), 1)?;
    }
    let var = l.var;
    let below = depends(end)
        .map(|_| format!("({var} as f32) <{} {}", if range.inclusive { "=" } else { "" }, number(range.end)));
    let above = depends(start).map(|_| format!("({var} as f32) >= {}", number(range.start)));
    let conditions: Vec<String> = above.into_iter().chain(below).collect();
    let statement = assignment(&l.body).map_or_else(|| "…".to_string(), |assign| chosen(assign, &conditions));
    Some(Problem::RangeOfLoop {
        found: text(range.whole),
        name,
        range: format!("for {var} in {least}..{greatest}"),
        statement,
    })
}

/// The least and the greatest value over all iterations.
fn ends(side: &Affine, loops: &[OpenLoop]) -> Option<[Affine; 2]> {
    let mut ends = [Affine::constant(side.constant), Affine::constant(side.constant)];
    for (name, coefficient) in &side.terms {
        match loops.iter().find(|l| l.name == *name) {
            Some(l) => {
                let last = l.extent.add_scaled(&Affine::constant(1), -1)?;
                let end = &mut ends[usize::from(*coefficient > 0)];
                *end = end.add_scaled(&last, *coefficient)?;
            }
            None => {
                for end in &mut ends {
                    *end = end.add_scaled(&Affine::var(name), *coefficient)?;
                }
            }
        }
    }
    Some(ends)
}

/// An index as an element.
fn number(index: &syn::Expr) -> String {
    let index_text = whole(index);
    if path(index).is_some() { format!("{index_text} as f32") } else { format!("({index_text}) as f32") }
}

/// The first assignment in a loop.
fn assignment<'a>(body: &'a [Stmt<'a>]) -> Option<&'a Assign<'a>> {
    body.iter().find_map(|stmt| match stmt {
        Stmt::For(l) => assignment(&l.body),
        Stmt::If(choice) => assignment(&choice.body),
        Stmt::Assign(assign) => Some(assign),
        Stmt::Let(_) | Stmt::Broken(_) => None,
    })
}

/// An assignment that changes nothing unless the conditions hold.
fn chosen(assign: &Assign<'_>, conditions: &[String]) -> String {
    let target = whole(assign.target);
    let (op, otherwise) = match assign.op {
        None => (String::new(), target.clone()),
        Some(op @ (BinaryOp::Add | BinaryOp::Sub)) => (op.to_string(), "0.0".to_string()),
        Some(op) => (op.to_string(), "1.0".to_string()),
    };
    let choose = |value, condition: &String| format!("if {condition} {{ {value} }} else {{ {otherwise} }}");
    format!("{target} {op}= {};", conditions.iter().rev().fold(whole(assign.value), choose))
}
