//! A CPU with AVX-512, whatever this one is: what is printed must not depend on the machine.

use dietcode_core::machine::CpuTarget;

pub(crate) fn target() -> CpuTarget {
    CpuTarget {
        model: "any".into(),
        march: "x86-64-v4".into(),
        compiler: "any".into(),
        features: 0,
        vector_bytes: 64,
        vector_registers: 32,
        l1_bytes: 32 << 10,
        l2_bytes: 1 << 20,
        l3_bytes: 32 << 20,
        cores: 2,
    }
}
