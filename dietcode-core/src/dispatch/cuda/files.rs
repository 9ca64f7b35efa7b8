//! What is written of a choice: the `.cu` files, and what the registry says.

use dietcode_syntax::ShapeVar;

use super::candidate::Candidate;
use super::selection::Choice;
use crate::codegen::registry::{CudaEntry, cuda_rs};

/// The folder in which the files stand, beside `registry.rs`.
pub const FOLDER: &str = "cuda";

impl Choice {
    /// (name, text) of a `.cu` for each micro-kernel, and of `report.json`.
    pub fn sources(&self) -> Vec<(String, String)> {
        let report = ("report.json".to_owned(), self.report.json());
        let source = |candidate: &Candidate| (format!("{}.cu", candidate.name()), self.source(candidate));
        std::iter::once(report).chain(self.micro_kernels.iter().map(source)).collect()
    }

    /// The text of a `.cu`; what was reported and why it was chosen stands at the end, where it moves no line.
    fn source(&self, candidate: &Candidate) -> String {
        let report = self.report.of(candidate.name()).text();
        let lines: String = report.lines().map(|line| format!(" * {line}\n")).collect();
        format!("{}/* Chosen, and the figures of its kernels:\n{lines} */\n", candidate.unit.source)
    }

    /// The CUDA half of `registry.rs`: why these, the table, the dispatcher. `images` says whether there is machine code,
    /// in files called as [`Candidate::image_file`] says; `host`, whether the program is linked with what the emulated
    /// device carries out.
    pub fn registry(&self, shape_vars: &[ShapeVar], images: bool, host: bool) -> String {
        let lines: String = self.report.text().lines().map(|line| format!("// {line}\n")).collect();
        let entries: Vec<CudaEntry> =
            self.micro_kernels.iter().map(|candidate| entry(candidate, images, host)).collect();
        let table = cuda_rs(&entries, &self.decisions, shape_vars);
        format!("\n// The micro-kernels for CUDA devices, and why these.\n{lines}{table}")
    }
}

impl Candidate {
    /// The name of its machine code: a cubin is for one device, a fatbin for several.
    pub fn image_file(&self) -> String {
        let extension = if self.devices.len() == 1 { "cubin" } else { "fatbin" };
        format!("{}.{extension}", self.name())
    }
}

fn entry(candidate: &Candidate, images: bool, host: bool) -> CudaEntry {
    let capabilities: Vec<_> = candidate.capabilities().iter().map(|c| (c.major, c.minor)).collect();
    let image_file = images.then(|| format!("{FOLDER}/{}", candidate.image_file()));
    CudaEntry::new(&candidate.unit, &capabilities, image_file, host)
}
