//! What the learned model takes, and how good its order is: training on 2,000 programs, scoring with and without features.
//!
//! `cargo bench -p dietcode-core --features tuner --bench model` prints it for the dense layer on this CPU and on `sm_80`; times are those
//! of one thread. The labels are what the analytic model says of each program's rate, multiplied by noise of 5%: what is compared is how
//! trees learn from features, not how well a model knows a machine. With `DIETCODE_MODEL_ROWS=FILE` it writes the programs of the CPU,
//! their features, labels and scores, from which `benches/xgboost_rows.py` trains XGBoost.

use std::fmt::Write;
use std::time::Duration;

use dietcode_core::cost_model::pack_sum::{Pack, a_peak, pairwise_accuracy};
use dietcode_core::cost_model::{Adaptation, Analytic, CostModel, Growing, Trees, features, rows};
use dietcode_core::machine::cuda::DeviceLimits;
use dietcode_core::machine::{CpuTarget, Target};
use dietcode_core::sketch::rules::CustomRules;
use dietcode_core::sketch::{Lowered, Space};
use dietcode_core::{Error, Result};
use dietcode_syntax::KernelDef;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const TRAINED: usize = 2000;
const TESTED: usize = 1000;
const LENGTHS: [i64; 8] = [5, 24, 43, 62, 81, 100, 119, 128];

/// The time that this thread has run.
fn running() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists, and the place is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn timed<T>(step: impl FnOnce() -> T) -> (T, f64) {
    let start = running();
    let made = step();
    (made, (running() - start).as_secs_f64())
}

type Rows = Vec<[f32; features::COUNT]>;

fn measure(name: &str, target: Target) -> Result<(Vec<Rows>, Vec<f32>, Vec<f32>)> {
    let kernels = dietcode_syntax::scan(include_str!("../src/ops.rs")).expect("the source parses");
    let mut defs = kernels.iter().map(|kernel| kernel.parse().expect("it is a nest"));
    let def = defs.find(|def: &KernelDef| def.name == "dense").expect("it is there");
    let instances: Vec<Vec<i64>> = LENGTHS.iter().map(|length| vec![16 * length, 768, 2304]).collect();
    let largest = &instances[LENGTHS.len() - 1];
    let space = Space::generate(&def, target.clone(), &instances, &CustomRules::default())?;
    let sampler = space.sampler()?;
    let mut rng = StdRng::seed_from_u64(1);
    let mut drawn: Vec<Lowered> = Vec::new();
    while drawn.len() < TRAINED + TESTED {
        drawn.extend(space.apply(&sampler.sample(&mut rng)));
    }
    let candidates: Vec<&Lowered> = drawn.iter().collect();
    let gflops = Analytic { target }.predict(&def, &candidates, std::slice::from_ref(largest), 1);
    let share = |candidate: &Lowered| Adaptation::of_schedule(candidate.schedule(), largest, 1).throughput(1.0);
    let rates: Vec<f64> = candidates.iter().zip(&gflops).map(|(candidate, row)| row[0] / share(candidate)).collect();
    let best = rates.iter().copied().fold(0.0, f64::max);
    let labels: Vec<f32> =
        rates.iter().map(|rate| (rate / best * rng.random_range(0.95..1.05)).min(1.0) as f32).collect();

    let (features, extracting) =
        timed(|| drawn.iter().map(|candidate| rows(candidate, largest, 1)).collect::<Vec<Rows>>());
    let pack = Pack::of(features[..TRAINED].iter().map(Vec::len));
    let flat: Vec<f32> = features[..TRAINED].iter().flatten().flatten().copied().collect();
    let margins = vec![0.0; pack.rows()];
    let train = || Trees::train(features::COUNT, &flat, &pack, &labels[..TRAINED], &margins, &Growing::default());
    let (trees, training) = timed(train);
    let score = |rows: &Rows| rows.iter().map(|row| trees.predict(row)).sum::<f32>();
    let (scores, scoring) = timed(|| features.iter().map(score).collect::<Vec<f32>>());
    let (tested, expected) = (&scores[TRAINED..], &labels[TRAINED..]);
    let count = drawn.len() as f64;
    println!("{name}: {} rows of {TRAINED} programs", pack.rows());
    println!("  trained in           {training:8.2} s");
    println!("  features             {:8.0} programs a second", count / extracting);
    println!("  scored               {:8.0}", count / scoring);
    println!("  both                 {:8.0}", count / (extracting + scoring));
    println!("  a-peak@32            {:8.4} of {TESTED} others", a_peak(tested, expected, 32));
    println!("  pairwise accuracy    {:8.4}", pairwise_accuracy(tested, expected));
    Ok((features, labels, scores))
}

/// A line for each program: whether it was trained on, its label, its score, its rows.
fn text(features: &[Rows], labels: &[f32], scores: &[f32]) -> String {
    let mut text = String::new();
    for (at, rows) in features.iter().enumerate() {
        let rows: Vec<&[f32]> = rows.iter().map(|row| &row[..]).collect();
        let (trained, label, score) = (at < TRAINED, labels[at], scores[at]);
        writeln!(text, "{{\"trained\":{trained},\"label\":{label},\"score\":{score},\"rows\":{rows:?}}}")
            .expect("a string takes all");
    }
    text
}

fn main() -> Result<()> {
    let (features, labels, scores) = measure("cpu", Target::Cpu(CpuTarget::detect("native")?))?;
    if let Some(path) = std::env::var_os("DIETCODE_MODEL_ROWS") {
        let path = std::path::Path::new(&path);
        std::fs::write(path, text(&features, &labels, &scores))
            .map_err(|e| Error::of_file(path, "cannot be written", e))?;
    }
    measure("sm_80", Target::Cuda(*DeviceLimits::of("sm_80".parse()?)?)).map(drop)
}
