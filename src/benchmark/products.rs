//! What the five programs try: the general products of `ops`.

use super::Product;
use crate::ops;

/// C = α · A · B + β · C.
pub const NN: Product = Product { strided: &ops::gemm_nn::KERNEL, interleaved: &ops::gemm_nn_interleaved::KERNEL };

/// C = α · A · Bᵀ + β · C.
pub const NT: Product = Product { strided: &ops::gemm_nt::KERNEL, interleaved: &ops::gemm_nt_interleaved::KERNEL };

/// C = α · Aᵀ · B + β · C.
pub const TN: Product = Product { strided: &ops::gemm_tn::KERNEL, interleaved: &ops::gemm_tn_interleaved::KERNEL };

/// C = α · Aᵀ · Bᵀ + β · C.
pub const TT: Product = Product { strided: &ops::gemm_tt::KERNEL, interleaved: &ops::gemm_tt_interleaved::KERNEL };
