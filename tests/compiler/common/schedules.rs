//! Random schedules. A primitive that is refused is skipped: what remains is legal by construction of the primitives.

use dietcode_core::frontend;
use dietcode_core::ir::Program;
use dietcode_core::machine::CpuTarget;
use dietcode_core::schedule::{Combine, Pipeline, Schedule, Size, Staging, Tail};
use dietcode_core::sketch::Tiled;
use dietcode_syntax::{KernelDef, Role};
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};

/// Any sequence of primitives.
pub(crate) fn primitives(rng: &mut StdRng, program: &Program) -> Schedule {
    let block = &program.blocks[0];
    let mut schedule = Schedule::new(program, block);
    if rng.random_bool(0.1) {
        schedule.add_unit_loop("unit").expect("nothing is called so, and no loop is bound");
    }
    split(rng, &mut schedule);
    let mut order = schedule.loop_names();
    if rng.random_bool(0.8) {
        order.shuffle(rng);
        let order: Vec<&str> = order.iter().map(|name| &**name).collect();
        let _refused = schedule.reorder(&order);
    }
    let names = schedule.loop_names();
    if names.len() > 1 && rng.random_bool(0.4) {
        let at = rng.random_range(0..names.len() - 1);
        let _refused = schedule.fuse(&names[at], &names[at + 1], "fused");
        if rng.random_bool(0.5) {
            let _refused = schedule.rasterize("fused", [rng.random_range(1..=4), rng.random_range(1..=4)]);
        }
    }
    kinds(rng, &mut schedule);
    stages(rng, &mut schedule);
    schedule
}

fn split(rng: &mut StdRng, schedule: &mut Schedule) {
    for n in 0..rng.random_range(0..=6) {
        let names = schedule.loop_names();
        let name = names.choose(rng).expect("a schedule has loops");
        let factor = *[1, 2, 3, 4, 5, 8, 13, 16, 48].choose(rng).expect("there are factors");
        let tail = if rng.random_bool(0.6) { Tail::Pad } else { Tail::Clip };
        let into = [&*format!("s{n}_a"), &*format!("s{n}_b")];
        // What this draws leaves all others as they are.
        let mut own = StdRng::seed_from_u64((schedule.trace().len() * 64 + names.len()) as u64 * 64 + factor as u64);
        let _refused = match own.random_range(0..10) {
            // Compiled code is called with it.
            0 => {
                let parameter = format!("s{n}_size");
                let declared = schedule.parameter(&parameter, factor);
                declared.and_then(|()| schedule.split(name, Size::product([parameter]), Tail::Clip, into))
            }
            1 => schedule.split_into(name, factor, into),
            _ => schedule.split(name, factor, tail, into),
        };
    }
}

fn kinds(rng: &mut StdRng, schedule: &mut Schedule) {
    let names = schedule.loop_names();
    if rng.random_bool(0.7) {
        let _refused = schedule.parallel(&names[0]);
        // Where it is summed over, the parts meet.
        let _refused = schedule.rfactor(Combine::Workspace);
    }
    if rng.random_bool(0.7) {
        let _refused = schedule.vectorize(&names[names.len() - 1]);
    }
    let mut unrolled = 0;
    for name in names.iter().rev().skip(1) {
        if unrolled < 2 && rng.random_bool(0.5) && schedule.unroll(name).is_ok() {
            unrolled += 1;
            if rng.random_bool(0.5) {
                let _refused = schedule.partition(name, rng.random_range(0..=3));
            }
        }
    }
}

/// What this draws leaves all others as they are.
fn prefetches(schedule: &mut Schedule) {
    let names = schedule.loop_names();
    let mut rng = StdRng::seed_from_u64(schedule.trace().len() as u64);
    for input in ["in0", "in1"] {
        let at = names.choose(&mut rng).expect("a schedule has loops");
        let _refused = schedule.prefetch(input, at, rng.random_range(0..=2));
    }
}

