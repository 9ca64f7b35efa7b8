//! A product of three sizes: which of them have what was tuned, and which the default.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use crate::config::{Config, Scheduling};
use crate::dispatch::{Finalized, Searched, Tree, Tuned, Winners, finalize};
use crate::frontend;
use crate::machine::{Target, avx512};
use crate::measure::{Baselines, Device, Failure, Instance, SimulatedDevice};
use crate::search::strategy::enumerated;
use crate::search::{Budget, Course, Database, Event, Identity, Journal, Task, Tuning, WorkloadInstance, search};
use crate::sketch::Tiled;

const PRODUCT: &str = "#[dynamic_kernel]
    pub fn product(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
        for i in 0..M { for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K { acc += x[i][k] * w[j][k]; }
            y[i][j] = acc;
        } }
    }";

/// What comes of a search.
struct Ended {
    tuned: Tuned,
    /// The micro-kernel that was tuned for it.
    tile: String,
    /// The tree where nothing was tuned.
    default: Tree,
}

/// What comes of a search in so many seconds for a range of all three sizes, from a tile for large shapes. `gflops` says what is reached at
/// sizes M, N and K: by the tile, or by any other.
fn ended(range: [i64; 2], seconds: f64, gflops: impl Fn(bool, &[i64]) -> f64 + 'static) -> Ended {
    let def = crate::testing::kernel(PRODUCT);
    let text = format!(
        r#"{{"kernel": {{"source": "ops.rs", "function": "product"}}, "shape": {{"M": "M", "N": "N", "K": "K"}},
        "wkl_insts": [{{"M": 64, "N": 64, "K": 64}}], "range": {{"M": {range:?}, "N": {range:?}, "K": {range:?}}}}}"#
    );
    let config = Config::parse("c.json", text).unwrap();
    let vars = Config::shape_vars(&def);
    let sizes = |all: &[(&str, i64)]| all.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
    let tiled = Tiled {
        vector: Some("j".into()),
        register_tile: sizes(&[("i", 8), ("j", 16)]),
        block_tile: sizes(&[("i", 64), ("j", 64), ("k", 64)]),
        pack: vec!["w".into()],
        ..Tiled::default()
    };
    let tile = tiled.micro_kernel(&frontend::program(&def), &avx512()).unwrap().0;
    let known = tile.name();
    let at = ["M", "N", "K"].map(|var| vars.iter().position(|known| known == var).unwrap());
    let call = move |name: &str, instance: &Instance, _: usize| {
        let gflops = gflops(name == known, &at.map(|at| instance.shape[at]));
        Ok::<f64, Failure>(instance.flops / gflops / 1e9)
    };
    let device = SimulatedDevice::new(def.clone(), Target::Cpu(avx512()), Box::new(call)).timed();
    let workload = |size: i64| {
        let wkl: BTreeMap<String, i64> = vars.iter().map(|var| (var.clone(), size)).collect();
        WorkloadInstance { wkl, weight: 1.0, instance: Instance::of(&def, &[size; 3]).unwrap() }
    };
    let workloads: Vec<WorkloadInstance> = [64, 200].map(workload).into();
    let defaults = crate::dispatch::defaults(&device, &workloads).unwrap();
    let default = Winners::default_for(device.program(), &avx512()).tree;
    let (stop, watch) = (AtomicBool::new(false), |_: Event| ());
    let budget = Budget::start(device.clock(), seconds, &stop);
    let journal = Journal::resume(Database::in_memory(), &device, Identity { seed: 0, space_hash: String::new() });
    let tuning = Tuning::new(Box::new(device), workloads, vec![1], defaults, budget, journal, &watch);
    let mut tasks = [Task { tuning, proposer: enumerated([tile.clone()]), weight: 1.0, per_round: 8 }];
    let course = Course { trials: None, until: None, scheduling: Scheduling::default(), seed: 0 };
    let found = search(&mut tasks, &course).swap_remove(0).unwrap();
    let searched = Searched { config: Some(&config), tolerance: 0.02, most: 1, space_hash: "s", found: &found };
    let Finalized { tuned, .. } =
        finalize(&mut tasks[0].tuning, searched, &Baselines::on_gpu(None, false), |_| ()).unwrap();
    Ended { tuned, tile: tile.name(), default }
}

/// What a tree leads sizes to.
fn of(tree: &Tree, sizes: [i64; 3]) -> &str {
    tree.pick(&["M", "N", "K"].map(str::to_owned), &sizes)
}

/// One that was tuned for up to 256 of each: far beyond, a row, a column and a long sum are the default's.
#[test]
fn shapes_far_off_the_range_take_what_the_default_takes() {
    let Ended { tuned, tile, default } = ended([32, 256], 1e6, |is_tile, _| if is_tile { 150.0 } else { 100.0 });
    let far = [[1, 1, 100_000], [2048, 1, 768], [1, 2304, 768], [1, 1, 1_000_000], [4096, 4096, 4096], [1, 4, 1]];
    for sizes in far {
        assert_eq!(of(&tuned.tree, sizes), of(&default, sizes), "{sizes:?}");
    }
    for size in [32, 64, 100, 256] {
        assert_eq!(of(&tuned.tree, [size; 3]), tile);
    }
    // One for the range, and all of the default.
    let of_default: std::collections::BTreeSet<&str> = default.leaves().collect();
    assert!(of_default.len() > 1 && tuned.micro_kernels.len() == of_default.len() + 1, "{of_default:?}");
}
