//! CPUs as they are described here, whatever the machine is.

use dietcode_core::machine::CpuTarget;

/// One with vectors of four floats.
pub(crate) fn sse2() -> CpuTarget {
    CpuTarget { march: "x86-64".into(), vector_bytes: 16, vector_registers: 16, ..avx512() }
}

/// One with AVX2.
pub(crate) fn avx2() -> CpuTarget {
    CpuTarget { march: "x86-64-v3".into(), vector_bytes: 32, vector_registers: 16, ..avx512() }
}

/// One with AVX-512.
pub(crate) fn avx512() -> CpuTarget {
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
