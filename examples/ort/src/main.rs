//! A classifier of handwritten digits in ONNX Runtime, whose dense layer is a kernel, beside one of ONNX's own operators: logits and
//! predictions at several batch sizes, and what a call with wrong tensors says. `ORT_DYLIB_PATH` names ONNX Runtime's library.

mod onnx;
mod ops;

use std::sync::Arc;

use dietcode_core::f16;
use dietcode_core::runtime::ort::domain;
use ort::Result;
use ort::environment::Environment;
use ort::operator::OperatorDomain;
use ort::session::Session;
use ort::value::Tensor;

use onnx::{Elements, Model, ONNX};

const PIXELS: usize = 64;
const CLASSES: usize = 10;
const KNOWN: usize = 200;

fn main() -> Result<()> {
    let (images, labels) = digits();
    let (known, new) = images.split_at(KNOWN * PIXELS);
    let (weights, biases) = means(known, &labels[..KNOWN]);

    let sessions = Sessions { environment: ort::init().build()?, kernels: Arc::new(kernels()?) };
    let constants = [&*weights, &*biases];
    let mut ours = sessions.classifier("dense", "dietcode", &[("alpha", 2.0)], constants)?;
    let mut onnx = sessions.classifier("Gemm", ONNX, &[("alpha", 2.0)], constants)?;
    for batch in [1, 7, 32, 100] {
        let x = &new[..batch * PIXELS];
        let (logits, expected) = (run(&mut ours, x, PIXELS)?, run(&mut onnx, x, PIXELS)?);
        check(&logits, &expected, x, &weights, &biases);
        assert_eq!(classes(&logits), classes(&expected), "predictions differ");
        println!("batch {batch:3}: logits and predictions are those of ONNX's Gemm");
    }
    let right = classes(&run(&mut ours, new, PIXELS)?).iter().zip(&labels[KNOWN..]).filter(|(a, b)| a == b).count();
    println!("{right} of {} images that are in no mean are classified right", labels.len() - KNOWN);
    assert!(right * 10 >= (labels.len() - KNOWN) * 8, "by chance it would be a tenth");
    check_halves(&sessions)?;
    check_doubles(&sessions)?;

    let Err(refused) = run(&mut ours, &new[..7 * 63], 63) else { panic!("images of 63 pixels are classified") };
    assert!(refused.to_string().contains("dense: dimension 1 of `w` is 64, but must be K = 63"), "{refused}");
    println!("images of 63 pixels: {refused}");
    let Err(refused) = sessions.classifier("dense", "dietcode", &[], constants) else { panic!("alpha is no matter") };
    assert!(refused.to_string().contains("dense: the scalar `alpha` must be an attribute of the node"), "{refused}");
    Ok(())
}

/// The domain `dietcode`.
fn kernels() -> Result<OperatorDomain> {
    domain([&ops::dense::KERNEL, &ops::twice::KERNEL, &ops::times::KERNEL])
}

/// Elements of 16 bits, of which none are there, too.
fn check_halves(sessions: &Sessions) -> Result<()> {
    let model = Model {
        operator: "twice",
        domain: "dietcode",
        floats: &[],
        integers: &[],
        constants: &[],
        elements: Elements::F16,
        rank: 1,
    };
    let mut session = sessions.of(&model)?;
    for x in [vec![1.5, -2.0, 3.0, 0.25, 100.0], vec![]] {
        let halves: Vec<f16> = x.iter().copied().map(f16::from_f32).collect();
        let outputs = session.run(ort::inputs![Tensor::from_array(([x.len()], halves))?])?;
        let doubled: Vec<f32> = outputs["y"].try_extract_tensor::<f16>()?.1.iter().copied().map(f32::from).collect();
        assert_eq!(doubled, x.iter().map(|x| 2.0 * x).collect::<Vec<f32>>());
    }
    Ok(())
}

/// Elements of 64 bits, and a factor of as many that an attribute holds.
fn check_doubles(sessions: &Sessions) -> Result<()> {
    let model = Model {
        operator: "times",
        domain: "dietcode",
        floats: &[("alpha", -0.5)],
        integers: &[],
        constants: &[],
        elements: Elements::F64,
        rank: 1,
    };
    let x = vec![0.1, 9_007_199_254_740_991.0, -1e-300];
    let mut session = sessions.of(&model)?;
    let outputs = session.run(ort::inputs![Tensor::from_array(([x.len()], x.clone()))?])?;
    let expected: Vec<f64> = x.iter().map(|x| -0.5 * x).collect();
    assert_eq!(outputs["y"].try_extract_tensor::<f64>()?.1, expected);
    Ok(())
}

