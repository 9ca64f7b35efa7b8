//! `dietcode explain --sass`: what the main loops of micro-kernels for CUDA are made of, in machine code, and what that bounds them to.

use std::collections::BTreeMap;

use dietcode::core::codegen::cuda::headers::DEVICE_HEADERS;
use dietcode::core::codegen::cuda::{CudaUnit, translation_unit};
use dietcode::core::config::{ConfigFile, KernelSet, WklInst};
use dietcode::core::cost_model::cuda::{Clocks, Computing, Limit, Prediction, Profile};
use dietcode::core::doing::doing;
use dietcode::core::machine::cuda::{
    Class, ComputeCapability, DeviceLimits, KernelReport, KernelSass, Nvcc, Nvdisasm, Pipe,
};
use dietcode::core::measure::Instance;
use dietcode::core::parallel::{cores, each};
use dietcode::core::search::WorkloadInstance;
use dietcode::core::syntax::KernelDef;
use dietcode::{Error, Result};
use serde::Serialize;

use super::{Arguments, device_choice};
use crate::cli::setup::{Setup, at_wkl, wkl_text};
use crate::cli::table::{Legend, grid};
use crate::cli::target::Target;

/// The columns: what is counted together in the table. JSON has each class.
const COLUMNS: [(&str, &[Class]); 8] = [
    ("matrix", &[Class::Matrix]),
    ("FMA", &[Class::Fma]),
    ("shared", &[Class::Shared]),
    ("global", &[Class::Global]),
    ("integer", &[Class::Integer]),
    ("moves", &[Class::Move]),
    ("control", &[Class::Control]),
    ("others", &[Class::Float, Class::Local, Class::Barrier, Class::Other]),
];

/// The same of what an iteration keeps busy.
const PARTS: [(&str, &[Limit]); 7] = [
    ("issue", &[Limit::Pipe(Pipe::Issue)]),
    (
        "matrix",
        &[
            Limit::Pipe(Pipe::MatrixHalf),
            Limit::Pipe(Pipe::MatrixTf32),
            Limit::Pipe(Pipe::MatrixDouble),
            Limit::Pipe(Pipe::MatrixInteger),
        ],
    ),
    ("FMA", &[Limit::Pipe(Pipe::Fma)]),
    ("ALU", &[Limit::Pipe(Pipe::Alu)]),
    ("shared", &[Limit::Pipe(Pipe::Shared)]),
    ("second level", &[Limit::SecondLevel]),
    ("others", &[Limit::Pipe(Pipe::Half), Limit::Pipe(Pipe::Double), Limit::Pipe(Pipe::Special)]),
];

/// A micro-kernel that is to be compiled for a device.
struct Wanted {
    device: &'static DeviceLimits,
    def: KernelDef,
    unit: CudaUnit,
    profile: Profile,
    /// The shapes at which something is expected of it.
    instances: Vec<Instance>,
}

/// A kernel of a micro-kernel on a device.
#[derive(Clone, Debug, Serialize)]
struct Row {
    device: ComputeCapability,
    kernel: String,
    micro_kernel: String,
    report: KernelReport,
    #[serde(flatten)]
    sass: KernelSass,
    /// What is expected of the micro-kernel, with the launch that computes its tiles; of a cover, of each part with its own.
    expected: Vec<Expected>,
}

/// What is expected of a micro-kernel at a shape; of a part of a cover, at the shape of the part.
#[derive(Clone, Debug, Serialize)]
struct Expected {
    shape: BTreeMap<String, i64>,
    /// For how many clocks an iteration of the main loop keeps parts of a multiprocessor busy, of all warps of a block.
    iteration: Clocks,
    predicted: Prediction,
    gflops: f64,
    /// Of what the units that carry out the products complete on all multiprocessors.
    share_of_peak: f64,
}

/// Prints it; of all micro-kernels of a set, or of those that a build would choose for a config's kernel.
pub(super) fn run(arguments: &Arguments, part_of_name: &str) -> Result<()> {
    let mut wanted = match ConfigFile::read(&arguments.config)? {
        ConfigFile::Set(set) => of_set(&set, arguments)?,
        ConfigFile::Kernel(config) => of_kernel(arguments, &Setup::of(*config)?)?,
    };
    wanted.retain(|one| format!("{} {}", one.def.name, one.unit.name).contains(part_of_name));
    if wanted.is_empty() {
        let of_name = match part_of_name {
            "" => String::new(),
            part => format!(" whose kernel and name contain `{}`", part.escape_debug()),
        };
        let expected = "expected some, of the devices that it names or of --target, and with the variables of --wkl";
        let config = arguments.config.display();
        return Err(Error::input(format!("{config}: found no micro-kernel for CUDA{of_name}, {expected}")));
    }
    let nvcc = Nvcc::find()?;
    let nvdisasm = Nvdisasm::find(&nvcc)?;
    let rows = each(wanted, cores(), |one| one.rows(&nvcc, &nvdisasm));
    let rows = rows.into_iter().collect::<Result<Vec<_>>>()?.concat();
    arguments.json.write(&rows)?;
    arguments.json.print(&text(&rows, !arguments.wkl.is_empty()))
}

