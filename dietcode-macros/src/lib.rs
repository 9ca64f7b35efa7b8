//! The `#[dynamic_kernel]` attribute.
//!
//! `expand` turns the canonical form of a nest into items, `reference` keeps the nest itself as plain Rust, and
//! `constant` writes the signature that the runtime checks calls against.

mod checks;
mod constant;
mod expand;
mod params;
mod reference;
mod repeated;

use proc_macro::TokenStream;

/// Makes a kernel of a loop nest: fast at every shape it will meet, on the micro-kernels that the build script compiled.
///
/// ```text
/// /// Y = X · Wᵀ
/// #[dynamic_kernel(config = "configs/dense.json")]
/// pub fn dense(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
///     for i in 0..M {
///         for j in 0..N {
///             let mut acc = 0.0;
///             for k in 0..K {
///                 acc += x[i][k] * w[j][k];
///             }
///             y[i][j] = acc;
///         }
///     }
/// }
/// ```
///
/// The function then takes tensors, `impl Into<Input<f32>>` and `impl Into<Output<f32>>`, in host memory or on a CUDA device,
/// and scalars, `f32`, as they are, and returns a `Result`; the module of the same name holds
///
/// * `dense::reference`, the nest as it stands, run as plain Rust over views of host memory after the same checks,
/// * `dense::KERNEL`, its name, signature and source hash.
///
/// `config` names a file relative to the manifest; without it the kernel runs its default micro-kernel. The file that
/// the function stands in must be listed in `build.rs`.
///
/// **Types.** Tensors are nested arrays of `f32`, `f16` or `bf16`, with extents that are integers, shape variables (any
/// name that occurs in a type) or affine in shape variables; exactly one is `&mut`. Each shape variable is, somewhere, a
/// dimension of its own: there a call reads its value. A nest computes in `f32`: an element of 16 bits is read as
/// `f32::from(x[i][k])` and stored, rounded once, as `y[i][j] = f16::from_f32(acc);`. The crate `dietcode-core` exports
/// both types. A parameter `alpha: f32` is a scalar: an element like any other, and no index or extent.
///
/// **Nest.** One chain of loops over `0..extent`, with `let`s anywhere. The output is stored at bare loop variables; the
/// other loops are summed over, either into a `let mut` accumulator or into the output by `+=`. What the stored element held
/// before the call may be read until it is stored. Elements are combined
/// by `+ - * /`, `if a < b { … } else { … }`, `.max() .min() .exp() .tanh() .sqrt() .abs()` and `as f32`; indices are
/// affine in loop and shape variables.
///
/// **Sums that are left out.** One comparison of scalars and literals may stand around all loops of a sum. Where it does not
/// hold, nothing is summed, and nothing is read for it; nor does a branch of a value read what only the other one needs. So
/// BLAS's product reads neither A nor B if α is 0, and C only if β is not:
///
/// ```text
/// #[dynamic_kernel]
/// pub fn gemm(alpha: f32, a: &[[f32; K]; M], b: &[[f32; N]; K], beta: f32, c: &mut [[f32; N]; M]) {
///     for i in 0..M {
///         for j in 0..N {
///             let mut acc = 0.0;
///             if alpha != 0.0 {
///                 for k in 0..K {
///                     acc += a[i][k] * b[k][j];
///                 }
///             }
///             c[i][j] = if beta == 0.0 { alpha * acc } else { alpha * acc + beta * c[i][j] };
///         }
///     }
/// }
/// ```
///
/// All tensors are checked as if the sum were taken.
#[proc_macro_attribute]
pub fn dynamic_kernel(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(args.into(), &item.into()).into()
}
