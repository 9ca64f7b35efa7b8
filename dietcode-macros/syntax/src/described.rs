//! A kernel in words, for those who call it: in the documentation of its Rust function, and in the header of a C library.

use crate::{Expr, KernelDef, bounds};
use syn::ItemFn;

/// "a tensor of rank 2, which is read"
pub fn role(def: &KernelDef, at: usize) -> String {
    let param = &def.params[at];
    let reads = def.values().any(|value| value.any(&|e| matches!(e, Expr::Load { param, .. } if *param == at)));
    if def.prepared.iter().any(|prepared| prepared.param == at) {
        return format!(
            "a tensor of rank {}, which is read as `prepare_{}` has laid it out",
            param.dims.len(),
            param.name
        );
    }
    match (param.is_scalar(), param.mutable, reads) {
        (true, ..) => "a scalar".to_owned(),
        (_, true, true) => format!("a tensor of rank {}, which is read and written", param.dims.len()),
        (_, true, false) => format!("a tensor of rank {}, which is written", param.dims.len()),
        (_, false, true) => format!("a tensor of rank {}, which is read", param.dims.len()),
        (_, false, false) => format!("a tensor of rank {}, of which only the extents are read", param.dims.len()),
    }
}

/// Which dimension says what each shape variable is, and what all others have to be: "`M` is dimension 0 of `x`".
pub fn extents(def: &KernelDef) -> Vec<String> {
    let binders = def.shape_vars.iter().map(|var| format!("`{}` is {}", var.name, place(def, var.param, var.dim)));
    let is_binder = |at, dim| def.shape_vars.iter().any(|var| (var.param, var.dim) == (at, dim));
    let others = def.params.iter().enumerate().flat_map(|(at, param)| {
        let dims = param.dims.iter().enumerate().filter(move |(dim, _)| !is_binder(at, *dim));
        dims.map(move |(dim, extent)| format!("{} has to be `{extent}`", place(def, at, dim)))
    });
    binders.chain(others).collect()
}

/// The indices that a call checks: "`i + 2` in dimension 0 of `x`".
pub fn checked_indices(def: &KernelDef) -> Vec<String> {
    let index = |bound: crate::Bound| format!("`{}` in {}", bound.index, place(def, bound.param, bound.dim));
    bounds(def).into_iter().map(index).collect()
}

fn place(def: &KernelDef, param: usize, dim: usize) -> String {
    format!("dimension {dim} of `{}`", def.params[param].name)
}

/// The nest as it is written, from `fn` on; in its canonical form where its text is not known.
pub fn nest(def: &KernelDef, item: &ItemFn) -> String {
    let (inputs, block) = (item.sig.paren_token.span.join(), item.block.brace_token.span.join());
    match inputs.source_text().zip(block.source_text()) {
        Some((inputs, block)) => flush_left(format!("fn {}{inputs} {block}", def.name).trim_end()),
        None => {
            let whole = def.to_string();
            whole.split_once('\n').map_or("", |(_attribute, nest)| nest.trim_end()).to_owned()
        }
    }
}

/// The text with its lines but the first moved to the left, as far as all of them can be.
fn flush_left(text: &str) -> String {
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let filled = text.lines().skip(1).filter(|line| !line.trim().is_empty());
    let common = filled.map(|line| indent(&line)).min().unwrap_or(0);
    let lines =
        text.lines().enumerate().map(|(at, line)| if at == 0 { line } else { line.get(common..).unwrap_or("") });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::flush_left;

    #[test]
    fn what_lines_have_in_common_is_taken_off() {
        assert_eq!(flush_left("fn f() {\r\n        a\n\n    ü\n    }"), "fn f() {\n    a\n\nü\n}");
    }
}
