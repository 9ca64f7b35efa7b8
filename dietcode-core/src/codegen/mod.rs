//! From scheduled programs to source text.
pub mod c;
pub mod cuda;
#[cfg(feature = "tuner")]
pub mod library;
mod printer;
pub mod quantity;
pub mod reference;
pub mod registry;
pub mod set;

/// One micro-kernel's source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranslationUnit {
    /// The micro-kernel's name: its schedule's, a C identifier.
    pub name: String,
    /// C symbol of its row, which says how it is called: a `struct dietcode_micro_kernel`.
    pub symbol: String,
    /// The source text; it includes `dietcode.h`.
    pub source: String,
}

/// The header that every generated C file includes; it is written beside them as `dietcode.h`.
pub const DIETCODE_H: &str = concat!(
    include_str!("dietcode.h"),
    "\n",
    include_str!("dietcode_half.h"),
    "\n",
    include_str!("dietcode_math.h"),
    "\n",
    include_str!("dietcode_f64.h"),
    "\n",
    include_str!("dietcode_integers.h")
);

#[cfg(test)]
mod tests {
    use super::DIETCODE_H;
    use crate::cpu_features::CPU_FEATURES;

    #[test]
    fn the_header_has_a_bit_for_each_cpu_feature() {
        for (bit, feature) in CPU_FEATURES.iter().enumerate() {
            let (c_macro, name) = (feature.c_macro, feature.name);
            let bit =
                format!("#ifdef {c_macro}\n#define DIETCODE_BIT_{bit} (UINT64_C(1) << {bit}) /* {name} */\n#else\n");
            assert!(DIETCODE_H.contains(&bit), "{bit}");
        }
        let all = DIETCODE_H.split_once("#define DIETCODE_CPU_FEATURES").unwrap().1;
        let all = all.split_once(')').unwrap().0;
        assert_eq!(all.matches("DIETCODE_BIT_").count(), CPU_FEATURES.len(), "{all}");
    }
}
