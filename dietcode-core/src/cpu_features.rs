//! The CPU features that generated code may use, as bits that the C header and the runtime agree on.

/// A feature: its bit, the macro by which a C compiler says that it will use it, and the name that Rust and people use.
#[derive(Clone, Copy, Debug)]
pub struct CpuFeature {
    /// Name, as in `is_x86_feature_detected!`.
    pub name: &'static str,
    /// Predefined macro of GCC and clang.
    pub c_macro: &'static str,
}

/// Bit n of a mask stands for entry n.
pub const CPU_FEATURES: &[CpuFeature] = &[
    CpuFeature { name: "sse4.2", c_macro: "__SSE4_2__" },
    CpuFeature { name: "avx", c_macro: "__AVX__" },
    CpuFeature { name: "avx2", c_macro: "__AVX2__" },
    CpuFeature { name: "fma", c_macro: "__FMA__" },
    CpuFeature { name: "bmi1", c_macro: "__BMI__" },
    CpuFeature { name: "bmi2", c_macro: "__BMI2__" },
    CpuFeature { name: "f16c", c_macro: "__F16C__" },
    CpuFeature { name: "avx512f", c_macro: "__AVX512F__" },
    CpuFeature { name: "avx512bw", c_macro: "__AVX512BW__" },
    CpuFeature { name: "avx512cd", c_macro: "__AVX512CD__" },
    CpuFeature { name: "avx512dq", c_macro: "__AVX512DQ__" },
    CpuFeature { name: "avx512vl", c_macro: "__AVX512VL__" },
    CpuFeature { name: "avx512vbmi", c_macro: "__AVX512VBMI__" },
    CpuFeature { name: "avx512vnni", c_macro: "__AVX512VNNI__" },
    CpuFeature { name: "avx512bf16", c_macro: "__AVX512BF16__" },
    CpuFeature { name: "avxvnni", c_macro: "__AVXVNNI__" },
];

/// The features that the CPU this runs on has, as a mask.
#[cfg(target_arch = "x86_64")]
pub fn detected() -> u64 {
    macro_rules! mask {
        ($($name:tt),*) => {
            [$(($name, std::arch::is_x86_feature_detected!($name))),*]
        };
    }
    let detected = mask!(
        "sse4.2",
        "avx",
        "avx2",
        "fma",
        "bmi1",
        "bmi2",
        "f16c",
        "avx512f",
        "avx512bw",
        "avx512cd",
        "avx512dq",
        "avx512vl",
        "avx512vbmi",
        "avx512vnni",
        "avx512bf16",
        "avxvnni"
    );
    CPU_FEATURES
        .iter()
        .enumerate()
        .filter(|(_, f)| detected.iter().any(|(name, has)| *name == f.name && *has))
        .fold(0, |mask, (bit, _)| mask | 1 << bit)
}

/// The features that the CPU this runs on has: elsewhere than on x86 the baseline holds all that is generated.
#[cfg(not(target_arch = "x86_64"))]
pub fn detected() -> u64 {
    0
}

/// The names of a mask's bits, for messages.
pub fn names(mask: u64) -> Vec<&'static str> {
    CPU_FEATURES.iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1).map(|(_, f)| f.name).collect()
}

/// The brand and the numbers under which a CPU is known; the brand alone does not tell virtual CPUs apart.
#[cfg(all(target_arch = "x86_64", any(feature = "compiler", feature = "results")))]
pub(crate) fn model() -> String {
    let cpuid = raw_cpuid::CpuId::new();
    let brand = cpuid.get_processor_brand_string().map(|b| b.as_str().trim().to_owned());
    let brand = brand.filter(|b| !b.is_empty()).unwrap_or_else(|| "unnamed x86-64".into());
    match cpuid.get_feature_info() {
        Some(f) => {
            format!("{brand} (family {}, model {}, stepping {})", f.family_id(), f.model_id(), f.stepping_id())
        }
        None => brand,
    }
}

/// The same, as the system says it.
#[cfg(all(not(target_arch = "x86_64"), any(feature = "compiler", feature = "results")))]
pub(crate) fn model() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let arch = std::env::consts::ARCH;
    match (field("model name").or_else(|| field("Model")), field("CPU implementer"), field("CPU part")) {
        (Some(name), ..) => name,
        (None, Some(implementer), Some(part)) => format!("{arch} (implementer {implementer}, part {part})"),
        _ => arch.to_owned(),
    }
}
