//! How lean the main loops are: bounds of what neither multiplies nor moves data, and of some loops as a whole.

use dietcode_core::machine::cuda::{Class, ComputeCapability, Mix};
use dietcode_core::schedule::MatrixUnit;
use dietcode_syntax::DType;

use super::sets::MicroKernel;

/// What is too much in a micro-kernel's main loop on a device; `None`: nothing.
///
/// Instructions for addresses, moves, predicates and branches are there for each copy from global memory, of which `copies` are issued
/// in an iteration, and for conversions. The figures are a fifth to a half above what nvcc 13.0 needs.
pub(crate) fn excess(kernel: &MicroKernel, device: ComputeCapability, mix: &Mix) -> Option<String> {
    let MicroKernel { def, blocked, .. } = kernel;
    let overhead = mix.of(Class::Integer) + mix.of(Class::Move) + mix.of(Class::Control);
    let copies = mix.of(Class::Global);
    let most = match (blocked.matrix_unit, def.params[0].dtype) {
        (Some(MatrixUnit::Half), _) if blocked.asynchronous => 20 + 15 * copies,
        (Some(MatrixUnit::Half), _) => 20 + 25 * copies,
        // Operands are rounded on their way to the registers, by a predicate and an addition each.
        (Some(MatrixUnit::Tf32), _) if device.major < 9 => 60 + 30 * copies,
        // Both parts of each are.
        (Some(MatrixUnit::Tf32x3), _) if device.major < 9 => 60 + 30 * copies + 3 * mix.products(),
        (Some(MatrixUnit::Tf32 | MatrixUnit::Tf32x3), _) => 20 + 15 * copies,
        // A window slides over single elements, each of which has an address of its own.
        (None, _) if def.name == "conv2d" => 45 * copies,
        // Each element is shifted to where a float has it.
        (None, DType::BF16) => 100 + mix.of(Class::Fma),
        (None, _) => 110,
    };
    if overhead > most {
        return Some(format!("{overhead} instructions beside products and data, expected {most} at the most: {mix}"));
    }
    let tile = |loops: [&str; 2]| loops.map(|name| blocked.block_tile(name));
    let steps = blocked.reduce.get("k").copied().unwrap_or(0);
    // How many instructions there may be for so many products.
    let bar = match (blocked.matrix_unit, def.name.as_str(), steps) {
        // 128 x 128 by 4 warps, 32 steps.
        (Some(MatrixUnit::Half), "matmul_nt_f16" | "matmul_tn_f16", 32) if tile(["i", "j"]) == [8, 16] => (190, 64),
        // 64 columns by 128 channels by 4 warps, 32 steps, whole vectors; and 64 by 64 by single elements.
        (Some(MatrixUnit::Half), "conv2d_nhwc_f16", _) => (150, 32),
        (Some(MatrixUnit::Half), "conv2d_f16", _) => (700, 16),
        // 128 x 128 by 8 warps, 16 steps, three products for one; both parts of 48 operands take 3 instructions each, or 5.
        (Some(MatrixUnit::Tf32x3), "matmul_nt", 16) => (if device.major < 9 { 550 } else { 360 }, 96),
        // 128 x 128 by 256 threads, 8 steps: 43 instructions move operands. Two steps may be one iteration.
        (None, "matmul_nt", 8) if tile(["i", "j"]) == [128, 128] => (580, 512),
        // A window, by single elements.
        (None, "conv2d", _) if blocked.asynchronous => (410, 144),
        _ => return None,
    };
    let (most, products) = bar;
    (mix.total() * products > most * mix.products())
        .then(|| format!("{} instructions, expected {most} at the most for {products} products: {mix}", mix.total()))
}
