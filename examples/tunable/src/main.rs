//! Multiplies matrices of shapes that nobody has tuned, each by whichever way turns out to be the fastest on this machine. The first run
//! finds that out, the next ones know it: `cargo run -- known` tries nothing, and fails if a shape is not known.

mod blas;
mod ops;

use std::time::Duration;

use blas::Blas;
use dietcode_core::runtime::tunable::{KernelCall, KernelOp, Outcome, Report, tuning};
use dietcode_core::runtime::{Tensor, TensorMut, TensorRef};
use dietcode_core::{Error, Result};
use ops::product;

/// M, N, K: a square, one row, one column, a long sum, rows that fit no tile.
const SHAPES: [[usize; 3]; 5] = [[64, 64, 64], [1, 256, 300], [300, 1, 256], [3, 5, 20_000], [37, 96, 768]];

/// What was found. A program that is installed has a better folder for it, or leaves it to `DIETCODE_TUNABLE_FILE`.
const RESULTS: &str = concat!(env!("OUT_DIR"), "/results.jsonl");

fn main() -> Result<()> {
    let is_known = std::env::args().nth(1).is_some_and(|argument| argument == "known");
    let op = candidates()?;
    println!("candidates: {}", op.candidates().collect::<Vec<_>>().join(", "));
    // So do DIETCODE_TUNABLE_ENABLED=1, DIETCODE_TUNABLE_TUNING=1, DIETCODE_TUNABLE_LIMIT_MS=5 and DIETCODE_TUNABLE_FILE.
    tuning::Settings::new().enable(true).tune(!is_known).limit(Duration::from_millis(5)).file(RESULTS).apply()?;
    for [m, n, k] in SHAPES {
        // Small integers: their sums are exact in any order, so that results can be compared to the bit.
        let a = Tensor::from_fn(&[m, k], |at| (at % 7) as f32 - 3.0)?;
        let b = Tensor::from_fn(&[k, n], |at| (at % 5) as f32 - 2.0)?;
        let (mut c, mut expected) = (Tensor::zeros(&[m, n])?, Tensor::zeros(&[m, n])?);
        product::tuned(&op, &a, &b, &mut c)?; // tries all candidates, unless an earlier run has, runs the fastest
        product::tuned(&op, &a, &b, &mut c)?; // runs it
        product::reference(&a, &b, &mut expected)?;
        assert_eq!(c.as_slice(), expected.as_slice());
        let shape = format!("M={m} K={k} N={n} ");
        let report = op.reports().into_iter().find(|report| report.key.contains(&shape));
        if is_known && !report.as_ref().is_some_and(|report| report.is_from_file) {
            return Err(Error::failed(format!("{shape}: {RESULTS} has no result of an earlier run")));
        }
        println!("{shape}: {}", report.map_or_else(|| "was not tuned".to_owned(), |report| shown(&report)));
    }
    Ok(())
}

/// The kernel as it was built: the dispatcher, its micro-kernels and the nest as plain Rust where that takes about a millisecond. And what this
/// program adds: the naive product at any size, one in blocks, and BLAS.
fn candidates() -> Result<KernelOp> {
    let mut op = product::tunable();
    op.register("naive", naive)?;
    op.register("blocked 4 × 32 × 64", blocked::<4, 32, 64>)?;
    op.register("blocked 8 × 64 × 256", blocked::<8, 64, 256>)?;
    match Blas::find() {
        Some(blas) => {
            // With another library, or none, what was found does not hold.
            op.validator("blas", &blas.version);
            op.register("BLAS", move |call: &mut KernelCall<'_>| blas.multiply(call))?;
        }
        None => println!("there is no BLAS on this machine"),
    }
    Ok(op)
}

/// The nest as plain Rust.
fn naive(call: &mut KernelCall<'_>) -> Result<()> {
    let [a, b, c] = call.operands()?;
    product::reference(TensorRef::try_from(a)?, TensorRef::try_from(b)?, TensorMut::try_from(c)?)
}

/// A product in blocks of MB rows, NB columns and KB terms, whose part of B stays in the cache while rows of A pass by.
fn blocked<const MB: usize, const NB: usize, const KB: usize>(call: &mut KernelCall<'_>) -> Result<()> {
    let [a, b, c] = call.operands()?;
    let (a, b) = (TensorRef::<f32>::try_from(a)?, TensorRef::<f32>::try_from(b)?);
    let mut c = TensorMut::<f32>::try_from(c)?;
    let ([m, n], k) = ([c.shape()[0], c.shape()[1]], a.shape()[1]);
    let dense = || Error::unsupported("there are gaps between rows");
    let (a, b) = (a.as_slice().ok_or_else(dense)?, b.as_slice().ok_or_else(dense)?);
    (0..m).for_each(|i| (0..n).for_each(|j| c[[i, j]] = 0.0));
    for k0 in (0..k).step_by(KB) {
        for i0 in (0..m).step_by(MB) {
            for j0 in (0..n).step_by(NB) {
                let columns = NB.min(n - j0);
                for i in i0..m.min(i0 + MB) {
                    let mut sums = [0.0; NB];
                    for k1 in k0..k.min(k0 + KB) {
                        let row = &b[k1 * n + j0..][..columns];
                        sums.iter_mut().zip(row).for_each(|(sum, b)| *sum += a[i * k + k1] * b);
                    }
                    (0..columns).for_each(|j| c[[i, j0 + j]] += sums[j]);
                }
            }
        }
    }
    Ok(())
}

/// The winner, and what became of the others, the fastest first.
fn shown(report: &Report) -> String {
    let mut candidates = report.candidates.clone();
    candidates.sort_by_key(|(_, outcome)| match outcome {
        Outcome::Timed(time) | Outcome::Dropped(time) => *time,
        _ => Duration::MAX,
    });
    let shown = candidates.iter().map(|(name, outcome)| match outcome {
        Outcome::Timed(time) => format!("{name} {time:.1?}"),
        Outcome::Dropped(time) => format!("{name} about {time:.1?}"),
        other => format!("{name} {other:?}"),
    });
    let from = if report.is_from_file { "found by an earlier run: " } else { "" };
    format!("{from}`{}` of {}", report.chosen, shown.collect::<Vec<_>>().join(", "))
}