/// Images, a pixel from 0 to 1, and the digit of each.
fn digits() -> (Vec<f32>, Vec<usize>) {
    let lines = include_str!("../../candle/digits.txt").lines().filter(|line| !line.starts_with('#'));
    let (mut images, mut labels) = (Vec::new(), Vec::new());
    for (label, image) in lines.filter_map(|line| line.split_once(' ')) {
        labels.extend(label.bytes().map(|digit| usize::from(digit - b'0')));
        images.extend(image.chars().filter_map(|pixel| pixel.to_digit(17)).map(|grey| grey as f32 / 16.0));
    }
    (images, labels)
}

/// The model that knows the mean image of each digit: an image is nearest to the mean μ where 2 · x · μ - |μ|² is greatest.
fn means(images: &[f32], labels: &[usize]) -> (Vec<f32>, Vec<f32>) {
    let (mut means, mut biases) = (vec![0.0; CLASSES * PIXELS], vec![0.0; CLASSES]);
    for (class, mean) in means.chunks_mut(PIXELS).enumerate() {
        let of_class = images.chunks(PIXELS).zip(labels).filter(|(_, label)| **label == class);
        let count = of_class.clone().count() as f32;
        for (image, _) in of_class {
            mean.iter_mut().zip(image).for_each(|(mean, pixel)| *mean += pixel / count);
        }
        biases[class] = -mean.iter().map(|pixel| pixel * pixel).sum::<f32>();
    }
    (means, biases)
}

/// What sessions are made with.
struct Sessions {
    environment: Environment,
    kernels: Arc<OperatorDomain>,
}

impl Sessions {
    /// The model: Y = α · X · Wᵀ + b, by an operator.
    fn classifier(
        &self,
        operator: &str,
        domain: &str,
        alpha: &[(&str, f32)],
        [weights, biases]: [&[f32]; 2],
    ) -> Result<Session> {
        self.of(&Model {
            operator,
            domain,
            floats: alpha,
            integers: if domain == ONNX { &[("transB", 1)] } else { &[] },
            constants: &[("w", &[CLASSES, PIXELS], weights), ("b", &[CLASSES], biases)],
            elements: Elements::F32,
            rank: 2,
        })
    }

    fn of(&self, model: &Model<'_>) -> Result<Session> {
        let mut options = Session::builder(&self.environment)?.with_operators(Arc::clone(&self.kernels))?;
        options.commit_from_memory(&model.bytes())
    }
}

fn run(session: &mut Session, x: &[f32], columns: usize) -> Result<Vec<f32>> {
    let x = Tensor::from_array(([x.len() / columns, columns], x.to_vec()))?;
    let outputs = session.run(ort::inputs![x])?;
    Ok(outputs["y"].try_extract_tensor::<f32>()?.1.to_vec())
}

/// The greatest logit of each row.
fn classes(logits: &[f32]) -> Vec<usize> {
    let greatest = |row: &[f32]| (0..CLASSES).max_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap_or(0);
    logits.chunks(CLASSES).map(greatest).collect()
}

/// Both sum 2 · X · Wᵀ + b, of K products and a bias, in an order of their own, and are within γ(K + 2) · (2 · |X| · |Wᵀ| + |b|) of the exact
/// sum, γ(n) = n·u / (1 − n·u), u = 2⁻²⁴ (Higham, Accuracy and Stability of Numerical Algorithms, §3.1).
fn check(ours: &[f32], expected: &[f32], x: &[f32], weights: &[f32], biases: &[f32]) {
    let n = (PIXELS + 2) as f32 * f32::EPSILON / 2.0;
    let gamma = n / (1.0 - n);
    assert_eq!(ours.len(), x.len() / PIXELS * CLASSES);
    for (at, (ours, expected)) in ours.iter().zip(expected).enumerate() {
        let (row, class) = (&x[at / CLASSES * PIXELS..][..PIXELS], at % CLASSES);
        let products = row.iter().zip(&weights[class * PIXELS..]).map(|(x, w)| (x * w).abs());
        let bound = 2.0 * gamma * (2.0 * products.sum::<f32>() + biases[class].abs());
        assert!((ours - expected).abs() <= bound, "logit {at} is {ours}, ONNX's Gemm says {expected}");
    }
}
