//! `dietcode explain --sass`: what the main loops of micro-kernels for CUDA are made of, in machine code.

use dietcode::core::codegen::cuda::headers::DEVICE_HEADERS;
use dietcode::core::codegen::cuda::{CudaUnit, translation_unit};
use dietcode::core::config::{ConfigFile, KernelSet};
use dietcode::core::doing::doing;
use dietcode::core::machine::cuda::{Class, ComputeCapability, DeviceLimits, KernelReport, KernelSass, Nvcc, Nvdisasm};
use dietcode::core::parallel::{cores, each};
use dietcode::{Error, Result};
use serde::Serialize;

use super::{Arguments, device_choice};
use crate::cli::setup::Setup;
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

/// A micro-kernel that is to be compiled for a device.
struct Wanted {
    device: ComputeCapability,
    /// The nest's name.
    kernel: String,
    unit: CudaUnit,
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
}

/// Prints it; of all micro-kernels of a set, or of those that a build would choose for a config's kernel.
pub(super) fn run(arguments: &Arguments, part_of_name: &str) -> Result<()> {
    let mut wanted = match ConfigFile::read(&arguments.config)? {
        ConfigFile::Set(_) if !arguments.wkl.is_empty() => {
            let config = arguments.config.display();
            return Err(Error::input(format!(
                "--wkl: {config} is a set, which has no shapes; expected a kernel's config"
            )));
        }
        ConfigFile::Set(set) => of_set(&set, arguments.target)?,
        ConfigFile::Kernel(config) => of_kernel(arguments, &Setup::of(*config)?)?,
    };
    wanted.retain(|one| format!("{} {}", one.kernel, one.unit.name).contains(part_of_name));
    if wanted.is_empty() {
        let of_name = match part_of_name {
            "" => String::new(),
            part => format!(" whose kernel and name contain `{}`", part.escape_debug()),
        };
        let expected = "expected some, of the devices that it names or of --target";
        let config = arguments.config.display();
        return Err(Error::input(format!("{config}: found no micro-kernel for CUDA{of_name}, {expected}")));
    }
    let nvcc = Nvcc::find()?;
    let nvdisasm = Nvdisasm::find(&nvcc)?;
    let rows = each(wanted, cores(), |one| one.rows(&nvcc, &nvdisasm));
    let rows = rows.into_iter().collect::<Result<Vec<_>>>()?.concat();
    arguments.json.write(&rows)?;
    arguments.json.print(&text(&rows))
}

/// All micro-kernels of a set.
fn of_set(set: &KernelSet, target: Option<Target>) -> Result<Vec<Wanted>> {
    let devices = match target {
        Some(Target::Cuda(capability)) => vec![capability],
        Some(Target::Cpu) => Vec::new(),
        None => set.capabilities.clone(),
    };
    let nests = set.nests()?;
    let mut wanted = Vec::new();
    for device in devices {
        let limits = DeviceLimits::of(device)?;
        for ((def, program), blocked) in set.micro_kernels(&nests)? {
            let (micro_kernel, lowered) = blocked.micro_kernel(program, limits)?;
            let unit = translation_unit(def, &micro_kernel.name(), &lowered)?;
            wanted.push(Wanted { device, kernel: def.name.clone(), unit });
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
        let device = report.capability;
        let runs = |at: usize| workloads.iter().any(|workload| decision.pick(&workload.instance.shape) == at);
        for (at, candidate) in choice.micro_kernels.iter().enumerate() {
            let held = candidate.capabilities().contains(&device);
            if held && (arguments.wkl.is_empty() || runs(at)) {
                let (kernel, unit) = (setup.def.name.clone(), candidate.unit.clone());
                wanted.push(Wanted { device, kernel, unit });
            }
        }
    }
    Ok(wanted)
}

impl Wanted {
    /// One row for each of its kernels, in the order of their launches.
    fn rows(self, nvcc: &Nvcc, nvdisasm: &Nvdisasm) -> Result<Vec<Row>> {
        let Wanted { device, kernel, unit } = self;
        let _doing = doing(format!("compiling `{}` of `{kernel}` for {device}", unit.name));
        let compiled = nvcc.compile(&unit.source, &[device], DEVICE_HEADERS)?;
        let sass = nvdisasm.kernels(&compiled.image)?;
        let row = |symbol: &str| {
            let report = compiled.report.iter().find(|report| report.symbol == symbol).cloned();
            let sass = sass.iter().find(|sass| sass.symbol == symbol).cloned();
            let (report, sass) = report.zip(sass).ok_or_else(|| {
                Error::failed(format!(
                    "nvcc and nvdisasm do not both tell of `{symbol}`, which was compiled for {device}"
                ))
            })?;
            Ok(Row { device, kernel: kernel.clone(), micro_kernel: unit.name.clone(), report, sass })
        };
        unit.launches.iter().map(|launch| row(&launch.symbol)).collect()
    }
}

/// A table for each device.
fn text(rows: &[Row]) -> String {
    let mut legend = Legend::default();
    let tables = rows.chunk_by(|a, b| a.device == b.device).map(|rows| {
        let head = ["kernel", "micro-kernel", "registers", "spilled bytes", "main loop"].into_iter();
        let head: Vec<&str> = head.chain(COLUMNS.map(|(name, _)| name)).chain(["read ahead"]).collect();
        let table = grid(head, rows.iter().map(|row| cells(row, &mut legend)));
        format!("on {}: instructions of the main loop\n{table}\n", rows[0].device)
    });
    tables.collect::<Vec<_>>().join("\n") + &legend.text()
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
