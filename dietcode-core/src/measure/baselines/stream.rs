//! How fast an instance's tensors can be read and written once: the bound of kernels that compute little.

use crate::codegen::TranslationUnit;
use crate::codegen::c::Row;
use crate::machine::CpuTarget;
use crate::measure::Instance;

/// A micro-kernel that reads all inputs of an instance and writes its output, in as many parts as its shape, one number,
/// says. What it writes is not read.
pub(in crate::measure) fn translation_unit(instance: &Instance, target: &CpuTarget) -> TranslationUnit {
    let bytes = |param: usize| instance.elements(param) as i64 * instance.dtypes[param].bytes();
    let inputs = (0..instance.dims.len()).filter(|param| *param != instance.output);
    let reads: String = inputs.map(|param| format!("  READ({param}, {})\n", bytes(param))).collect();
    let source = format!(
        "/* Reads every input and writes the output once. */
#include \"dietcode.h\"

typedef int32_t vec __attribute__((vector_size({vector}), aligned(1), may_alias));

static int64_t dietcode_stream_grid(const int64_t *shape) {{ return shape[0]; }}

/* A part's share of a tensor's vectors; what is left behind the last whole one is not worth a loop. */
#define SHARE(bytes) (int64_t v = begin * ((bytes) / {vector}) / shape[0]; v < end * ((bytes) / {vector}) / shape[0]; v++)
#define READ(param, bytes) for SHARE(bytes) sum += ((const vec *)buffers[param])[v];

static void dietcode_stream_run(void *const *buffers, const int64_t *strides, const int64_t *shape, void *scratch,
                         int64_t begin, int64_t end) {{
  vec sum = {{0}};
{reads}  for SHARE({written}) ((vec *)buffers[{output}])[v] = sum;
}}
",
        vector = target.vector_bytes,
        written = bytes(instance.output),
        output = instance.output,
    );
    let symbol = "dietcode_stream";
    let row = Row { symbol, name: "stream", phases: vec![symbol.into()], ..Row::default() };
    TranslationUnit { name: "stream".into(), symbol: symbol.into(), source: source + &row.text() }
}
