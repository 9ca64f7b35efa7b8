//! A CPU as the schedules see it.

use serde::{Deserialize, Serialize};

use crate::cpu_features;
use crate::ir::DType;

/// The limits of a CPU and of the instruction set that the compiler may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuTarget {
    /// The CPU's model, as it names itself, with family, model and stepping where it has them.
    pub model: String,
    /// What `-march=` says.
    pub march: String,
    /// First line of the compiler's `--version`.
    pub compiler: String,
    /// Bits of [`crate::cpu_features`] that code compiled for `march` may use.
    pub features: u64,
    /// Width of a vector register in bytes (64 with AVX-512).
    pub vector_bytes: i64,
    /// How many vector registers there are (32 with AVX-512).
    pub vector_registers: i64,
    /// First-level data cache of one core, in bytes.
    pub l1_bytes: i64,
    /// Second-level cache of one core, in bytes.
    pub l2_bytes: i64,
    /// Last-level cache, in bytes.
    pub l3_bytes: i64,
    /// Cores this process may use.
    pub cores: i64,
}

impl CpuTarget {
    /// In how many parts, one after the other, a core carries out what is done to a vector register; half a vector takes half of them.
    ///
    /// Source: AMD's Software Optimization Guide for family 19h (document 57647), of Zen 4.
    pub fn parts(&self) -> i64 {
        if self.model.contains("(family 25,") && self.vector_bytes > 32 { 2 } else { 1 }
    }

    /// How many elements of a type a vector register holds.
    pub fn lanes(&self, dtype: DType) -> i64 {
        self.vector_bytes / dtype.bytes()
    }

    /// Whether code may use a feature, as [`crate::cpu_features`] calls it.
    pub fn has(&self, feature: &str) -> bool {
        cpu_features::names(self.features).contains(&feature)
    }
}
