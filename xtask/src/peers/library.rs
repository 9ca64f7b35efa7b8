//! The libraries.

/// One of them, in one way to call it.
pub(super) struct Library {
    /// As worker.py knows it.
    pub(super) name: &'static str,
    /// As tables call it.
    pub(super) shown: &'static str,
    /// The wheels that it takes.
    pub(super) wheels: &'static [&'static str],
    /// Whether it has its weights in a layout of its own before the clock starts.
    pub(super) prepared: bool,
}

/// What our own kernels are called.
pub(super) const OURS: &str = "dietcode";

/// The crate in xtask/peers, which needs no wheel.
pub(super) const FAER: &str = "faer";

/// The one that a program is likely to have beside ours.
pub(super) const OPENBLAS: &str = "openblas";

const ONNX: &[&str] = &["onnxruntime==1.32.0", "onnx==1.23.2"];

/// All that are known. A new one is a class in worker.py, and a line here.
#[rustfmt::skip]
pub(super) const LIBRARIES: [Library; 8] = [
    Library { name: OPENBLAS, shown: "OpenBLAS", wheels: &["scipy-openblas32==0.3.34.481.3"], prepared: false },
    Library { name: "mkl", shown: "MKL", wheels: &["mkl==2026.2.0"], prepared: false },
    Library { name: "onednn", shown: "oneDNN", wheels: &["onednn-cpu-gomp==2023.2.0"], prepared: false },
    Library { name: "onnxruntime", shown: "ONNX Runtime", wheels: ONNX, prepared: false },
    Library { name: FAER, shown: "faer", wheels: &[], prepared: false },
    Library { name: "mkl_packed", shown: "MKL, packed", wheels: &["mkl==2026.2.0"], prepared: true },
    Library { name: "onednn_packed", shown: "oneDNN, packed", wheels: &["onednn-cpu-gomp==2023.2.0"], prepared: true },
    Library { name: "onnxruntime_packed", shown: "ONNX Runtime, packed", wheels: ONNX, prepared: true },
];

/// Those that take weights as they lie, or those that do not.
pub(super) fn names(prepared: bool) -> Vec<&'static str> {
    LIBRARIES.iter().filter(|library| library.prepared == prepared).map(|library| library.name).collect()
}
