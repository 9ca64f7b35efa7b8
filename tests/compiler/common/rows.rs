//! Nests at shapes that no tile divides, each with vectors of every width on a CPU and by schedules for a GPU.

use dietcode_core::codegen::cuda::CudaUnit;
use dietcode_core::frontend;
use dietcode_core::machine::cuda::{DeviceLimits, HostCompiler};
use dietcode_core::machine::{CpuTarget, Toolchain};
use dietcode_core::sketch::{Blocked, Tiled};
use dietcode_syntax::{KernelDef, Prepared};

use super::instance::Instance;
use super::{on_cpu, on_gpu, units};

/// A nest, its shapes in the order of its variables, and parameters of schedules for a GPU beside the default.
pub(crate) struct Row {
    pub(crate) source: &'static str,
    pub(crate) shapes: &'static [&'static [i64]],
    pub(crate) on_gpu: &'static [&'static str],
}

/// A dense layer that begins its sum with a bias and adds to its output.
pub(crate) const DENSE_WITH_EPILOGUE: &str =
    "#[dynamic_kernel] fn dense(x: &[[f32; K]; M], w: &[[f32; K]; N], b: &[f32; N], y: &mut [[f32; N]; M]) {
        for i in 0..M { for j in 0..N {
            let mut acc = b[j];
            for k in 0..K { acc += x[i][k] * w[j][k]; }
            y[i][j] = acc.max(0.0) + y[i][j];
        } }
    }";

pub(crate) fn kernel(source: &str) -> KernelDef {
    let found = dietcode_syntax::scan(source).expect("the source parses");
    found[0].parse().unwrap_or_else(|errors| panic!("{errors}\n{source}"))
}

pub(crate) fn device(name: &str) -> &'static DeviceLimits {
    DeviceLimits::of(name.parse().expect("a capability")).expect("it is known")
}

/// A nest at each of its shapes, with rows that follow each other and rows that do not.
pub(crate) fn instances(def: &KernelDef, shapes: &[&[i64]]) -> Vec<Instance> {
    let instance = |(n, shape): (usize, &&[i64])| {
        [0, 3].map(|gap| Instance { seed: n as u64, def: def.clone(), shape: shape.to_vec(), gap, coarse: false })
    };
    shapes.iter().enumerate().flat_map(instance).collect()
}

/// This CPU with vectors of a width; the compiler makes of them what there is.
pub(crate) fn with_vectors(bytes: i64) -> CpuTarget {
    let native = CpuTarget::of(&Toolchain::find("native").expect("a C compiler"));
    CpuTarget { vector_bytes: bytes, vector_registers: if bytes == 64 { 32 } else { 16 }, ..native }
}

/// Checks the nest as it stands, and the default tiles of vectors of each width, with operands as they lie and with prepared ones; sums of
/// integers have none of these.
pub(crate) fn check_on_cpu(rows: &[Row]) {
    let toolchain = Toolchain::find("native").expect("a C compiler");
    for (row, bytes) in rows.iter().flat_map(|row| [16, 32, 64].map(|bytes| (row, bytes))) {
        let (plain, target) = (kernel(row.source), with_vectors(bytes));
        let case = |(n, def): (usize, KernelDef)| {
            let def = KernelDef { name: format!("{}_{n}", def.name), ..def };
            let tiled = Tiled::default_for(&frontend::program(&def), &target);
            let unit = units::tiled(&def, &tiled, &target).unwrap_or_else(|e| panic!("{e}\n{def}"));
            let reference = units::oracle(&def);
            let instance = instances(&def, row.shapes).remove(0);
            on_cpu::Case { instance, unit, reference, trace: tiled.name(), sizes: None }
        };
        let prepared: Vec<Prepared> = (0..plain.params.len()).filter_map(|param| Prepared::of(&plain, param)).collect();
        let sums_integers = plain.reduction.as_ref().is_some_and(|sum| sum.dtype.is_integer());
        assert!(prepared.is_empty() || !sums_integers, "sums of integers take what lies in tensors");
        let both = [plain.clone(), KernelDef { prepared, ..plain.clone() }];
        let mut cases: Vec<on_cpu::Case> = both.into_iter().enumerate().map(case).collect();
        // What no vector converts is converted otherwise.
        let nest = KernelDef { name: format!("{}_nest", plain.name), ..plain };
        let (unit, reference) = (units::naive(&nest), units::oracle(&nest));
        let instance = instances(&nest, row.shapes).remove(0);
        cases.extend((bytes == 16).then_some(on_cpu::Case {
            instance,
            unit,
            reference,
            trace: "nest".into(),
            sizes: None,
        }));
        let library = on_cpu::Library::compile(&toolchain, &cases);
        for mut case in cases {
            for instance in instances(&case.instance.def, row.shapes) {
                case.instance = instance;
                let tensors = case.instance.tensors();
                library.check(&case, &tensors, &case.instance.expected(&tensors));
            }
        }
    }
}

/// Checks the given schedules for a GPU, and the defaults of an old device and of a new one.
pub(crate) fn check_on_gpu(rows: &[Row]) {
    for row in rows {
        let def = kernel(row.source);
        let given = row.on_gpu.iter().map(|parameters| serde_json::from_str(parameters).expect("parameters"));
        let default = |name| Blocked::default_for(&frontend::program(&def), device(name)).expect("there is one");
        for blocked in given.chain(["sm_75", "sm_90"].map(default)) {
            let unit = units::blocked(&def, &blocked, device("sm_90")).unwrap_or_else(|e| panic!("{e}\n{def}"));
            check_unit(&unit, instances(&def, row.shapes));
        }
    }
}

/// Runs the launches of a unit on the emulated device.
pub(crate) fn check_unit(unit: &CudaUnit, instances: impl IntoIterator<Item = Instance>) {
    let compiler = HostCompiler::find().expect("a C++ compiler");
    let library = on_gpu::Library::compile(&compiler, [unit].into_iter());
    for instance in instances {
        let case = on_gpu::Case { instance, unit: unit.clone() };
        let tensors = case.instance.tensors();
        library.check(&case, &tensors, &case.instance.expected(&tensors));
    }
}
