//! How many candidates of the space of the dense layer a core makes in a second: drawn, lowered, checked, hashed, printed.
//!
//! `cargo bench -p dietcode-core --features tuner --bench space` prints candidates per second, for this CPU and for `sm_80`,
//! and what each step takes. The time is that of the thread, since other processes may share the core.

use std::hint::black_box;
use std::time::Duration;

use dietcode_core::Result;
use dietcode_core::codegen::{c, cuda};
use dietcode_core::schedule::Trace;
use dietcode_core::sketch::rules::CustomRules;
use dietcode_core::sketch::{Applied, Hardware, Space};
use dietcode_core::target::CpuTarget;
use dietcode_core::target::cuda::DeviceLimits;
use dietcode_syntax::KernelDef;
use rand::SeedableRng;
use rand::rngs::StdRng;

/// Candidates of each target.
const CANDIDATES: usize = 4000;
/// Sequence lengths of the literature.
const LENGTHS: [i64; 8] = [5, 24, 43, 62, 81, 100, 119, 128];

/// The time that this thread has run.
fn running() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists, and the place is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// What a step makes of each, and how long it took for all of them.
fn timed<A, B>(all: Vec<A>, step: impl FnMut(A) -> B) -> (Vec<B>, Duration) {
    let start = running();
    let made = all.into_iter().map(step).collect();
    (made, running() - start)
}

fn measure(name: &str, hardware: Hardware) -> Result<()> {
    let source = include_str!("../src/ops.rs");
    let kernels = dietcode_syntax::scan(source).expect("the source parses");
    let mut defs = kernels.iter().map(|kernel| kernel.parse().expect("it is a nest"));
    let def = defs.find(|def: &KernelDef| def.name == "dense").expect("it is there");
    let instances: Vec<Vec<i64>> = LENGTHS.iter().map(|length| vec![16 * length, 768, 2304]).collect();
    let space = Space::generate(&def, hardware, &instances, &CustomRules::default())?;
    let sampler = space.sampler()?;
    let mut rng = StdRng::seed_from_u64(1);
    let (traces, sampling) = timed(vec![(); CANDIDATES], |()| sampler.sample(&mut rng));
    let (applied, lowering) = timed(traces, |trace: Trace| space.apply(&trace));
    let applied: Vec<Applied> = applied.into_iter().flatten().collect();
    let kept = applied.len();
    // The source is printed from the schedules, which lowers them once more.
    let (_, printing) = timed(applied, |applied| drop(black_box(source_of(&space, &applied))));
    let second = |time: Duration| CANDIDATES as f64 / time.as_secs_f64();
    println!("{name}: {} sketches, {kept} of {CANDIDATES} within the limits", space.sketches.len());
    println!("  drawn                  {:8.0} per second", second(sampling));
    println!("  lowered and hashed     {:8.0}", second(lowering));
    println!("  lowered and printed    {:8.0}", second(printing));
    println!("  drawn to printed       {:8.0}", second(sampling + printing));
    println!("  all of it              {:8.0}, lowered twice", second(sampling + lowering + printing));
    Ok(())
}

/// The bytes of the translation unit.
fn source_of(space: &Space, applied: &Applied) -> Result<usize> {
    match space.bounds.hardware {
        Hardware::Cpu(_) => Ok(c::unit(&space.def, "drawn", &applied.schedules[0])?.source.len()),
        Hardware::Cuda(_) => Ok(cuda::unit(&space.def, "drawn", &applied.schedules, (false, 1))?.source.len()),
    }
}

fn main() -> Result<()> {
    measure("cpu", Hardware::Cpu(CpuTarget::detect("native")?))?;
    measure("sm_80", Hardware::Cuda(*DeviceLimits::of("sm_80".parse()?)?))
}
