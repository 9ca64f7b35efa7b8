//! The configs that the binary carries, with the sources that they name: a machine with a GPU needs no file of ours.

use std::fs;
use std::path::{Path, PathBuf};

use dietcode::core::config::Config;
use dietcode::core::scratch::Scratch;
use dietcode::core::sketch::rules::Tf32;
use dietcode::{Error, Result};

/// Paths as in the repository.
const FILES: &[(&str, &str)] = &[
    ("configs/sm_80.json", include_str!("../../../configs/sm_80.json")),
    ("configs/sm_90.json", include_str!("../../../configs/sm_90.json")),
    (DENSE, include_str!("../../../configs/bert_dense.json")),
    (Q_K, include_str!("../../../configs/bert_q_k.json")),
    (P_V, include_str!("../../../configs/bert_p_v.json")),
    (OPS, include_str!("../../ops.rs")),
    (MATMUL, include_str!("../../ops/matmul.rs")),
    (BATCHED, include_str!("../../ops/batched.rs")),
    ("src/ops/convolution.rs", include_str!("../../ops/convolution.rs")),
];

const DENSE: &str = "configs/bert_dense.json";
const Q_K: &str = "configs/bert_q_k.json";
const P_V: &str = "configs/bert_p_v.json";
const OPS: &str = "src/ops.rs";
const MATMUL: &str = "src/ops/matmul.rs";
const BATCHED: &str = "src/ops/batched.rs";

/// The sets and configs whose micro-kernels are checked where none are named.
const CHECKED: &[&str] = &["configs/sm_80.json", "configs/sm_90.json", DENSE];

/// What is tuned where no config is named: a config, the kernel that takes the place of its own, and how it may use tf32.
const TUNED: &[(&str, &str, &str, Tf32)] = &[
    (DENSE, OPS, "dense", Tf32::Forbidden),
    (DENSE, OPS, "dense", Tf32::Once),
    (DENSE, OPS, "dense", Tf32::Thrice),
    (DENSE, MATMUL, "matmul_nt_f16", Tf32::Forbidden),
    (DENSE, MATMUL, "matmul_nt_bf16", Tf32::Forbidden),
    (Q_K, BATCHED, "batch_matmul_nt", Tf32::Forbidden),
    (Q_K, BATCHED, "batch_matmul_nt", Tf32::Once),
    (Q_K, BATCHED, "batch_matmul_nt_f16", Tf32::Forbidden),
    (Q_K, BATCHED, "batch_matmul_nt_bf16", Tf32::Forbidden),
    (P_V, BATCHED, "batch_matmul_nn", Tf32::Forbidden),
    (P_V, BATCHED, "batch_matmul_nn", Tf32::Once),
    (P_V, BATCHED, "batch_matmul_nn_f16", Tf32::Forbidden),
    (P_V, BATCHED, "batch_matmul_nn_bf16", Tf32::Forbidden),
];

/// The files, in a folder that goes with this.
pub(super) struct Embedded(Scratch);

impl Embedded {
    /// Writes them, so that they are read as all configs are.
    pub(super) fn unpack() -> Result<Embedded> {
        let failed = |e| Error::unavailable("no folder can be made for the configs").caused_by(e);
        let folder = Scratch::new()?;
        for (name, text) in FILES {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
            fs::write(path, text).map_err(failed)?;
        }
        Ok(Embedded(folder))
    }

    /// What is checked where nothing is named.
    pub(super) fn checked(&self) -> Vec<PathBuf> {
        CHECKED.iter().map(|name| self.0.path().join(name)).collect()
    }

    /// What is tuned where no config is named, each with whether it is a file as it stands.
    pub(super) fn tuned(&self) -> Result<Vec<(Config, bool)>> {
        let variant = |(name, source, function, tf32): &(&str, &str, &str, Tf32)| {
            let mut config = Config::read(self.0.path().join(name))?;
            let as_it_stands = config.kernel.function == *function && config.search.tf32 == *tf32;
            (config.kernel.source, config.kernel.function) = (self.0.path().join(source), (*function).to_owned());
            config.search.tf32 = *tf32;
            Ok((config, as_it_stands))
        };
        TUNED.iter().map(variant).collect()
    }
}
