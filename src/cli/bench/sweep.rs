//! `dietcode bench --sweep-grid`: micro-kernels over the sizes of their grids.

use std::collections::BTreeMap;

use dietcode::core::dispatch::defaults;
use dietcode::core::measure::Device;
use dietcode::core::search::{Sweep, WorkloadInstance};
use dietcode::core::sketch::MicroKernel;
use dietcode::tuning::{self, Opened, resolve_threads};
use dietcode::{Error, Result};

use super::Arguments;
use crate::cli::plot::{Chart, PlotAxis};
use crate::cli::setup::Setup;
use crate::cli::table::{gflops, grid, place};
use crate::cli::tell;

/// Measures, and shows what was expected beside it.
pub(super) fn run(arguments: &Arguments, setup: &Setup, workloads: &[WorkloadInstance]) -> Result<()> {
    let cache = setup.config.search.cache;
    let mut sweeps = Vec::new();
    for Opened { mut device, .. } in
        tuning::open(&setup.config, arguments.target, arguments.seed, &|_| Ok(None), &|line| tell(line))?
    {
        let settings = device.cpu().map_or(vec![0], |cpu| resolve_threads(&arguments.threads, cpu.cores));
        for micro_kernel in micro_kernels(setup, &*device, workloads)? {
            for setting in &settings {
                match Sweep::measure(&mut *device, &micro_kernel, workloads, (*setting, cache))? {
                    Some(sweep) => sweeps.push(sweep),
                    None => tell(&format!("{}: one tile at every shape; not swept", micro_kernel.name())),
                }
            }
        }
    }
    if sweeps.is_empty() {
        return Err(Error::input("--sweep-grid: found no micro-kernel whose grid grows with the shape"));
    }
    for sweep in &sweeps {
        let row = |at: &dietcode::core::search::Swept| {
            let off = format!("{:+.0}%", 100.0 * (at.predicted / at.measured - 1.0));
            [at.tiles.to_string(), gflops(Some(at.measured)), gflops(Some(at.predicted)), off]
        };
        let head = ["tiles", "measured", "predicted", "off by"];
        let table = grid(head.to_vec(), sweep.grids.iter().map(row));
        let error = format!("median error {:.1}%", 100.0 * sweep.error);
        arguments.files.print(&format!("\nGFLOP/s of {}: {error}\n{table}\n", caption(sweep)))?;
    }
    arguments.files.write(&sweeps, || sweeps.iter().map(chart).collect())
}

/// Those of the tuned file that holds here; else those that run where nothing was tuned.
fn micro_kernels(setup: &Setup, device: &dyn Device, workloads: &[WorkloadInstance]) -> Result<Vec<MicroKernel>> {
    let Some(cpu) = device.cpu() else { return Ok(defaults(device, workloads)?.micro_kernels) };
    Ok(setup.winners(cpu, "measuring the default micro-kernel", tell).schedules)
}

fn caption(sweep: &Sweep) -> String {
    format!("{} on {}", sweep.micro_kernel, place(sweep.setting))
}

fn chart(sweep: &Sweep) -> Chart {
    let line = |figure: fn(&dietcode::core::search::Swept) -> f64| {
        sweep.grids.iter().map(|at| (at.tiles as usize, figure(at))).collect::<Vec<_>>()
    };
    let lines = [("measured", line(|at| at.measured)), ("predicted by its points", line(|at| at.predicted))];
    let lines: BTreeMap<String, Vec<(usize, f64)>> = lines.map(|(name, line)| (name.to_owned(), line)).into();
    let last = sweep.grids.last().map_or(0, |at| at.tiles as usize);
    Chart { caption: format!("{}: GFLOP/s over tiles", caption(sweep)), peak: None, axis: PlotAxis::Tiles(last), lines }
}