/// All micro-kernels of a set, at its shapes or at those that were asked for; where shapes are named, only of kernels that have their variables.
fn of_set(set: &KernelSet, arguments: &Arguments) -> Result<Vec<Wanted>> {
    let devices = match arguments.target {
        Some(Target::Cuda(capability)) => vec![capability],
        Some(Target::Cpu) => Vec::new(),
        None => set.capabilities.clone(),
    };
    let asked = arguments.wkl.iter().map(|shapes| shapes.instances().map_err(|error| at_wkl(shapes, &error)));
    let asked = asked.collect::<Result<Vec<_>>>()?.concat();
    let nests = set.nests()?;
    let mut wanted = Vec::new();
    for device in devices {
        let device = DeviceLimits::of(device)?;
        for ((def, program), blocked) in set.micro_kernels(&nests)? {
            let shapes = if arguments.wkl.is_empty() { set.shapes(def) } else { shapes_of(def, &asked) };
            let instances = shapes.iter().map(|shape| Instance::of(def, shape)).collect::<Result<Vec<_>>>()?;
            if !arguments.wkl.is_empty() && instances.is_empty() {
                continue;
            }
            let (micro_kernel, lowered) = blocked.micro_kernel(program, device)?;
            let unit = translation_unit(def, &micro_kernel.name(), &lowered)?;
            wanted.push(Wanted { device, def: def.clone(), unit, profile: Profile::of(&lowered), instances });
        }
    }
    Ok(wanted)
}

/// What a build would choose; where shapes are named, only what runs them.
fn of_kernel(arguments: &Arguments, setup: &Setup) -> Result<Vec<Wanted>> {
    let workloads = setup.asked(&arguments.wkl)?;
    let Some(choice) = device_choice(arguments, setup)? else { return Ok(Vec::new()) };
    let mut wanted = Vec::new();
    for (report, (_, decision)) in choice.report.devices.iter().zip(&choice.decisions) {
        let device = DeviceLimits::of(report.capability)?;
        for (at, candidate) in choice.micro_kernels.iter().enumerate() {
            let runs = |workload: &&WorkloadInstance| decision.pick(&workload.instance.shape) == at;
            let own = workloads.iter().filter(runs).map(|workload| workload.instance.clone());
            let instances: Vec<Instance> = own.filter(|instance| !instance.computes_nothing()).collect();
            let held = candidate.capabilities().contains(&device.capability);
            if held && (arguments.wkl.is_empty() || !instances.is_empty()) {
                let (def, unit, profile) = (setup.def.clone(), candidate.unit.clone(), candidate.profile().clone());
                wanted.push(Wanted { device, def, unit, profile, instances });
            }
        }
    }
    Ok(wanted)
}

/// The instances that have a kernel's variables, and no others, as its shapes.
fn shapes_of(def: &KernelDef, instances: &[WklInst]) -> Vec<Vec<i64>> {
    let vars = &def.shape_vars;
    let own = instances.iter().filter(|wkl| wkl.len() == vars.len());
    own.filter_map(|wkl| vars.iter().map(|var| wkl.get(&var.name).copied()).collect()).collect()
}

impl Wanted {
    /// One row for each of its kernels, in the order of their launches.
    fn rows(self, nvcc: &Nvcc, nvdisasm: &Nvdisasm) -> Result<Vec<Row>> {
        let Wanted { device, def, unit, mut profile, instances } = self;
        let (capability, kernel) = (device.capability, &def.name);
        let _doing = doing(format!("compiling `{}` of `{kernel}` for {capability}", unit.name));
        let mut compiled = nvcc.compile(&unit.source, &[capability], DEVICE_HEADERS)?;
        let reports = compiled.report.clone();
        let sass = nvdisasm.count(&mut compiled)?;
        let of_launches = (&*unit.launches, &*compiled.report);
        profile.count(device, of_launches);
        let resources = profile.resources(device, Some(of_launches));
        let expected = |Computing { first, profile, shape, .. }: &Computing<'_>| {
            let predicted = profile.predict(&def, device, &resources[*first..], shape);
            let flops = Instance::of(&def, shape).ok()?.flops / predicted.seconds;
            Some(Expected {
                shape: def.shape_vars.iter().map(|var| var.name.clone()).zip(shape.iter().copied()).collect(),
                iteration: profile.iteration(device, shape)?,
                predicted,
                gflops: flops * 1e-9,
                share_of_peak: flops / profile.peak(device),
            })
        };
        let parts: Vec<Computing<'_>> = instances.iter().flat_map(|instance| profile.parts(&instance.shape)).collect();
        let row = |(at, symbol): (usize, &String)| {
            let report = reports.iter().find(|report| report.symbol == *symbol).cloned();
            let sass = sass.iter().find(|sass| sass.symbol == *symbol).cloned();
            let (report, sass) = report.zip(sass).ok_or_else(|| {
                Error::failed(format!(
                    "nvcc and nvdisasm do not both tell of `{symbol}`, which was compiled for {capability}"
                ))
            })?;
            let expected = parts.iter().filter(|part| part.launch == at).filter_map(expected).collect();
            let (kernel, micro_kernel) = (kernel.clone(), unit.name.clone());
            Ok(Row { device: capability, kernel, micro_kernel, report, sass, expected })
        };
        unit.launches.iter().map(|launch| &launch.symbol).enumerate().map(row).collect()
    }
}

