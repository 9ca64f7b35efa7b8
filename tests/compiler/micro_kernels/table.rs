//! What was done, as a table.

use std::collections::BTreeMap;
use std::fmt;

use dietcode_core::machine::cuda::Mix;
use dietcode_core::schedule::MatrixUnit;

use super::compiled::Built;
use super::sets::MicroKernel;
use super::shapes;

/// Rows by device, kind and element type.
#[derive(Default)]
pub(crate) struct Table(BTreeMap<(String, &'static str, &'static str), Row>);

/// The kernels of the micro-kernels, the few that only finish sums among them.
#[derive(Default)]
struct Row {
    micro_kernels: usize,
    registers: Vec<u32>,
    blocks: Vec<u32>,
    main_loop: Vec<u32>,
    spill_bytes: u32,
}

impl Table {
    /// Adds a micro-kernel that was compiled and emulated.
    pub(crate) fn add(&mut self, kernel: &MicroKernel, kernels: &[Built]) {
        let kind = match kernel.blocked.matrix_unit {
            None => "SIMT",
            Some(MatrixUnit::Half) => "tensor core",
            Some(MatrixUnit::Tf32) => "tensor core, tf32",
            Some(MatrixUnit::Tf32x3) => "tensor core, 3tf32",
        };
        let dtype = kernel.def.params[kernel.def.output].dtype.name();
        for device in &kernel.capabilities {
            let row = self.0.entry((device.to_string(), kind, dtype)).or_default();
            row.micro_kernels += 1;
            for Built { report, blocks, main_loop } in kernels.iter().filter(|built| built.report.capability == *device)
            {
                row.registers.push(report.registers);
                row.blocks.push(*blocks);
                row.main_loop.extend(main_loop.as_ref().map(Mix::total));
                row.spill_bytes += report.spill_stores + report.spill_loads;
            }
        }
    }
}

/// The least, the middle one and the greatest.
fn spread(numbers: &[u32]) -> String {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    let at = |place: usize| numbers.get(place).copied().unwrap_or(0);
    format!("{}, {}, {}", at(0), at(numbers.len() / 2), at(numbers.len().saturating_sub(1)))
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "min, median, max of registers, of blocks a multiprocessor holds, and of instructions of main loops; emulated at {} shapes",
            shapes::COUNT
        )?;
        writeln!(
            f,
            "device  kind               type  compiled and emulated      registers      blocks        main loop  spill bytes"
        )?;
        for ((device, kind, dtype), row) in &self.0 {
            let (count, registers, blocks) = (row.micro_kernels, spread(&row.registers), spread(&row.blocks));
            let (main_loop, spills) = (spread(&row.main_loop), row.spill_bytes);
            writeln!(
                f,
                "{device:7} {kind:18} {dtype:5} {count:>21}  {registers:>13}  {blocks:>10}  {main_loop:>15}  {spills:>11}"
            )?;
        }
        Ok(())
    }
}
