//! What a compiled kernel will use of a device, as `ptxas -v` says it, under nvcc and under NVRTC.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{ComputeCapability, Mix, Pipes, Resources};

/// The resources of one kernel on devices of one capability. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelReport {
    /// What it was compiled for.
    pub capability: ComputeCapability,
    /// The kernel's symbol.
    pub symbol: String,
    /// Registers of a thread, of 32 bits each.
    pub registers: u32,
    /// Stored per thread for want of registers.
    pub spill_stores: u32,
    /// Loaded back.
    pub spill_loads: u32,
    /// Local memory of a thread: spilled registers, and arrays that are indexed by what is not constant.
    pub stack_frame: u32,
    /// Shared memory that the kernel declares; what its launch adds is not in it.
    pub shared_bytes: u32,
    /// Constant memory of all banks, arguments among it.
    pub constant_bytes: u32,
    /// Barriers of a block.
    pub barriers: u32,
    /// The instructions of its main loop; none where nobody read the machine code, or where it has no such loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub main_loop: Option<Mix>,
    /// What that loop asks of each pipe, for a warp; none where there is no main loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipes: Option<Pipes>,
}

impl KernelReport {
    /// Whether registers did not suffice.
    pub fn spills(&self) -> bool {
        self.spill_stores > 0 || self.spill_loads > 0
    }

    /// What a block of so many threads takes, if its launch adds so many bytes of shared memory.
    pub fn resources(&self, threads: u32, dynamic_shared_bytes: u32) -> Resources {
        let shared_bytes = self.shared_bytes.saturating_add(dynamic_shared_bytes);
        Resources { threads, registers: self.registers, shared_bytes }
    }

    /// Reads the reports out of what a compiler printed, sorted by capability and symbol. Lines of other kinds are passed
    /// over, and so is a kernel of which not all is said.
    pub fn parse(text: &str) -> Vec<KernelReport> {
        let mut reports: Vec<KernelReport> = Vec::new();
        let mut kernel = None;
        for line in text.lines() {
            let info = line.strip_prefix("ptxas info").and_then(|rest| rest.trim_start().strip_prefix(':'));
            if let Some((symbol, capability)) = info.and_then(entry) {
                kernel = Some(Kernel { symbol, capability, own: false, frame: None });
            } else if let Some(kernel) = &mut kernel {
                reports.extend(kernel.read(line, info));
            }
        }
        reports.sort_by(|a, b| (a.capability, &a.symbol).cmp(&(b.capability, &b.symbol)));
        reports
    }
}

/// A kernel whose lines are being read.
struct Kernel {
    symbol: String,
    capability: ComputeCapability,
    /// Whether the next frame is the kernel's own, and not that of a function it calls.
    own: bool,
    /// Bytes of stack frame, spill stores and spill loads.
    frame: Option<[u32; 3]>,
}

impl Kernel {
    /// Takes in a line, whose part after `ptxas info :` is `info`; the last of a kernel's lines completes the report.
    fn read(&mut self, line: &str, info: Option<&str>) -> Option<KernelReport> {
        // Under NVRTC a line that goes on begins with the program's name and a point.
        let more = || line.strip_prefix("ptxas").and_then(|rest| rest.trim_start().strip_prefix('.'));
        let text = info.or_else(more).unwrap_or(line).trim();
        if let Some(function) = text.strip_prefix("Function properties for ") {
            self.own = function == self.symbol;
        } else if self.own && text.contains(" bytes stack frame") {
            self.frame = frame(text);
        } else if info.is_some() && text.starts_with("Used ") {
            return self.used(text);
        }
        None
    }

    /// Reads `Used 40 registers, used 1 barriers, 2048 bytes smem, 392 bytes cmem[0], 8 bytes cmem[2]`, in which all but the
    /// registers may be missing and others may stand.
    fn used(&mut self, text: &str) -> Option<KernelReport> {
        let mut parts = text.split(", ");
        let registers = number(parts.next()?.strip_prefix("Used ")?.strip_suffix(" registers")?)?;
        let (mut shared_bytes, mut constant_bytes, mut barriers) = (0, 0u32, 0);
        for part in parts {
            if let Some(found) = part.strip_prefix("used ").and_then(|rest| rest.strip_suffix(" barriers")) {
                barriers = number(found)?;
            } else if let Some(bytes) = part.strip_suffix(" bytes smem") {
                shared_bytes = number(bytes)?;
            } else if let Some((bytes, _)) = part.split_once(" bytes cmem[") {
                constant_bytes = constant_bytes.checked_add(number(bytes)?)?;
            }
        }
        let [stack_frame, spill_stores, spill_loads] = self.frame.take()?;
        let (capability, symbol) = (self.capability, self.symbol.clone());
        Some(KernelReport {
            capability,
            symbol,
            registers,
            spill_stores,
            spill_loads,
            stack_frame,
            shared_bytes,
            constant_bytes,
            barriers,
            main_loop: None,
            pipes: None,
        })
    }
}

/// Reads `Compiling entry function 'symbol' for 'sm_80'`.
fn entry(info: &str) -> Option<(String, ComputeCapability)> {
    let rest = info.trim().strip_prefix("Compiling entry function '")?;
    let (symbol, rest) = rest.split_once("' for '")?;
    Some((symbol.to_owned(), ComputeCapability::named(rest.strip_suffix('\'')?)?))
}

/// Reads `16 bytes stack frame, 12 bytes spill stores, 12 bytes spill loads`.
fn frame(text: &str) -> Option<[u32; 3]> {
    let mut parts = text.split(", ");
    let mut next = |what| number(parts.next()?.strip_suffix(what)?);
    Some([next(" bytes stack frame")?, next(" bytes spill stores")?, next(" bytes spill loads")?])
}

fn number(text: &str) -> Option<u32> {
    u32::from_str(text).ok()
}

#[cfg(test)]
mod tests;
