//! The same by traces, as a search writes them: decisions in JSON, postprocessors, and a second kernel where blocks share the
//! sum besides.

use dietcode_core::codegen::cuda::CudaUnit;
use dietcode_core::machine::cuda::{DeviceLimits, HostCompiler};
use dietcode_core::schedule::{Instruction, Trace};
use dietcode_syntax::KernelDef;
use serde_json::json;

use super::{DENSE, kernel};
use crate::common::instance::Instance;
use crate::common::on_gpu::{Case, Library};
use crate::common::units;

/// The dense layer by 8 threads along columns, each sum by `k_cross` of them and by three blocks.
fn trace(k_cross: i64) -> Trace {
    let split = |parent: &str, factor: serde_json::Value, into: [&str; 2]| json!({"split": {"parent": parent, "factor": factor, "tail": "pad", "into": into}});
    let kind = |kind: &str, name: &str| json!({"kind": [kind, name]});
    let steps = json!([
        {"sample_tiles": [{"name": "k", "factors": [{"var": "k_cross", "level": "cross"}]}]},
        split("j", json!(8), ["j_0", "j_1"]),
        split("k", json!("k_cross"), ["k_rest", "k_2"]),
        split("k_rest", json!(3), ["k_0", "k_1"]),
        {"reorder": ["k_1", "i", "j_0", "j_1", "k_2", "k_0"]},
        kind("block_idx", "k_1"),
        kind("block_idx", "i"),
        kind("block_idx", "j_0"),
        kind("thread_idx", "j_1"),
        kind("thread_idx", "k_2"),
        {"cache_write": "y_tile"},
        {"compute_at": {"stage": "y_tile", "at": {"loop": "k_2"}}},
        {"rfactor": "workspace"},
        {"vectorize_store": 4},
    ]);
    let instructions: Vec<Instruction> = serde_json::from_value(steps).expect("instructions");
    Trace::new(instructions).with([("k_cross".into(), k_cross)].into())
}

fn unit(def: &KernelDef, k_cross: i64) -> CudaUnit {
    let traced = trace(k_cross);
    let text = serde_json::to_string(&traced).expect("a trace is JSON");
    let read: Trace = serde_json::from_str(&text).expect("and is read back");
    assert_eq!(read, traced);
    let device = DeviceLimits::of("sm_80".parse().expect("a capability")).expect("it is known");
    units::traced_on_gpu(def, &read, device).unwrap_or_else(|e| panic!("{e}"))
}

/// With a factor of 1 each thread sums alone: nothing is shared, and no barrier is left.
#[test]
fn traces_share_sums_among_threads_and_blocks() {
    let def = kernel(DENSE);
    let units = [1, 6, 32].map(|k_cross| unit(&def, k_cross));
    assert!(!units[0].source.contains("__syncthreads") && units[0].launches[0].shared_bytes == 0);
    assert_eq!(units.each_ref().map(|unit| unit.launches[0].threads), [8, 48, 256]);
    let library = Library::compile(&HostCompiler::find().expect("a C++ compiler"), units.iter());
    let names: Vec<&str> = def.shape_vars.iter().map(|var| &*var.name).collect();
    for [m, n, k] in [[1, 1, 0], [1, 9, 5], [3, 8, 6], [2, 17, 97], [1, 3, 1001]] {
        let value = |name: &&str| match *name {
            "M" => m,
            "N" => n,
            _ => k,
        };
        let shape: Vec<i64> = names.iter().map(value).collect();
        for unit in &units {
            let instance = Instance { seed: 3, def: def.clone(), shape: shape.clone(), gap: 1, coarse: false };
            let case = Case { instance, unit: unit.clone() };
            let tensors = case.instance.tensors();
            library.check(&case, &tensors, &case.instance.expected(&tensors));
        }
    }
}
