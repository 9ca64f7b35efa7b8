//! `dietcode occupancy`

mod table;

use std::path::{Path, PathBuf};

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell, CellAlignment, Table};
use dietcode::core::machine::cuda::{
    ComputeCapability, DeviceLimits, Limiter, Occupancy, Resources, blocks_per_sm, bounds,
};
use dietcode::{Error, Result};
use serde::Serialize;

use super::counted;
use super::json::JsonArgument;

/// Says how many blocks of a CUDA kernel fit a multiprocessor and what allows no more, or checks a table of such numbers.
///
/// The shared-memory carve-out is at its maximum. No GPU is needed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dietcode occupancy --target sm_90 --threads 256 --registers 128 --shared 32768
  dietcode occupancy --csv rows.csv
  dietcode occupancy --target sm_80 --threads 128 --registers 64 --json -

The columns of a table: target, threads_per_block, registers_per_thread, static_shared_bytes, blocks_per_sm (0: the kernel
cannot be launched). Others are passed over. Exit status 1: rows differ.")]
pub(crate) struct Arguments {
    /// Print the rows of this table that differ from what is computed, and their number.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["target", "threads", "registers", "shared"])]
    csv: Option<PathBuf>,
    /// The device, such as sm_80.
    #[arg(long, value_name = "TARGET", required_unless_present = "csv")]
    target: Option<ComputeCapability>,
    /// Threads of a block.
    #[arg(long, value_name = "N", required_unless_present = "csv", value_parser = clap::value_parser!(u32).range(1..))]
    threads: Option<u32>,
    /// Registers of a thread.
    #[arg(long, value_name = "N", required_unless_present = "csv", value_parser = clap::value_parser!(u32).range(1..))]
    registers: Option<u32>,
    /// Shared memory of a block in bytes, static and dynamic [default: 0].
    #[arg(long, value_name = "BYTES")]
    shared: Option<u32>,
    #[command(flatten)]
    json: JsonArgument,
}

/// How many blocks fit, and why not more.
#[derive(Serialize)]
struct Fit<'a> {
    target: ComputeCapability,
    part: &'a str,
    blocks_per_sm: u32,
    limiter: String,
    warps: u64,
    warps_per_sm: u32,
    limits: Vec<Limit>,
}

/// How far a limit is.
#[derive(Serialize)]
struct Limit {
    limit: String,
    /// What a block takes.
    takes: u64,
    /// What there is.
    has: u64,
    /// How many blocks it allows.
    allows: u32,
    /// What is left over.
    left: u64,
}

/// A table beside what is computed.
#[derive(Serialize)]
struct Checked {
    rows: usize,
    differing: Vec<Difference>,
}

#[derive(Serialize)]
struct Difference {
    line: usize,
    target: ComputeCapability,
    /// What the table says.
    blocks_per_sm: u32,
    computed: u32,
    limiter: String,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { csv, target, threads, registers, shared, json } = arguments;
    json.check()?;
    match (csv, target, threads, registers) {
        (Some(file), ..) => check(file, json),
        (None, Some(target), Some(threads), Some(registers)) => {
            let resources =
                Resources { threads: *threads, registers: *registers, shared_bytes: shared.unwrap_or_default() };
            let fit = Fit::of(DeviceLimits::of(*target)?, &resources);
            json.write(&fit)?;
            json.print(&fit.text())
        }
        _ => Err(Error::input("`dietcode occupancy` needs --csv, or --target, --threads and --registers")),
    }
}

/// Prints what differs; an error if anything does.
fn check(file: &Path, json: &JsonArgument) -> Result<()> {
    let mut checked = Checked { rows: 0, differing: Vec::new() };
    table::read(file, |row| {
        checked.rows += 1;
        let found = row.occupancy();
        if found.blocks == row.blocks {
            return Ok(());
        }
        checked.differing.push(Difference {
            line: row.line,
            target: row.device.capability,
            blocks_per_sm: row.blocks,
            computed: found.blocks,
            limiter: found.limiter.to_string(),
        });
        json.print(&format!("{row}; {} fit, limited by {}\n", found.blocks, found.limiter))
    })?;
    json.write(&checked)?;
    json.print(&format!("{} of {} rows differ\n", checked.differing.len(), checked.rows))?;
    if checked.differing.is_empty() {
        return Ok(());
    }
    Err(Error::check(format!("{} does not agree with what is computed", file.display())))
}

impl Fit<'_> {
    fn of<'a>(device: &'a DeviceLimits, resources: &Resources) -> Fit<'a> {
        let Occupancy { blocks, limiter } = blocks_per_sm(device, resources);
        let limit = |(limit, allows): (Limiter, u32)| {
            let (takes, has) = use_of(limit, device, resources);
            let left = has.saturating_sub(u64::from(blocks) * takes);
            Limit { limit: limit.to_string(), takes, has, allows, left }
        };
        Fit {
            target: device.capability,
            part: device.part,
            blocks_per_sm: blocks,
            limiter: limiter.to_string(),
            warps: u64::from(blocks) * u64::from(resources.warps(device)),
            warps_per_sm: device.warps_per_sm,
            limits: bounds(device, resources).into_iter().map(limit).collect(),
        }
    }

    /// The number of blocks, its reason, and how far each limit is.
    fn text(&self) -> String {
        let Fit { target, part, blocks_per_sm, limiter, warps, warps_per_sm, limits } = self;
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header(["limit", "a block takes", "there are", "allows blocks", "left over"]);
        for Limit { limit, takes, has, allows, left } in limits {
            let numbers = [*takes, *has, u64::from(*allows), *left].map(|number| number.to_string());
            let right = |text| Cell::new(text).set_alignment(CellAlignment::Right);
            table.add_row([Cell::new(limit)].into_iter().chain(numbers.map(right)));
        }
        let verdict = match blocks_per_sm {
            0 => format!("such a kernel cannot be launched: {limiter}"),
            blocks => format!(
                "{} per multiprocessor, limited by {limiter}; {warps} of {warps_per_sm} warps",
                counted(*blocks as usize, "block")
            ),
        };
        format!("{target} (such as {part}): {verdict}\n{table}\n")
    }
}

/// What a block takes of a resource, and what a multiprocessor has of it.
fn use_of(limit: Limiter, device: &DeviceLimits, resources: &Resources) -> (u64, u64) {
    let warps = u64::from(resources.warps(device));
    match limit {
        Limiter::Blocks => (1, device.blocks_per_sm.into()),
        Limiter::Warps => (warps, device.warps_per_sm.into()),
        Limiter::Registers => {
            (resources.registers_per_warp(device).saturating_mul(warps), device.registers_per_sm.into())
        }
        Limiter::SharedMemory => (resources.shared_allocation(device), device.shared_per_sm.into()),
    }
}
