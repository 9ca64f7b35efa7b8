//! What a second thread gains, also for a program that calls now and then: its helper may have parked, and its caller may have moved.
//!
//! `cargo bench --bench threads --features ops` times `dense` (N = 2304, K = 768, f32) on one thread and on two, by turns, back to back and
//! after pauses, and prints medians in microseconds. It fails where the second thread gains too little after the longest pause.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use dietcode::ops::dense;
use dietcode_core::runtime::{Tensor, with_threads};
use dietcode_core::{Error, Result};

const ROWS: [usize; 4] = [5, 16, 80, 384];
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_millis(1), Duration::from_millis(20)];
/// Calls on each number of threads, of which the median counts.
const CALLS: usize = 50;
/// The most that two threads may take of the time of one: at each number of rows, in the 90th percentile of the pairs of calls, and in
/// the geometric mean over the numbers of rows.
const MOST: [f64; 3] = [0.66, 0.75, 0.60];

/// Microseconds of a call on one thread and of one on two, pair by pair.
fn pairs(rows: usize, pause: Duration) -> Result<Vec<[f64; 2]>> {
    let (x, w) = (Tensor::full(&[rows, 768], 0.5f32)?, Tensor::full(&[2304, 768], 0.25f32)?);
    let mut y = Tensor::zeros(&[rows, 2304])?;
    let mut timed = |threads: usize| {
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
        with_threads(threads, || {
            // Back to back, the call before it has warmed up what a pause lets cool down.
            if pause.is_zero() {
                dense(&x, &w, &mut y)?;
            }
            let start = Instant::now();
            dense(&x, &w, &mut y)?;
            Ok(start.elapsed().as_secs_f64() * 1e6)
        })
    };
    (0..CALLS + 3).map(|_| Ok([timed(1)?, timed(2)?])).skip(3).collect()
}

fn percentile(values: impl Iterator<Item = f64>, percent: usize) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) * percent / 100]
}

fn main() -> Result<ExitCode> {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return Err(Error::unavailable("this process has one core; two are wanted"));
    }
    println!("{:>12} {:>6} {:>10} {:>10} {:>7} {:>7}", "pause", "rows", "1 thread", "2 threads", "median", "90 %");
    let mut passed = true;
    for pause in PAUSES {
        let mut logs = 0.0;
        for rows in ROWS {
            let pairs = pairs(rows, pause)?;
            let [one, two] = [0, 1].map(|n| percentile(pairs.iter().map(|pair| pair[n]), 50));
            let slow = percentile(pairs.iter().map(|pair| pair[1] / pair[0]), 90);
            println!("{:>12} {rows:>6} {one:>10.0} {two:>10.0} {:>7.2} {slow:>7.2}", format!("{pause:?}"), two / one);
            logs += (two / one).ln();
            passed &= pause != PAUSES[2] || (two / one <= MOST[0] && slow <= MOST[1]);
        }
        let mean = (logs / ROWS.len() as f64).exp();
        println!("{:>12} {:>6} {:>29.2}", format!("{pause:?}"), "mean", mean);
        passed &= pause != PAUSES[2] || mean <= MOST[2];
    }
    if !passed {
        eprintln!("after {:?}, two threads took more than {MOST:?} of one (each, 90th percentile, mean)", PAUSES[2]);
    }
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
