//! The most fused multiply-adds that a core can carry out: the roof under which every figure stands.

use crate::codegen::TranslationUnit;
use crate::codegen::c::Row;
use crate::machine::CpuTarget;

/// Its unit's name.
pub(in crate::measure) const NAME: &str = "peak";

/// Steps that one tile repeats; about a tenth of a millisecond.
const STEPS: i64 = 20_000;

/// A micro-kernel without tensors: each of its tiles is a chain-free run of multiply-adds on all registers but four.
///
/// Its shape is one number, how many tiles there are.
pub fn translation_unit(target: &CpuTarget) -> TranslationUnit {
    let lines = |line: &dyn Fn(i64) -> String| (0..accumulators(target)).map(line).collect::<Vec<_>>().join("\n");
    let source = format!(
        "/* The peak of fused multiply-adds of one core. */
#include \"dietcode.h\"

typedef float vec __attribute__((vector_size({bytes})));

static int64_t dietcode_peak_grid(const int64_t *shape) {{ return shape[0]; }}

/* Read once, unknown to the compiler. */
static volatile float factor = 0.999f, summand = 0.001f;

static void dietcode_peak_run(void *const *buffers, const int64_t *strides, const int64_t *shape, void *scratch,
                       int64_t begin, int64_t end) {{
  vec f = {{0}}, s = {{0}};
  f = f + factor;
  s = s + summand;
{declare}
  for (int64_t step = 0; step < (end - begin) * {STEPS}; step++) {{
{work}
  }}
  vec *out = scratch;
{store}
}}
",
        bytes = target.vector_bytes,
        declare = lines(&|i| format!("  vec a{i} = f + {i}.0f;")),
        work = lines(&|i| format!("    a{i} = a{i} * f + s;")),
        store = lines(&|i| format!("  out[{i}] = a{i};")),
    );
    let symbol = "dietcode_peak";
    let row = Row {
        symbol,
        name: NAME,
        scratch_bytes: accumulators(target) * target.vector_bytes,
        phases: vec![symbol.into()],
        ..Row::default()
    };
    TranslationUnit { name: NAME.into(), symbol: symbol.into(), source: source + &row.text() }
}

/// Floating-point operations of one tile.
pub fn tile_flops(target: &CpuTarget) -> f64 {
    (STEPS * accumulators(target) * (target.vector_bytes / 4) * 2) as f64
}

/// Enough to hide the latency of a multiply-add on two units, and what the registers hold beside the two operands.
fn accumulators(target: &CpuTarget) -> i64 {
    (target.vector_registers - 4).max(12)
}