/// Two tables for each device; with what is expected at all shapes, or at that of a micro-kernel's with the most operations.
fn text(rows: &[Row], all_shapes: bool) -> String {
    let mut legend = Legend::default();
    let tables = rows.chunk_by(|a, b| a.device == b.device).map(|rows| {
        let head = ["kernel", "micro-kernel", "registers", "spilled bytes", "main loop"].into_iter();
        let head: Vec<&str> = head.chain(COLUMNS.map(|(name, _)| name)).chain(["read ahead"]).collect();
        let loops = grid(head, rows.iter().map(|row| cells(row, &mut legend)));
        let head = ["kernel", "micro-kernel", "shape"].into_iter().chain(PARTS.map(|(name, _)| name));
        let head: Vec<&str> = head.chain(["bound", "blocks", "waves", "resident", "GFLOP/s", "of peak"]).collect();
        let shown = |row: &Row| match all_shapes {
            true => row.expected.clone(),
            false => row
                .expected
                .iter()
                .max_by(|a, b| a.operations().total_cmp(&b.operations()))
                .cloned()
                .into_iter()
                .collect(),
        };
        let mut bounds = Vec::new();
        for row in rows {
            bounds.extend(shown(row).iter().map(|expected| expected.cells(row, &mut legend)));
        }
        let bounds = match bounds.is_empty() {
            true => String::new(),
            false => format!(
                "clocks for which an iteration keeps parts of a multiprocessor busy, and what the model expects\n{}\n",
                grid(head, bounds)
            ),
        };
        format!("on {}: instructions of the main loop\n{loops}\n{bounds}", rows[0].device)
    });
    tables.collect::<Vec<_>>().join("\n") + &legend.text()
}

impl Expected {
    /// Operations of a call, in 10⁹.
    fn operations(&self) -> f64 {
        self.gflops * self.predicted.seconds
    }

    fn cells(&self, row: &Row, legend: &mut Legend) -> Vec<String> {
        let Expected { shape, iteration, predicted, gflops, share_of_peak } = self;
        let clocks =
            |limits: &[Limit]| limits.iter().filter_map(|limit| iteration.0.get(limit)).copied().reduce(f64::max);
        let parts = PARTS.map(|(_, limits)| clocks(limits).map_or("–".to_owned(), |clocks| format!("{clocks:.0}")));
        let mut cells = vec![row.kernel.clone(), legend.letter(&row.micro_kernel), wkl_text(shape)];
        cells.extend(parts);
        cells.extend([
            predicted.limit.name().to_owned(),
            predicted.blocks.to_string(),
            predicted.waves.to_string(),
            predicted.resident.to_string(),
            format!("{gflops:.0}"),
            format!("{:.0}%", 100.0 * share_of_peak),
        ]);
        cells
    }
}

fn cells(row: &Row, legend: &mut Legend) -> Vec<String> {
    let Row { kernel, micro_kernel, report, sass, .. } = row;
    let spilled = report.spill_stores + report.spill_loads;
    let mut cells =
        vec![kernel.clone(), legend.letter(micro_kernel), report.registers.to_string(), spilled.to_string()];
    match &sass.main_loop {
        Some(mix) => {
            cells.push(mix.total().to_string());
            let count = |classes: &[Class]| classes.iter().map(|class| mix.of(*class)).sum::<u32>().to_string();
            cells.extend(COLUMNS.map(|(_, classes)| count(classes)));
        }
        None => {
            cells.push(if sass.whole.products() > 0 { "unrolled" } else { "no products" }.to_owned());
            cells.extend(COLUMNS.map(|_| "–".to_owned()));
        }
    }
    cells.push(sass.read_ahead.map_or("–".to_owned(), |products| products.to_string()));
    cells
}
