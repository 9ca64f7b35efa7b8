//! `dietcode occupancy`

mod table;

use std::path::PathBuf;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell, CellAlignment, Table};
use dietcode::core::target::cuda::{
    ComputeCapability, DeviceLimits, Limiter, Occupancy, Resources, blocks_per_sm, bounds,
};
use dietcode::{Error, ErrorKind, Result};

use super::print;

/// Says how many blocks of a CUDA kernel fit a multiprocessor and what allows no more, or checks a table of such numbers.
///
/// The shared-memory carve-out is at its maximum. No GPU is needed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dietcode occupancy --target sm_90 --threads 256 --registers 128 --shared 32768
  dietcode occupancy --csv rows.csv

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
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { csv, target, threads, registers, shared } = arguments;
    match (csv, target, threads, registers) {
        (Some(file), ..) => check(file),
        (None, Some(target), Some(threads), Some(registers)) => {
            let resources =
                Resources { threads: *threads, registers: *registers, shared_bytes: shared.unwrap_or_default() };
            print(&explain(DeviceLimits::of(*target)?, &resources))
        }
        _ => Err(Error::input("`dietcode occupancy` needs --csv, or --target, --threads and --registers")),
    }
}

/// Prints what differs; an error if anything does.
fn check(file: &std::path::Path) -> Result<()> {
    let (mut rows, mut differing) = (0, 0);
    table::read(file, |row| {
        rows += 1;
        let found = row.occupancy();
        if found.blocks == row.blocks {
            return Ok(());
        }
        differing += 1;
        print(&format!("{row}; {} fit, limited by {}\n", found.blocks, found.limiter))
    })?;
    print(&format!("{differing} of {rows} rows differ\n"))?;
    if differing == 0 {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Check, format!("{} does not agree with what is computed", file.display())))
}

/// The number of blocks, its reason, and how far each limit is.
fn explain(device: &DeviceLimits, resources: &Resources) -> String {
    let Occupancy { blocks, limiter } = blocks_per_sm(device, resources);
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(["limit", "a block takes", "there are", "allows blocks", "left over"]);
    for (limit, allowed) in bounds(device, resources) {
        let (takes, has) = use_of(limit, device, resources);
        let left = has.saturating_sub(u64::from(blocks) * takes);
        let numbers = [takes, has, u64::from(allowed), left].map(|number| number.to_string());
        let right = |text| Cell::new(text).set_alignment(CellAlignment::Right);
        table.add_row([Cell::new(limit)].into_iter().chain(numbers.map(right)));
    }
    let warps = u64::from(blocks) * u64::from(resources.warps(device));
    let verdict = match blocks {
        0 => format!("such a kernel cannot be launched: {limiter}"),
        1 => format!("1 block per multiprocessor, limited by {limiter}; {warps} of {} warps", device.warps_per_sm),
        _ => format!(
            "{blocks} blocks per multiprocessor, limited by {limiter}; {warps} of {} warps",
            device.warps_per_sm
        ),
    };
    format!("{} (such as {}): {verdict}\n{table}\n", device.capability, device.part)
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
