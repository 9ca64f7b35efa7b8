//! The functions of a cover: those of its two parts, joined phase by phase.
//!
//! ```text
//! tiles of a phase:   0 … tiles of the main part,   … tiles of the rest
//!                     M / 64 * 64 of M, as it is    M % 64 of M, tensors from there on
//! ```

use super::Functions;
use crate::codegen::printer::element_type;
use crate::ir::{Along, Program};
use crate::sketch::{Lowered, Remainder};

/// How functions of the ABI name what they are given.
const GIVEN: &str = "void *const *dietcode_buffers, const int64_t *dietcode_strides, const int64_t *dietcode_shape,\n    \
                     void *dietcode_scratch, int64_t dietcode_begin, int64_t dietcode_end";

/// The functions of both parts, and of both together.
pub(super) fn functions(main: &Lowered, cover: &Remainder, symbol: &str) -> Functions {
    let program = &main.schedule().program;
    let parts =
        [("main", main), ("rest", &cover.rest)].map(|(of, part)| Functions::of(part, &format!("{symbol}_{of}")));
    let sizes = sizes(cover, shape_vars(main), parts.each_ref().map(|part| &*part.parameters));
    let mut text: String = parts.iter().map(|part| &*part.text).collect();
    let phase = |at: usize| {
        let phase = format!("{symbol}_{at}");
        let [main, rest] = parts.each_ref().map(|part| part.phases.get(at));
        let [of_main, of_rest] = [("main", main), ("rest", rest)].map(|(of, phase)| tiles(of, phase));
        text += &format!(
            "static int64_t {phase}_grid(const int64_t *dietcode_shape) {{\n{sizes}  return {of_main} + {of_rest};\n}}\n\n\
             static void {phase}_run({GIVEN}) {{\n{sizes}  const int64_t tiles = {of_main};\n"
        );
        if let Some(main) = main {
            text += &format!(
                "  if (dietcode_begin < tiles) {{\n    {main}_run(dietcode_buffers, dietcode_strides, main_shape, \
                 dietcode_scratch, dietcode_begin,\n        dietcode_imin(dietcode_end, tiles));\n  }}\n"
            );
        }
        if let Some(rest) = rest {
            let buffers = buffers(program, cover, parts.each_ref().map(|part| part.workspace.as_deref()));
            text += &format!(
                "  if (dietcode_end > tiles) {{\n    void *const rest_buffers[] = {{{buffers}}};\n    \
                 {rest}_run(rest_buffers, dietcode_strides, rest_shape, dietcode_scratch,\n        \
                 dietcode_imax(dietcode_begin, tiles) - tiles, dietcode_end - tiles);\n  }}\n"
            );
        }
        text += "}\n\n";
        phase
    };
    let phases = (0..parts.iter().map(|part| part.phases.len()).max().unwrap_or(0)).map(phase).collect();
    let counts: Vec<String> = [("main", &parts[0]), ("rest", &parts[1])]
        .into_iter()
        .filter_map(|(of, part)| part.workspace.as_deref().map(|bytes| workspace(of, bytes)))
        .collect();
    let workspace = (!counts.is_empty()).then(|| {
        let name = format!("{symbol}_workspace_bytes");
        let all = counts.join(" + ");
        text += &format!("static int64_t {name}(const int64_t *dietcode_shape) {{\n{sizes}  return {all};\n}}\n\n");
        name
    });
    let scratch_bytes = parts.iter().map(|part| part.scratch_bytes).max().unwrap_or(0);
    Functions { text, phases, scratch_bytes, workspace, parameters: Vec::new() }
}

/// How many shape variables there are without the parameters, which are the last of a nest's.
fn shape_vars(main: &Lowered) -> usize {
    main.nest().shape_vars.len() - main.nest().parameters.len()
}

/// The lines that say how large the parts are, and what their shapes are, with the parameters of each.
fn sizes(cover: &Remainder, vars: usize, parameters: [&[i64]; 2]) -> String {
    let (multiple, at) = (cover.multiple, cover.cut.position);
    let shape = |of: &str, parameters: &[i64]| {
        let value = |var: usize| if var == at { of.to_owned() } else { format!("dietcode_shape[{var}]") };
        (0..vars).map(value).chain(parameters.iter().map(i64::to_string)).collect::<Vec<_>>().join(", ")
    };
    let [of_main, of_rest] = [shape("main", parameters[0]), shape("rest", parameters[1])];
    format!(
        "  const int64_t main = dietcode_shape[{at}] / {multiple} * {multiple}, rest = dietcode_shape[{at}] - main;\n  \
         const int64_t main_shape[] = {{{of_main}}}, rest_shape[] = {{{of_rest}}};\n  \
         (void)main_shape, (void)rest_shape;\n"
    )
}

/// How many tiles a phase of a part has, if there is such a phase.
fn tiles(of: &str, phase: Option<&String>) -> String {
    phase.map_or_else(|| "0".to_owned(), |phase| format!("({of} > 0 ? {phase}_grid({of}_shape) : 0)"))
}

/// How many bytes of the workspace are a part's: whole lines of a cache.
fn workspace(of: &str, bytes: &str) -> String {
    format!("({of} > 0 ? ({bytes}({of}_shape) + 63) / 64 * 64 : 0)")
}

/// The operands of the rest: from the main part's end on.
fn buffers(program: &Program, cover: &Remainder, workspaces: [Option<&str>; 2]) -> String {
    let operand = |(at, param): (usize, &std::sync::Arc<crate::ir::Buffer>)| {
        let given = format!("dietcode_buffers[{at}]");
        let Some(Along { dim, step, .. }) = cover.cut.tensors.iter().find(|along| along.param == at) else {
            return given;
        };
        let stride = program.params[..at].iter().map(|before| before.shape.len()).sum::<usize>() + dim;
        format!("({} *){given} + main * {step} * dietcode_strides[{stride}]", element_type(param.dtype))
    };
    let mut all: Vec<String> = program.params.iter().enumerate().map(operand).collect();
    let shared = format!("dietcode_buffers[{}]", program.params.len());
    match workspaces {
        [_, None] => {}
        [None, Some(_)] => all.push(shared),
        [Some(bytes), Some(_)] => all.push(format!("(char *){shared} + {}", workspace("main", bytes))),
    }
    all.join(", ")
}
