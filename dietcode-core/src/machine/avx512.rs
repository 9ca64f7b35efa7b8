//! A CPU with AVX-512, whatever this one is: for tests whose numbers must not depend on the machine.

use super::CpuTarget;

pub(crate) fn avx512() -> CpuTarget {
    CpuTarget {
        model: String::new(),
        march: String::new(),
        compiler: String::new(),
        features: 0,
        vector_bytes: 64,
        vector_registers: 32,
        l1_bytes: 32 << 10,
        l2_bytes: 1 << 20,
        l3_bytes: 32 << 20,
        cores: 2,
    }
}
