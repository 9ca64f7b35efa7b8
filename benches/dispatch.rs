//! What a call costs before its kernel runs: the checks of its tensors, and the walk down the decision tree.
//!
//! `cargo bench --bench dispatch` prints medians over rounds in nanoseconds.
//!
//! `dense` at 1 × 1 × 1 is a whole call on one thread, its smallest kernel included.

use std::hint::black_box;
use std::time::Instant;

use dietcode::ops::dense;
use dietcode_core::Result;
use dietcode_core::runtime::{Arg, Tensor, with_threads};

const ROUNDS: usize = 101;
const CALLS: u32 = 10_000;

/// The median over rounds of the nanoseconds that one call takes.
fn nanoseconds(mut call: impl FnMut()) -> f64 {
    let mut round = || {
        let start = Instant::now();
        (0..CALLS).for_each(|_| call());
        start.elapsed().as_nanos() as f64 / f64::from(CALLS)
    };
    let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| round()).collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

fn main() -> Result<()> {
    let (x, w) = (Tensor::full(&[1, 1], 2.0f32)?, Tensor::full(&[1, 1], 3.0f32)?);
    let mut y = Tensor::zeros(&[1, 1])?;
    let checks = {
        let args = [Arg::from(x.view()), Arg::from(w.view()), Arg::from(y.view_mut())];
        dense::KERNEL.bind(&args)?;
        nanoseconds(|| drop(black_box(dense::KERNEL.bind(black_box(&args)))))
    };
    let walk = nanoseconds(|| {
        black_box((dense::KERNEL.dispatch)(black_box(&[592, 768, 2304])));
    });
    with_threads(1, || dense(&x, &w, &mut y))?;
    let call = with_threads(1, || {
        nanoseconds(|| {
            black_box(dense(black_box(&x), black_box(&w), black_box(&mut y))).expect("the shapes fit");
        })
    });
    println!("checks of the tensors  {checks:8.1} ns");
    println!("walk down the tree     {walk:8.1} ns");
    println!("dense at 1 x 1 x 1     {call:8.1} ns, the kernel included");
    Ok(())
}
