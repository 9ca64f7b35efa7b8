//! Trains a classifier of handwritten digits with candle, whose layers are kernels, forward and backward, and compares these with candle's
//! own operations: gradients, then logits and predictions at several batch sizes.

mod digits;
mod layer;
mod ops;

use candle_core::{D, Device, Result, Tensor, Var};

use digits::{CLASSES, Digits, PIXELS};
use layer::{Layer, noise};

const HIDDEN: usize = 32;
const TRAINED: usize = 200;
const EPOCHS: usize = 100;
const RATE: f64 = 0.5;

fn main() -> Result<()> {
    let all = Digits::read()?;
    let (known, new) = (all.part(0, TRAINED)?, all.part(TRAINED, all.labels.len() - TRAINED)?);
    let layers = [Layer::new(PIXELS, HIDDEN)?, Layer::new(HIDDEN, CLASSES)?];
    check_gradients(&layers[0], &known.images)?;
    train(&layers, &known)?;
    for batch in [1, 7, 32, 100] {
        check_logits(&layers, &new.part(0, batch)?)?;
    }
    let right = hits(&forward(&layers, &new.images)?, &new.labels)?;
    println!("{right} of {} images that it has not seen are classified right", new.labels.len());
    assert!(
        right * 10 >= new.labels.len() * 8,
        "by chance it would be a tenth, after such training eight tenths or more"
    );
    Ok(())
}

fn forward([hidden, last]: &[Layer; 2], images: &Tensor) -> Result<Tensor> {
    last.forward(&hidden.forward(images)?.relu()?)
}

/// Gradient descent on the cross entropy of all images at once.
fn train(layers: &[Layer; 2], digits: &Digits) -> Result<()> {
    let one_hot = digits.one_hot()?;
    for epoch in 0..=EPOCHS {
        let logits = forward(layers, &digits.images)?;
        let shifted = logits.broadcast_sub(&logits.max_keepdim(D::Minus1)?.detach())?;
        let likelihood = shifted.broadcast_sub(&shifted.exp()?.sum_keepdim(D::Minus1)?.log()?)?;
        let loss = ((likelihood * &one_hot)?.sum_all()? / -(digits.labels.len() as f64))?;
        if epoch % 50 == 0 {
            let right = hits(&logits, &digits.labels)?;
            println!("epoch {epoch:3}: loss {:.3}, {right} of {TRAINED}", loss.to_scalar::<f32>()?);
        }
        let gradients = loss.backward()?;
        let step = |var: &Var| match gradients.get(var) {
            Some(gradient) => var.set(&(var.as_tensor() - (gradient * RATE)?)?),
            None => candle_core::bail!("there is no gradient of {var}"),
        };
        layers.iter().try_for_each(|layer| step(&layer.w).and_then(|()| step(&layer.b)))?;
    }
    Ok(())
}

/// How many rows of logits are greatest at the image's digit.
fn hits(logits: &Tensor, labels: &[u8]) -> Result<usize> {
    let classes = logits.argmax(D::Minus1)?.to_vec1::<u32>()?;
    Ok(classes.iter().zip(labels).filter(|(class, label)| **class == u32::from(**label)).count())
}

/// The gradients of a layer's operands, by its kernels and by candle's own operations, where each result has an arbitrary gradient.
fn check_gradients(layer: &Layer, images: &Tensor) -> Result<()> {
    let (rows, outputs) = (images.dim(0)?, layer.b.dim(0)?);
    let grad = Tensor::from_vec((0..rows * outputs).map(noise).collect(), (rows, outputs), &Device::Cpu)?;
    let x = Var::from_tensor(images)?;
    let ours = (layer.forward(&x)? * &grad)?.sum_all()?.backward()?;
    let candles = (layer.by_candle(&x)? * &grad)?.sum_all()?.backward()?;
    // What is summed to each gradient, and how many terms.
    let size = grad.abs()?;
    for (name, var, sizes, terms) in [
        ("X", &x, size.matmul(&layer.w.abs()?)?, outputs),
        ("W", &layer.w, size.t()?.matmul(&images.abs()?)?, rows),
        ("b", &layer.b, size.sum(0)?, rows),
    ] {
        let (Some(ours), Some(candles)) = (ours.get(var), candles.get(var)) else {
            candle_core::bail!("there is no gradient of {name}");
        };
        check(ours, candles, &(sizes * (2.0 * gamma(terms)))?)?;
    }
    println!("gradients of a layer's X, W and b at {rows} rows are those that candle computes");
    Ok(())
}

/// The logits and predictions of some images, by the kernels and by candle's own operations.
fn check_logits(layers: &[Layer; 2], digits: &Digits) -> Result<()> {
    let [hidden, last] = layers;
    let logits = forward(layers, &digits.images)?;
    let candles_hidden = hidden.by_candle(&digits.images)?.relu()?;
    let candles = last.by_candle(&candles_hidden)?;

    // The difference of the first layer goes through the second by its weights, and adds to what is summed there.
    let first = bound(hidden, &digits.images, PIXELS)?;
    let through = first.matmul(&last.w.abs()?.t()?)?;
    let second = (through + bound(last, &(&candles_hidden + &first)?, HIDDEN)?)?;
    check(&logits, &candles, &second)?;
    let fused = digits.images.apply_op2_no_bwd(&hidden.b, &hidden.with_relu()?)?;
    check(&fused, &candles_hidden, &first)?;

    let [ours, candles] = [logits, candles].map(|logits| logits.argmax(D::Minus1)?.to_vec1::<u32>());
    let (ours, candles) = (ours?, candles?);
    assert_eq!(ours, candles, "predictions differ");
    println!("batch {:3}: logits and predictions are candle's", digits.labels.len());
    Ok(())
}

/// How far two results of a layer may differ: each sums the products of K elements and a bias in an order of its own, and is within γ(K + 1) ·
/// (|X| · |Wᵀ| + |b|) of the exact sum.
fn bound(layer: &Layer, x: &Tensor, k: usize) -> Result<Tensor> {
    x.abs()?.matmul(&layer.w.abs()?.t()?)?.broadcast_add(&layer.b.abs()?)? * (2.0 * gamma(k + 1))
}

/// γ(n) = n·u / (1 − n·u), u = 2⁻²⁴ (Higham, Accuracy and Stability of Numerical Algorithms, §3.1).
fn gamma(n: usize) -> f64 {
    let n = n as f64 * f64::from(f32::EPSILON) / 2.0;
    n / (1.0 - n)
}

fn check(ours: &Tensor, candles: &Tensor, bound: &Tensor) -> Result<()> {
    let [differences, bounds] = [&(ours - candles)?.abs()?, bound].map(|tensor| tensor.flatten_all()?.to_vec1::<f32>());
    for (at, (difference, bound)) in differences?.iter().zip(bounds?).enumerate() {
        assert!(*difference <= bound, "element {at} differs by {difference} from candle's, and may by {bound}");
    }
    Ok(())
}
