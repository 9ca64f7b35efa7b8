//! CPUs as they are described here, whatever the machine is.

use dietcode_core::machine::CpuTarget;

use crate::common::avx512::target as avx512;

/// One with vectors of four floats.
pub(crate) fn sse2() -> CpuTarget {
    CpuTarget { march: "x86-64".into(), vector_bytes: 16, vector_registers: 16, ..avx512() }
}

/// One with AVX2.
pub(crate) fn avx2() -> CpuTarget {
    CpuTarget { march: "x86-64-v3".into(), vector_bytes: 32, vector_registers: 16, ..avx512() }
}
