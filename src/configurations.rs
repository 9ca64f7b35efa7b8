//! The set of configurations that this crate was built with, which the programs `tune_nn` and its like choose from.
//!
//! | chosen by                             | the set                                               |
//! |---------------------------------------|-------------------------------------------------------|
//! | `DIETCODE_CONFIG=configs/x.json`      | that file                                             |
//! | `--features cpu_avx2`, `sm_80`, …     | `configs/cpu_avx2.json`, `configs/sm_80.json`, …      |
//! | neither                               | that of the CPU's vectors, or `configs/default.json`  |
//!
//! `DIETCODE_TARGETS=cpu,cuda,cuda-host` says for what it is compiled, whatever the set says of that.

include!(concat!(env!("OUT_DIR"), "/dietcode-set/registry.rs"));
