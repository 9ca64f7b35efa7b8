//! What a call costs before its kernel runs: the checks of its tensors, and the walk down the decision tree.
//!
//! `cargo bench --bench dispatch` prints medians over rounds in nanoseconds, and fails where a walk takes more than 20 of them, or a hit more
//! than 60.
//!
//! `dense` at 1 × 1 × 1 is a whole call on one thread, its smallest kernel included. What a tunable operation adds to that, where the key is
//! known, is a hit: a key of all fields that such a kernel has, and the look-up, from one thread, and from two at once.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use dietcode::ops::dense;
use dietcode_core::Result;
use dietcode_core::runtime::tunable::{Key, Params, TunableOp, tuning};
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

/// A call that is nothing but a hit: its candidates do nothing.
enum Nothing {}

/// The sizes, and the classes of three tensors.
struct Fields([u64; 9]);

impl Params for Nothing {
    type Call<'a> = Fields;
    type Proxy = Fields;
    type Output = ();

    fn key(call: &Fields, key: &mut Key) -> Result<()> {
        call.0.iter().for_each(|field| key.add("field", *field));
        Ok(())
    }

    fn pre_tuning(call: &Fields) -> Result<Fields> {
        Ok(Fields(call.0))
    }

    fn reset(_: &mut Fields) {}

    fn call(proxy: &mut Fields) -> Fields {
        Fields(proxy.0)
    }

    fn output(_: &mut Fields) -> Result<()> {
        Ok(())
    }

    fn compare(_: &mut Fields, (): &()) -> std::result::Result<(), String> {
        Ok(())
    }
}

/// The nanoseconds of a hit, from so many threads at once: the largest of their medians.
fn hit(threads: usize) -> Result<f64> {
    let mut op = TunableOp::<Nothing>::new("nothing", "default", |_: &mut Fields| Ok(()));
    op.register("other", |_: &mut Fields| Ok(()))?;
    let fields = |size: u64| Fields([7, size, 768, 2304, 6, 6, 6, 2, 0]);
    (0..100).try_for_each(|size| tuning::scope(true, || op.call(&mut fields(size))))?;
    let one = || {
        let mut call = fields(17);
        tuning::scope(true, || nanoseconds(|| drop(black_box(op.call(black_box(&mut call))))))
    };
    Ok(std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().expect("it does not panic")).fold(0.0, f64::max)
    }))
}

/// The most nanoseconds of a walk down the decision tree, and of a hit.
const WALK: f64 = 20.0;
const HIT: f64 = 60.0;

fn main() -> ExitCode {
    let above = measured().expect("the shapes fit");
    above.iter().for_each(|line| println!("FAILS: {line}"));
    if above.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints all figures: what is above its bound.
fn measured() -> Result<Vec<String>> {
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
    let op = dense::tunable();
    let tuned = |threads: usize, y: &mut Tensor<f32>| -> Result<f64> {
        with_threads(threads, || tuning::scope(true, || dense::tuned(&op, &x, &w, &mut *y)))?;
        Ok(with_threads(threads, || {
            tuning::scope(true, || {
                nanoseconds(|| {
                    black_box(dense::tuned(&op, black_box(&x), black_box(&w), black_box(&mut *y)))
                        .expect("the shapes fit");
                })
            })
        }))
    };
    let known = tuned(1, &mut y)?;
    let off = with_threads(1, || {
        tuning::scope(false, || {
            nanoseconds(|| {
                black_box(dense::tuned(&op, black_box(&x), black_box(&w), black_box(&mut y))).expect("the shapes fit");
            })
        })
    });
    println!("checks of the tensors  {checks:8.1} ns");
    println!("walk down the tree     {walk:8.1} ns");
    println!("dense at 1 x 1 x 1     {call:8.1} ns, the kernel included");
    println!("  tunable, off         {off:8.1} ns, the kernel included");
    println!("  tunable, known       {known:8.1} ns, the kernel included");
    let mut above = Vec::new();
    let mut bound = |what: &str, found: f64, most: f64| {
        if found > most {
            above.push(format!("{what} takes {found:.1} ns, expected at most {most}"));
        }
    };
    bound("a walk down the tree", walk, WALK);
    for threads in [1, 2] {
        let hit = hit(threads)?;
        println!("a hit, {threads} at once       {hit:8.1} ns");
        bound(&format!("a hit of {threads} at once"), hit, HIT);
    }
    Ok(above)
}
