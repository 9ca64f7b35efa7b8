//! Why these micro-kernels: what is written beside them and shown to people.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use serde::Serialize;

use crate::cost_model::cuda::Prediction;
use crate::machine::cuda::{ComputeCapability, KernelReport};

/// A report on a kernel's choice on all devices.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The kernel's name.
    pub kernel: String,
    /// One entry for each device, oldest first.
    pub devices: Vec<DeviceReport>,
}

/// The choice on one device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceReport {
    /// The device.
    pub capability: ComputeCapability,
    /// The part that estimates are made for.
    pub part: String,
    /// Where the choice comes from.
    pub source: Source,
    /// The kernels of the chosen micro-kernels.
    pub launches: Vec<LaunchResources>,
    /// What runs the config's instances.
    pub instances: Vec<InstanceReport>,
}

/// Where a choice comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A tuned file.
    Tuned,
    /// The model, out of so many valid candidates.
    Predicted {
        /// How many there were.
        candidates: usize,
    },
    /// There was nothing to choose from.
    Default,
}

/// What one kernel takes of the device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LaunchResources {
    /// The micro-kernel that it is part of.
    pub micro_kernel: String,
    /// Its symbol.
    pub symbol: String,
    /// Threads of a block.
    pub threads: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Shared memory of a block in bytes.
    pub shared_bytes: u32,
    /// Blocks that a multiprocessor holds.
    pub blocks_per_sm: u32,
    /// What allows no more.
    pub limiter: String,
    /// What the compiler reported; null where there is none and the figures are estimates.
    pub report: Option<KernelReport>,
}

/// An instance and what runs it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InstanceReport {
    /// The values of the shape variables.
    pub shape: BTreeMap<String, i64>,
    /// The micro-kernel.
    pub micro_kernel: String,
    /// Whether it is one that a tuned file was made for.
    pub tuned: bool,
    /// What is expected of it.
    pub predicted: Prediction,
}

impl Report {
    /// The same as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report has no key that is not text") + "\n"
    }

    /// What concerns one micro-kernel, on the devices that were given it.
    pub fn of(&self, micro_kernel: &str) -> Report {
        let mut devices = self.devices.clone();
        for device in &mut devices {
            device.launches.retain(|launch| launch.micro_kernel == micro_kernel);
            device.instances.retain(|instance| instance.micro_kernel == micro_kernel);
        }
        devices.retain(|device| !device.launches.is_empty());
        Report { kernel: self.kernel.clone(), devices }
    }

    /// A table for a comment: a line for each device, kernel and instance.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for device in &self.devices {
            device.write(&mut text).expect("a String takes all that is written");
        }
        text
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Tuned => f.write_str("as its tuned file says"),
            Source::Predicted { candidates } => write!(f, "predicted to be the best of {candidates}"),
            Source::Default => f.write_str("the default"),
        }
    }
}

impl DeviceReport {
    fn write(&self, text: &mut String) -> fmt::Result {
        writeln!(text, "{} ({}): {}", self.capability, self.part, self.source)?;
        for launch in &self.launches {
            let LaunchResources { registers, shared_bytes, blocks_per_sm, limiter, threads, .. } = launch;
            let is = |end: &str| launch.symbol.ends_with(end);
            let name = match () {
                () if is("_rest_finish") => "  and the second kernel of that",
                () if is("_finish") => "  and its second kernel",
                () if is("_rest") => "  and for the rest",
                () => &launch.micro_kernel,
            };
            write!(
                text,
                "  {name}: {threads} threads, {registers} registers, {shared_bytes} bytes of shared memory, {blocks_per_sm} \
                 blocks a multiprocessor ({limiter})"
            )?;
            text.push_str(match &launch.report {
                None => ", estimated\n",
                Some(report) if report.spills() => ", SPILLS: nothing else serves its instances\n",
                Some(_) => ", no spills\n",
            });
        }
        for InstanceReport { shape, micro_kernel, predicted, .. } in &self.instances {
            let shape: Vec<String> = shape.iter().map(|(var, value)| format!("{var}={value}")).collect();
            writeln!(
                text,
                "  {}: {micro_kernel}, {:.1} us, {} blocks, occupancy {:.0}%, padding ratio {:.3}",
                shape.join(","),
                predicted.seconds * 1e6,
                predicted.blocks,
                100.0 * predicted.occupancy,
                predicted.padding_ratio
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_told_apart() {
        let launch = |end: &str| LaunchResources {
            micro_kernel: "tile".to_owned(),
            symbol: format!("run_tile{end}"),
            threads: 128,
            registers: 40,
            shared_bytes: 0,
            blocks_per_sm: 8,
            limiter: "registers".to_owned(),
            report: None,
        };
        let launches = ["_main", "_main_finish", "_rest", "_rest_finish"].map(launch).to_vec();
        let (capability, part) = ("sm_80".parse().unwrap(), "A100".to_owned());
        let device = DeviceReport { capability, part, source: Source::Default, launches, instances: Vec::new() };
        let text = Report { kernel: "dense".to_owned(), devices: vec![device] }.text();
        let names: Vec<&str> = text.lines().skip(1).map(|line| line.split(':').next().unwrap().trim()).collect();
        assert_eq!(names, ["tile", "and its second kernel", "and for the rest", "and the second kernel of that"]);
    }
}
