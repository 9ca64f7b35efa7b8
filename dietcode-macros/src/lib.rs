//! The `#[dynamic_kernel]` attribute.
//!
//! `expand` turns the canonical form of a nest into items, `reference` keeps the nest itself as plain Rust, and
//! `constant` writes the signature that the runtime checks calls against.

mod constant;
mod expand;
mod params;
mod reference;

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
/// and returns a `Result`; the module of the same name holds
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
/// both types.
///
/// **Nest.** One chain of loops over `0..extent`, with `let`s anywhere. The output is stored at bare loop variables; the
/// other loops are summed over, either into a `let mut` accumulator or into the output by `+=`. Elements are combined
/// by `+ - * /`, `if a < b { … } else { … }`, `.max() .min() .exp() .tanh() .sqrt() .abs()` and `as f32`; indices are
/// affine in loop and shape variables.
#[proc_macro_attribute]
pub fn dynamic_kernel(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(args.into(), &item.into()).into()
}
