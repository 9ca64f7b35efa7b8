//! The sketches for GPUs of every kernel in `src/ops`: with the smallest decisions they lower for every device, with others the
//! emulator carries them out and they equal the reference; what is over a limit is refused before anything is compiled.

#[path = "property/expected.rs"]
mod expected;
#[path = "property/instance.rs"]
mod instance;
#[path = "property/memory.rs"]
mod memory;
#[path = "cuda_property/run.rs"]
mod run;
#[path = "cuda_space/sketches.rs"]
mod sketches;

use sketches::{DEVICES, device, kernels, smallest, space};

#[test]
fn every_sketch_lowers_for_every_device() {
    for def in kernels() {
        for name in DEVICES {
            let space = space(&def, device(name));
            assert!(!space.sketches.is_empty() && space.sketches.len() <= 24, "{} sketches of {}", space.sketches.len(), def.name);
            for sketch in &space.sketches {
                space.apply(&smallest(sketch)).unwrap_or_else(|e| panic!("{} on {name}: {e}\n{sketch}", def.name));
            }
        }
    }
}
