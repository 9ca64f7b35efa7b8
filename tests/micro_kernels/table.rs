//! What was done, as a table.

use std::collections::BTreeMap;
use std::fmt;

use dietcode_core::sketch::Unit;
use dietcode_core::target::cuda::KernelReport;
use dietcode_syntax::DType;

use crate::micro_kernels::sets::MicroKernel;
use crate::micro_kernels::shapes;

/// Rows by device, kind and element type.
#[derive(Default)]
pub(crate) struct Table(BTreeMap<(String, &'static str, &'static str), Row>);

#[derive(Default)]
struct Row {
    micro_kernels: usize,
    /// Of each kernel, the few that only finish sums among them.
    registers: Vec<u32>,
    spill_bytes: u32,
}

impl Table {
    /// Adds a micro-kernel that was compiled and emulated.
    pub(crate) fn add(&mut self, kernel: &MicroKernel, reports: &[KernelReport]) {
        let kind = match kernel.blocked.matrix_unit {
            None => "SIMT",
            Some(Unit::Half) => "tensor core",
            Some(Unit::Tf32) => "tensor core, tf32",
        };
        let dtype = match kernel.def.params[kernel.def.output].dtype {
            DType::F32 => "f32",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
        };
        for device in &kernel.capabilities {
            let row = self.0.entry((device.to_string(), kind, dtype)).or_default();
            row.micro_kernels += 1;
            for report in reports.iter().filter(|report| report.capability == *device) {
                row.registers.push(report.registers);
                row.spill_bytes += report.spill_stores + report.spill_loads;
            }
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "device  kind               type  compiled  emulated  registers (min, median, max)  spill bytes")?;
        for ((device, kind, dtype), row) in &self.0 {
            let mut registers = row.registers.clone();
            registers.sort_unstable();
            let [min, median, max] =
                [0, registers.len() / 2, registers.len() - 1].map(|at| registers.get(at).copied().unwrap_or(0));
            let (count, runs) = (row.micro_kernels, format!("{}x{}", row.micro_kernels, shapes::COUNT));
            let registers = format!("{min}, {median}, {max}");
            writeln!(
                f,
                "{device:7} {kind:18} {dtype:5} {count:8}  {runs:>8}  {registers:>28}  {:>11}",
                row.spill_bytes
            )?;
        }
        Ok(())
    }
}
