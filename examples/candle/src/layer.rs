//! A dense layer whose forward and backward pass are kernels.

use candle_core::{Device, Result, Tensor, Var};
use dietcode_core::runtime::TensorRef;
use dietcode_core::runtime::candle::CustomOp;

use crate::ops::{dense, dense_db, dense_dw, dense_dx, dense_relu};

/// Weights and biases.
pub struct Layer {
    pub w: Var,
    pub b: Var,
    op: CustomOp<3>,
}

impl Layer {
    /// Weights between ±√(6 / inputs), which always are the same (He et al., Delving Deep into Rectifiers, 2015).
    pub fn new(inputs: usize, outputs: usize) -> Result<Layer> {
        let scale = (6.0 / inputs as f32).sqrt();
        let weights = (0..inputs * outputs).map(|at| scale * noise(at)).collect();
        let w = Var::from_tensor(&Tensor::from_vec(weights, (outputs, inputs), &Device::Cpu)?)?;
        let b = Var::zeros(outputs, candle_core::DType::F32, &Device::Cpu)?;
        // A gradient may be one that candle has broadcast or transposed.
        let op = CustomOp::new(&dense::KERNEL).with_backward(|[x, w, _], _, grad| {
            let dx = grad.apply_op2_no_bwd(w, &CustomOp::new(&dense_dx::KERNEL).with_copies())?;
            let dw = grad.apply_op2_no_bwd(x, &CustomOp::new(&dense_dw::KERNEL).with_copies())?;
            let db = grad.apply_op1_no_bwd(&CustomOp::new(&dense_db::KERNEL).with_copies())?;
            Ok([Some(dx), Some(dw), Some(db)])
        });
        Ok(Layer { w, b, op })
    }

    /// X · Wᵀ + b, by the kernel.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.apply_op3(&self.w, &self.b, self.op.clone())
    }

    /// The same by candle's own operations.
    pub fn by_candle(&self, x: &Tensor) -> Result<Tensor> {
        x.matmul(&self.w.t()?)?.broadcast_add(&self.b)
    }

    /// The layer and the rectifier behind it as one operation on X and b, of the weights as they are now.
    pub fn with_relu(&self) -> Result<CustomOp<2>> {
        let weights = self.w.flatten_all()?.to_vec1::<f32>()?;
        let w = dense_relu::prepare_w(TensorRef::new(&weights, self.w.dims())?)?;
        Ok(CustomOp::new(&dense_relu::KERNEL).with("w", w)?)
    }
}

/// Numbers between -1 and 1 that look random (the finaliser of SplitMix64).
pub fn noise(at: usize) -> f32 {
    let mut z = (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z >> 40) as f32 / (1 << 23) as f32) - 1.0
}
