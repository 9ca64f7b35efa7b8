//! The `#[dynamic_kernel]` attribute.
//!
//! `expand` turns the canonical form of a nest into items, `reference` keeps the nest itself as plain Rust, `constant` writes
//! the signature that the runtime checks calls against, and `docs` what `cargo doc` shows of it. `listing` and `paths` ask what the
//! build script has said, `checks` asks the compiler about constants, and `repeated` warns of sums that are computed again and again.

mod checks;
mod constant;
mod docs;
mod expand;
mod listing;
mod params;
mod paths;
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
/// and scalars, `f32` or `f64`, as they are, and returns a `Result`; the module of the same name holds
///
/// * `dense::reference`, the nest as it stands, run as plain Rust over views of host memory after the same checks,
/// * `dense::KERNEL`, its name, signature and source hash.
///
/// `config` names a file relative to the manifest; without it the kernel runs its default micro-kernel. The file that
/// the function stands in must be listed in `build.rs`, or be that of a module of a listed file; the function stands in it as it
/// is, not written by a macro. `cargo doc` shows parameters, nest and errors behind the function's own documentation.
///
/// **Types.** Tensors are nested arrays of `f32`, `f16`, `bf16` or `f64`, with extents that are integers, shape variables (any
/// name that occurs in a type) or affine in shape variables; exactly one is `&mut`. Each shape variable is, somewhere, a
/// dimension of its own: there a call reads its value. A nest without a parameter of `f64` computes in `f32`: an element of 16 bits is read
/// as `f32::from(x[i][k])` and stored, rounded once, as `y[i][j] = f16::from_f32(acc);`. One with such a parameter computes in `f64`: elements of
/// other types are read as `f64::from(x[i][k])`, and stored, rounded once, as `v as f32` or `f16::from_f64(v)`. The crate `dietcode-core` exports
/// the types of 16 bits. A parameter `alpha: f32`, or `alpha: f64`, is a scalar: an element like any other, and no index or extent.
///
/// **Constants.** The front end sees the function and no items, so a constant beside it is declared:
///
/// ```text
/// const K: usize = 768;
/// const EPS: f32 = 1e-5;
///
/// #[dynamic_kernel(config = "configs/norm.json", consts(K = 768, EPS = 1e-5))]
/// pub fn norms(x: &[[f32; K]; M], y: &mut [f32; M]) {
///     for i in 0..M {
///         let mut acc = EPS;
///         for k in 0..K {
///             acc += x[i][k] * x[i][k];
///         }
///         y[i] = (acc / K as f32).sqrt();
///     }
/// }
/// ```
///
/// An integer is worth its value in extents, ranges and indices, a float in elements; a value is a literal, or integers and the
/// constants before it, added, subtracted and multiplied. `K` is no shape variable then: a config does not name it, and a call
/// with another extent is an error. If there is an item of that name in scope, of any type of integer or float and from
/// wherever it is imported, its value must be the declared one, or the build fails; the item may also be missing. The error has
/// both values where the item's is an integer from 0 to 65535 or a float of few digits (an integer up to 1023 over a power of ten,
/// such as `1e-5` or `0.125`), and else calls it another number. `0.0` and `-0.0` are not told apart. A constant in scope that is
/// *not* declared, and whose name is used as a shape variable, is an error; one of another kind that has a shape variable's name
/// (a unit struct, a `static`, an imported variant of an enum) is rustc's error, at that name. A const generic of
/// a function around the kernel is not seen: its name is that of a shape variable, which each call gives a value. What has a
/// path, `Self::K` or `dims::K`, is declared by a name of its own, and nothing compares the two.
///
/// **Prepared operands.** What the attribute lists as `prepared(w)`, inputs that only the sum reads, a call takes as
/// `dense::prepare_w(&w)?` has laid it out, a `&Prepared<f32>`: a copy that is made once, in panels which all micro-kernels of the kernel read as
/// they lie. One dimension of it has to be indexed by just the variable of a loop over the output. `dense::reference` takes the tensor.
/// Such a kernel runs on CPUs only.
///
/// **Nest.** One chain of loops, with `let`s anywhere, over ranges whose ends are made of shape variables and integers, such as
/// `0..M` or `1..=M - 2`; a call with a shape at which one has less than no iterations (`M - 2` at `M = 1`) is an error. The
/// output is stored at loop variables, each plus or minus integers and shape variables, as in `y[i + 1]`, and elements that no
/// iteration stores are left as they are; the
/// other loops are reduced over, into a `let mut` accumulator or into the output: by a sum (`acc += e`), a product (`acc *= e`), a
/// maximum or a minimum (`acc = acc.max(e)`, `acc = if e > acc { e } else { acc }`), which pass over terms that are NaN. What the
/// stored element held
/// before the call may be read until it is stored. Elements are combined
/// by `+ - * /`, `if a < b { … } else { … }`, `as f32` and functions; indices are
/// affine in loop and shape variables. A call checks every element that the nest names, whichever branch of a value it stands
/// in. So a range leaves out the iterations that would read outside, `for i in 1..M { y[i] = x[i - 1]; }`, and `y[0]` keeps what it
/// held: `y[i] = if i as f32 > 0.0 { x[i - 1] } else { 0.0 };` over `0..M` is an error of every call.
///
/// **Functions.** A nest may call, with Rust's meaning of each,
///
/// * `.max() .min() .clamp() .abs() .floor() .ceil() .round() .sqrt() .mul_add()`,
/// * `.exp() .exp2() .exp_m1() .ln() .log2() .ln_1p() .sin() .cos() .tanh() .powf()`, and `.powi()` with a constant integer,
/// * `.erf()`, the error function, which Rust's `f32` does not have.
///
/// `x.clamp(low, high)` never panics: NaN stays NaN, a bound that is NaN does not bind, and where `low` is above `high` the
/// result is at most `high`. Other functions stand inside the kernel's body, and are put in place of their calls. They take any
/// number of `f32`s, return one, know nothing of the nest around them, and consist of `let`s, which are not `mut`, and a value:
///
/// ```text
/// #[dynamic_kernel]
/// pub fn dense_gelu(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
///     fn gelu(v: f32) -> f32 {
///         let normal = 0.5 * (1.0 + (v * 0.70710677).erf());
///         v * normal
///     }
///     for i in 0..M {
///         for j in 0..N {
///             let mut acc = 0.0;
///             for k in 0..K {
///                 acc += x[i][k] * w[j][k];
///             }
///             y[i][j] = gelu(acc);
///         }
///     }
/// }
/// ```
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
///
/// **Sums that are computed again.** A nest has one chain of loops, so a sum that does not depend on one of the loops around it
/// is computed again in each of that loop's iterations. There the compiler warns, at the loop's variable, by its lint
/// `deprecated`: `#[allow(deprecated)]` on the function silences it. Two kernels, one that stores the sums and one that
/// reads them, do less:
///
/// ```text
/// #[dynamic_kernel]
/// pub fn rms(x: &[[f32; D]; T], s: &mut [f32; T]) {
///     for t in 0..T {
///         let mut sum = 0.0;
///         for e in 0..D {
///             sum += x[t][e] * x[t][e];
///         }
///         s[t] = sum.sqrt();
///     }
/// }
///
/// #[dynamic_kernel]
/// pub fn rms_norm(x: &[[f32; D]; T], s: &[f32; T], y: &mut [[f32; D]; T]) {
///     for t in 0..T {
///         for d in 0..D {
///             y[t][d] = x[t][d] / s[t];
///         }
///     }
/// }
/// ```
#[proc_macro_attribute]
pub fn dynamic_kernel(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(args.into(), &item.into()).into()
}
