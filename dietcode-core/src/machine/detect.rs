//! The CPU this runs on, as code for a given `-march` will see it.

use super::{CpuTarget, Macros, Toolchain, caches};
use crate::{Result, cpu_features, cpu_features::CPU_FEATURES};

impl CpuTarget {
    /// Reads the model and the caches from the CPU, and what `-march=<march>` allows from the compiler.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](crate::ErrorKind::Unavailable) without a fitting C compiler; an input error if it does not know
    /// `march`.
    pub fn detect(march: &str) -> Result<CpuTarget> {
        Ok(CpuTarget::of(&Toolchain::find(march)?))
    }

    /// As [`CpuTarget::detect`], with a toolchain that was found before.
    pub fn of(toolchain: &Toolchain) -> CpuTarget {
        let caches = caches::detect();
        let (vector_bytes, vector_registers) = vectors(toolchain.macros());
        CpuTarget {
            model: cpu_features::model(),
            march: toolchain.march().to_owned(),
            compiler: toolchain.version().to_owned(),
            features: features(toolchain.macros()),
            vector_bytes,
            vector_registers,
            l1_bytes: caches.l1,
            l2_bytes: caches.l2,
            l3_bytes: caches.l3,
            cores: std::thread::available_parallelism().map_or(1, |n| n.get() as i64),
        }
    }
}

/// The bits of the features whose macros the compiler defines.
fn features(macros: &Macros) -> u64 {
    let bits = CPU_FEATURES.iter().enumerate().filter(|(_, feature)| macros.defines(feature.c_macro));
    bits.fold(0, |mask, (bit, _)| mask | 1 << bit)
}

/// Width in bytes and number of vector registers.
fn vectors(macros: &Macros) -> (i64, i64) {
    let sets = [("__AVX512F__", 64, 32), ("__AVX__", 32, 16), ("__SSE2__", 16, 16), ("__ARM_NEON", 16, 32)];
    sets.iter().find(|(name, ..)| macros.defines(name)).map_or((16, 16), |(_, bytes, registers)| (*bytes, *registers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_macros_decide_the_vector_registers() {
        let of = |names: &[&str]| {
            vectors(&Macros::parse(&names.iter().map(|n| format!("#define {n} 1\n")).collect::<String>()))
        };
        assert_eq!(of(&["__SSE2__", "__AVX__", "__AVX512F__"]), (64, 32));
        assert_eq!(of(&["__SSE2__", "__AVX__"]), (32, 16));
        assert_eq!(of(&["__ARM_NEON"]), (16, 32));
        assert_eq!(of(&[]), (16, 16));
    }

    #[test]
    fn this_machine_can_run_what_native_means() {
        let target = CpuTarget::detect("native").expect("the tests need a C compiler");
        assert_eq!(target.features & !crate::cpu_features::detected(), 0);
        assert!(target.cores >= 1 && !target.model.is_empty(), "{target:?}");
    }
}