fn stages(rng: &mut StdRng, schedule: &mut Schedule) {
    prefetches(schedule);
    let names = schedule.loop_names();
    let anywhere = |rng: &mut StdRng| match rng.random_range(0..=names.len()) {
        0 => None,
        n => Some(names[n - 1].clone()),
    };
    if rng.random_bool(0.7)
        && let Ok(tile) = schedule.cache_write()
    {
        let at = anywhere(rng);
        let _refused = schedule.compute_at(&tile, at.as_deref());
    }
    for input in ["in0", "in1"] {
        let staging = if rng.random_bool(0.5) { Staging::Always } else { Staging::Edge };
        if rng.random_bool(0.7)
            && let Ok(copies) = schedule.cache_read(input, staging)
        {
            for copy in copies {
                if rng.random_bool(0.3) {
                    let _refused = schedule.storage_align(&copy, rng.random_range(0..=40));
                }
                let at = anywhere(rng);
                let _refused = schedule.compute_at(&copy, at.as_deref());
            }
        }
    }
    if rng.random_bool(0.2) {
        let _refused = schedule.pipeline(Pipeline::Panels);
    }
    if rng.random_bool(0.7) {
        let _refused = schedule.decompose_reduction();
    }
}

/// A random member of the CPU's own family that is valid.
pub(crate) fn tiled(rng: &mut StdRng, def: &KernelDef, target: &CpuTarget) -> Tiled {
    let program = frontend::program(def);
    for _ in 0..50 {
        let mut tiled = Tiled::default();
        let size = |rng: &mut StdRng, sizes: &[i64]| *sizes.choose(rng).expect("there are sizes");
        for l in &def.loops {
            let sizes: &[i64] = if l.role == Role::Spatial { &[1, 2, 3, 5, 6, 16, 32, 48] } else { &[1, 1, 2, 4] };
            let register = size(rng, sizes);
            tiled.register_tile.insert(l.name.clone(), register);
            if rng.random_bool(0.7) {
                tiled.block_tile.insert(l.name.clone(), register * size(rng, &[1, 2, 3, 7, 16]));
            }
        }
        let spatial: Vec<&str> =
            def.loops.iter().filter(|l| l.role == Role::Spatial).map(|l| l.name.as_str()).collect();
        tiled.vector = spatial.choose(rng).filter(|_| rng.random_bool(0.8)).map(|name| (*name).to_owned());
        let inputs = def.params.iter().filter(|p| p.name.starts_with("in")).map(|p| p.name.clone());
        let (pack, others): (Vec<String>, Vec<String>) = inputs.partition(|_| rng.random_bool(0.5));
        tiled.load = others.into_iter().filter(|_| rng.random_bool(0.3)).collect();
        let apart = pack.first().filter(|_| rng.random_bool(0.4)).cloned();
        tiled.pad = apart.into_iter().map(|name| (name, size(rng, &[1, 16, 40]))).collect();
        tiled.double_buffer = !pack.is_empty() && rng.random_bool(0.4);
        tiled.pack = pack;
        tiled.lanes = tiled.vector.as_ref().filter(|_| rng.random_bool(0.4)).map(|_| size(rng, &[1, 2, 4, 8, 16]));
        if spatial.len() > 1 && rng.random_bool(0.3) {
            let pair = spatial.sample(rng, 2).map(|name| (*name).to_owned()).collect::<Vec<String>>();
            tiled.raster = pair.into_iter().map(|name| (name, size(rng, &[1, 2, 3]))).collect();
        }
        if tiled.micro_kernel(&program, target).is_ok() {
            // Where it can be asked for.
            let prefetch = vec!["in0".to_owned()];
            let asking = Tiled { prefetch, ..tiled.clone() };
            return if asking.micro_kernel(&program, target).is_ok() { asking } else { tiled };
        }
    }
    Tiled::default_for(&program, target)
}
