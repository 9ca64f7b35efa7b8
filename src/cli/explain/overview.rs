//! `dietcode explain CONFIG`: all instances of the config, what runs each of them, and what was measured of it.

use std::collections::{BTreeMap, BTreeSet};

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell, CellAlignment, Table};
use dietcode::Result;
use dietcode::core::config::WklInst;
use dietcode::core::dispatch::cuda::{DeviceAccount, InstanceAccount};
use dietcode::core::dispatch::{Measurement, Tuned, Winners};
use dietcode::core::search::Point;
use dietcode::core::target::CpuTarget;
use serde::Serialize;

use crate::cli::setup::{Setup, wkl_text};
use crate::cli::table::{Legend, gflops};
use crate::cli::{cuda, print};

/// What there is to say about a config.
#[derive(Debug, Serialize)]
struct Overview {
    kernel: String,
    /// Why the default runs; null where there is a tuned file that holds here.
    miss: Option<String>,
    /// What the tuned file was not made for; null where there is nothing.
    gap: Option<String>,
    instances: Vec<Row>,
    /// One entry for each CUDA device that the config names.
    cuda: Vec<DeviceAccount>,
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
pub(super) fn run(setup: &Setup, json: bool) -> Result<()> {
    let overview = overview(setup, &setup.points()?)?;
    if json {
        let text = serde_json::to_string_pretty(&overview).unwrap_or_default();
        return print(&format!("{text}\n"));
    }
    print(&text(&overview))
}

fn overview(setup: &Setup, points: &[Point]) -> Result<Overview> {
    let target = CpuTarget::detect(&setup.config.cpu.march)?;
    let (winners, miss) = match Winners::load(&setup.config, &setup.def, &target) {
        Ok(winners) => (winners, None),
        Err(miss) => (Winners::default_for(&setup.def, &target), Some(miss.to_string())),
    };
    let row = |point: &Point| {
        let shape: BTreeMap<String, i64> =
            setup.vars.iter().cloned().zip(point.instance.shape.iter().copied()).collect();
        let instance = winners.tuned.iter().flat_map(|t: &Tuned| &t.instances).find(|i| i.shape == shape);
        Row {
            wkl: point.wkl.clone(),
            micro_kernel: winners.schedules[winners.decision.pick(&point.instance.shape)].name(),
            tuned: instance.is_some(),
            measurements: instance.map_or_else(Vec::new, |instance| instance.measurements.clone()),
            shape,
        }
    };
    Ok(Overview {
        kernel: setup.def.name.clone(),
        miss,
        gap: winners.gap.as_ref().map(ToString::to_string),
        instances: points.iter().map(row).collect(),
        cuda: if setup.config.cuda.is_some() { cuda::choice(setup)?.account.devices } else { Vec::new() },
    })
}

fn text(overview: &Overview) -> String {
    let mut legend = Legend::default();
    let mut text = match (&overview.miss, &overview.gap) {
        (Some(miss), _) => format!("the default micro-kernel runs: {miss}\n"),
        (None, Some(gap)) => format!("{gap}\n"),
        (None, None) => String::new(),
    };
    text += &cpu_table(overview, &mut legend);
    for device in &overview.cuda {
        text += &device_table(device, &overview.instances, &mut legend);
    }
    text + &legend.text()
}

/// One row for each instance, one column for each number of threads that was measured.
fn cpu_table(overview: &Overview, legend: &mut Legend) -> String {
    let threads: BTreeSet<i64> =
        overview.instances.iter().flat_map(|row| &row.measurements).map(|measured| measured.threads).collect();
    let vars = overview.instances.first().into_iter().flat_map(|row| row.shape.keys().cloned());
    let on = |n: &i64| if *n == 1 { "1 thread".to_owned() } else { format!("{n} threads") };
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
    let rows: Vec<Vec<String>> = overview.instances.iter().map(row).collect();
    let figures = if overview.miss.is_none() { ", GFLOP/s as the tuned file has them" } else { "" };
    format!("`{}` on this CPU{figures}\n{}\n", overview.kernel, table(head, rows))
}

fn device_table(device: &DeviceAccount, all: &[Row], legend: &mut Legend) -> String {
    let head = ["instance", "kernel", "predicted", "in the tuned file"].map(str::to_owned);
    let row = |instance: &InstanceAccount| {
        let predicted = format!("{:.1} us", instance.predicted.seconds * 1e6);
        let tuned = if instance.tuned { "tuned" } else { "not tuned" }.to_owned();
        // The model has no word on an instance that it cannot predict, so that there may be fewer of them than rows.
        let here = all.iter().find(|row| row.shape == instance.shape);
        let wkl = wkl_text(here.map_or(&instance.shape, |row| &row.wkl));
        vec![wkl, legend.letter(&instance.micro_kernel), predicted, tuned]
    };
    let rows: Vec<Vec<String>> = device.instances.iter().map(row).collect();
    format!("\non {} ({}), {}\n{}\n", device.capability, device.part, device.source, table(head.into_iter(), rows))
}

fn table(head: impl Iterator<Item = String>, rows: Vec<Vec<String>>) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(head);
    for row in rows {
        table.add_row(row.into_iter().map(|text| Cell::new(text).set_alignment(CellAlignment::Right)));
    }
    table
}
