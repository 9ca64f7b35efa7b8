//! `dietcode explain CONFIG`: all instances of the config, what runs each of them, and what was measured of it.

use std::collections::{BTreeMap, BTreeSet};

use dietcode::Result;
use dietcode::core::config::WklInst;
use dietcode::core::dispatch::cuda::{DeviceReport, InstanceReport};
use dietcode::core::dispatch::{Measurement, Tuned};
use dietcode::core::search::WorkloadInstance;
use serde::Serialize;

use crate::cli::counted;
use crate::cli::setup::{Setup, wkl_text};
use crate::cli::table::{Legend, gflops, grid};

use super::{Arguments, Cpu, device_choice};

/// What there is to say about a config.
#[derive(Debug, Serialize)]
struct Overview {
    kernel: String,
    /// On the CPU, if it was asked for.
    #[serde(flatten)]
    cpu: Option<OnCpu>,
    /// One entry for each CUDA device that was asked for.
    cuda: Vec<DeviceReport>,
}

/// What runs the instances on the CPU.
#[derive(Debug, Serialize)]
struct OnCpu {
    /// Why the default runs; null where there is a tuned file that holds here.
    miss: Option<String>,
    /// What the tuned file was not made for; null where there is nothing.
    gap: Option<String>,
    instances: Vec<Row>,
}

/// An instance on this CPU.
#[derive(Debug, Serialize)]
struct Row {
    wkl: WklInst,
    shape: BTreeMap<String, i64>,
    micro_kernel: String,
    /// Whether the tuned file was made for it.
    tuned: bool,
    measurements: Vec<Measurement>,
}

/// Prints it.
pub(super) fn run(arguments: &Arguments, setup: &Setup) -> Result<()> {
    let workloads = setup.workloads()?;
    let choice = device_choice(arguments, setup)?;
    let cpu = Cpu::find(arguments, setup)?;
    let overview = Overview {
        kernel: setup.def.name.clone(),
        cpu: cpu.map(|cpu| on_cpu(setup, &workloads, cpu)),
        cuda: choice.map_or_else(Vec::new, |choice| choice.report.devices),
    };
    arguments.json.write(&overview)?;
    arguments.json.print(&text(&overview, &setup.vars, &workloads))
}

fn on_cpu(setup: &Setup, workloads: &[WorkloadInstance], Cpu { winners, miss, .. }: Cpu) -> OnCpu {
    let row = |workload: &WorkloadInstance| {
        let shape = setup.named(&workload.instance.shape);
        let instance = winners.tuned.iter().flat_map(|t: &Tuned| &t.instances).find(|i| i.shape == shape);
        Row {
            wkl: workload.wkl.clone(),
            micro_kernel: winners.schedules[winners.decision.pick(&workload.instance.shape)].name(),
            tuned: instance.is_some(),
            measurements: instance.map_or_else(Vec::new, |instance| instance.measurements.clone()),
            shape,
        }
    };
    OnCpu { miss, gap: winners.gap.as_ref().map(ToString::to_string), instances: workloads.iter().map(row).collect() }
}

fn text(overview: &Overview, vars: &[String], workloads: &[WorkloadInstance]) -> String {
    let mut legend = Legend::default();
    let mut tables = Vec::new();
    if let Some(cpu) = &overview.cpu {
        let why = match (&cpu.miss, &cpu.gap) {
            (Some(miss), _) => format!("the default micro-kernel runs: {miss}\n"),
            (None, Some(gap)) => format!("{gap}\n"),
            (None, None) => String::new(),
        };
        tables.push(why + &cpu_table(&overview.kernel, cpu, &mut legend));
    }
    tables.extend(overview.cuda.iter().map(|device| device_table(device, vars, workloads, &mut legend)));
    tables.join("\n") + &legend.text()
}

/// One row for each instance, one column for each number of threads that was measured.
fn cpu_table(kernel: &str, cpu: &OnCpu, legend: &mut Legend) -> String {
    let threads: BTreeSet<i64> =
        cpu.instances.iter().flat_map(|row| &row.measurements).map(|measured| measured.threads).collect();
    let vars = cpu.instances.first().into_iter().flat_map(|row| row.shape.keys().cloned());
    let on = |n: &i64| counted(usize::try_from(*n).unwrap_or(0), "thread");
    let head = ["instance".to_owned()].into_iter().chain(vars).chain(["kernel".to_owned()]);
    let head = head.chain(threads.iter().map(on)).chain(threads.is_empty().then(|| "measured".to_owned()));
    let row = |row: &Row| {
        let mut cells = vec![wkl_text(&row.wkl)];
        cells.extend(row.shape.values().map(ToString::to_string));
        cells.push(legend.letter(&row.micro_kernel));
        let measured = |n: &i64| row.measurements.iter().find(|m| m.threads == *n).map(|m| m.gflops_measured);
        match row.tuned {
            true => cells.extend(threads.iter().map(|n| gflops(measured(n)))),
            false => cells.push("not tuned".to_owned()),
        }
        cells
    };
    let table = grid(head.collect::<Vec<_>>(), cpu.instances.iter().map(row));
    let figures = if cpu.miss.is_none() { ", GFLOP/s as the tuned file has them" } else { "" };
    format!("`{kernel}` on this CPU{figures}\n{table}\n")
}

fn device_table(device: &DeviceReport, vars: &[String], all: &[WorkloadInstance], legend: &mut Legend) -> String {
    let head = ["instance", "kernel", "predicted", "in the tuned file"];
    let row = |instance: &InstanceReport| {
        let predicted = format!("{:.1} us", instance.predicted.seconds * 1e6);
        let tuned = if instance.tuned { "tuned" } else { "not tuned" }.to_owned();
        // The model has no word on an instance that it cannot predict, so that there may be fewer of them than rows.
        let values: Vec<i64> = vars.iter().filter_map(|var| instance.shape.get(var).copied()).collect();
        let here = all.iter().find(|workload| workload.instance.shape == values);
        let wkl = wkl_text(here.map_or(&instance.shape, |workload| &workload.wkl));
        vec![wkl, legend.letter(&instance.micro_kernel), predicted, tuned]
    };
    let table = grid(head, device.instances.iter().map(row));
    format!("on {} ({}), {}\n{table}\n", device.capability, device.part, device.source)
}
