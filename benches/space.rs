//! How many candidates of the space of the dense layer a core makes in a second: drawn, lowered, checked, hashed, printed.
//!
//! `cargo bench -p dietcode-core --features tuner --bench space` prints candidates per second, for this CPU and for `sm_80`,
//! and what each step takes. The time is that of the thread, since other processes may share the core.

use std::time::Duration;

use dietcode_core::Result;
use dietcode_core::codegen::{c, cuda};
use dietcode_core::machine::CpuTarget;
use dietcode_core::machine::Target;
use dietcode_core::machine::cuda::DeviceLimits;
use dietcode_core::sketch::rules::CustomRules;
use dietcode_core::sketch::{Lowered, Space};
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

/// What a step takes, all candidates together.
#[derive(Clone, Copy, Default)]
struct Taken(Duration);

impl Taken {
    fn by<T>(&mut self, step: impl FnOnce() -> T) -> T {
        let start = running();
        let made = step();
        self.0 += running() - start;
        made
    }

    fn per_second(self) -> f64 {
        CANDIDATES as f64 / self.0.as_secs_f64()
    }
}

fn measure(name: &str, target: Target) -> Result<()> {
    let source = include_str!("../src/ops.rs");
    let kernels = dietcode_syntax::scan(source).expect("the source parses");
    let mut defs = kernels.iter().map(|kernel| kernel.parse().expect("it is a nest"));
    let def = defs.find(|def: &KernelDef| def.name == "dense").expect("it is there");
    let instances: Vec<Vec<i64>> = LENGTHS.iter().map(|length| vec![16 * length, 768, 2304]).collect();
    let space = Space::generate(&def, target, &instances, &CustomRules::default())?;
    let sampler = space.sampler()?;
    let mut rng = StdRng::seed_from_u64(1);
    let [mut drawing, mut lowering, mut printing] = [Taken::default(); 3];
    let (mut kept, mut bytes) = (0, 0);
    for _ in 0..CANDIDATES {
        let trace = drawing.by(|| sampler.sample(&mut rng));
        let Ok(applied) = lowering.by(|| space.apply(&trace)) else { continue };
        kept += 1;
        bytes += printing.by(|| source_of(&space, &applied))?.len();
    }
    let all = Taken(drawing.0 + lowering.0 + printing.0);
    println!("{name}: {} sketches, {kept} of {CANDIDATES} within the limits", space.sketches.len());
    println!("  drawn                        {:8.0} per second", drawing.per_second());
    println!("  lowered, checked and hashed  {:8.0}", lowering.per_second());
    println!("  printed                      {:8.0}, {} bytes each", printing.per_second(), bytes / kept.max(1));
    println!("  all of it                    {:8.0}", all.per_second());
    Ok(())
}

/// The translation unit.
fn source_of(space: &Space, applied: &Lowered) -> Result<String> {
    match space.bounds.target {
        Target::Cpu(_) => Ok(c::unit(&space.def, "drawn", applied)?.source),
        Target::Cuda(_) => Ok(cuda::translation_unit(&space.def, "drawn", applied)?.source),
    }
}

fn main() -> Result<()> {
    measure("cpu", Target::Cpu(CpuTarget::detect("native")?))?;
    measure("sm_80", Target::Cuda(*DeviceLimits::of("sm_80".parse()?)?))
}
