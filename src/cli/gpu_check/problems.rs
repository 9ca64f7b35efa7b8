//! The products of BERT that are tuned and compared: the dense layer, and the two of the attention.

use std::collections::BTreeMap;

use dietcode::Result;
use dietcode::core::config::{Config, WklInst};
use dietcode::core::measure::Instance;
use dietcode::core::schedule::MatrixUnit;
use dietcode::core::search::WorkloadInstance;
use dietcode::core::sketch::Blocked;
use dietcode::core::syntax::KernelDef;
use serde::Serialize;

/// What is multiplied, and with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Precision {
    /// f32, without tf32.
    F32,
    /// f32 tensors, rounded to tf32 by the matrix unit.
    Tf32,
    F16,
    Bf16,
}

/// A product at the lengths of BERT.
pub(super) struct Product {
    pub(super) name: &'static str,
    /// Its functions for f32, f16 and bf16.
    functions: [&'static str; 3],
    /// The shape variables at a sequence length.
    shape: fn(i64, Size) -> Vec<(&'static str, i64)>,
}

/// 16 sequences of 12 heads, or what an emulator can carry out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Whole,
    Rehearsal,
}

pub(super) const PRECISIONS: [Precision; 4] = [Precision::F32, Precision::Tf32, Precision::F16, Precision::Bf16];

pub(super) const PRODUCTS: &[Product] = &[
    Product {
        name: "bert_dense",
        functions: ["dense", "matmul_nt_f16", "matmul_nt_bf16"],
        shape: |t, size| match size {
            Size::Whole => vec![("M", 16 * t), ("N", 2304), ("K", 768)],
            Size::Rehearsal => vec![("M", 2 * t), ("N", 37), ("K", 24)],
        },
    },
    Product {
        name: "bert_q_k",
        functions: ["batch_matmul_nt", "batch_matmul_nt_f16", "batch_matmul_nt_bf16"],
        shape: |t, size| {
            let (b, k) = if size == Size::Whole { (16 * 12, 64) } else { (2, 16) };
            vec![("B", b), ("M", t), ("N", t), ("K", k)]
        },
    },
    Product {
        name: "bert_p_v",
        functions: ["batch_matmul_nn", "batch_matmul_nn_f16", "batch_matmul_nn_bf16"],
        shape: |t, size| {
            let (b, n) = if size == Size::Whole { (16 * 12, 64) } else { (2, 16) };
            vec![("B", b), ("M", t), ("N", n), ("K", t)]
        },
    },
];

impl Precision {
    pub(super) fn name(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::Tf32 => "tf32",
            Precision::F16 => "f16",
            Precision::Bf16 => "bf16",
        }
    }

    /// Whether a micro-kernel computes with it; tf32 is never a choice for f32.
    pub(super) fn admits(self, blocked: &Blocked) -> bool {
        (self == Precision::Tf32) == (blocked.matrix_unit == Some(MatrixUnit::Tf32))
    }
}

impl Product {
    /// The function that computes it.
    pub(super) fn function(&self, precision: Precision) -> &'static str {
        match precision {
            Precision::F32 | Precision::Tf32 => self.functions[0],
            Precision::F16 => self.functions[1],
            Precision::Bf16 => self.functions[2],
        }
    }

    /// The instances at the sequence lengths of a config.
    pub(super) fn workloads(&self, def: &KernelDef, lengths: &[i64], size: Size) -> Result<Vec<WorkloadInstance>> {
        let workload = |t: &i64| {
            let shape: BTreeMap<&str, i64> = (self.shape)(*t, size).into_iter().collect();
            let extents: Vec<i64> =
                Config::shape_vars(def).iter().map(|var| shape.get(var.as_str()).copied().unwrap_or(1)).collect();
            let wkl = WklInst::from([("T".to_owned(), *t)]);
            Ok(WorkloadInstance { wkl, weight: 1.0, instance: Instance::of(def, &extents)? })
        };
        lengths.iter().map(workload).collect()
    }
}
