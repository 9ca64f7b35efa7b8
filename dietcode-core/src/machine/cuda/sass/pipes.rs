//! What instructions ask of a multiprocessor's pipes, whatever the device.
//!
//! Which instruction takes which pipe is what the section "Pipelines" of NVIDIA's Nsight Compute documentation says: FMA takes `FFMA`, `FADD`,
//! `FMUL` and products of integers; ALU other integers, bits, comparisons, choices, and `FMNMX`; XU conversions and what is transcendental; LSU
//! all memory. What takes a pipe of its own that nothing waits for (branches, barriers, numbers that a warp has in common) asks for its issue only.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What instructions pass through, and in what it is counted, for a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pipe {
    /// The schedulers: instructions.
    Issue,
    /// The matrix unit, on f16 or bf16: multiply-adds.
    MatrixHalf,
    /// On tf32.
    MatrixTf32,
    /// On f64.
    MatrixDouble,
    /// On integers of 8 bits.
    MatrixInteger,
    /// Sums and products of f32, products of integers: instructions.
    Fma,
    /// Arithmetic with pairs of f16: instructions.
    Half,
    /// Arithmetic with f64: instructions.
    Double,
    /// Integers, bits, comparisons: instructions.
    Alu,
    /// Conversions and functions: instructions.
    Special,
    /// Shared memory and the first-level cache, one memory: wavefronts of up to 128 bytes, where no banks conflict.
    Shared,
}

impl Pipe {
    /// As it is called in a table.
    pub fn name(self) -> &'static str {
        match self {
            Pipe::Issue => "issue",
            Pipe::MatrixHalf | Pipe::MatrixTf32 | Pipe::MatrixDouble | Pipe::MatrixInteger => "matrix unit",
            Pipe::Fma => "FMA",
            Pipe::Half => "f16",
            Pipe::Double => "f64",
            Pipe::Alu => "ALU",
            Pipe::Special => "XU",
            Pipe::Shared => "shared memory",
        }
    }

    /// What an instruction asks of a pipe beside its issue, by its name with modifiers.
    fn asked(opcode: &str) -> Option<(Pipe, u32)> {
        let (name, modifiers) = opcode.split_once('.').unwrap_or((opcode, ""));
        let has = |wanted: &str| modifiers.split('.').any(|modifier| modifier == wanted);
        let starts = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
        let products = || multiply_adds(modifiers.split('.').next().unwrap_or_default());
        match name {
            "HMMA" if has("TF32") => Some((Pipe::MatrixTf32, products())),
            "HMMA" => Some((Pipe::MatrixHalf, products())),
            "DMMA" => Some((Pipe::MatrixDouble, products())),
            "IMMA" => Some((Pipe::MatrixInteger, products())),
            _ if starts(&["FFMA", "FADD", "FMUL", "IMAD", "IMUL", "IDP"]) => Some((Pipe::Fma, 1)),
            _ if starts(&["HFMA2", "HADD2", "HMUL2"]) => Some((Pipe::Half, 1)),
            "DFMA" | "DADD" | "DMUL" | "DSETP" => Some((Pipe::Double, 1)),
            _ if starts(&["F2FP", "I2FP"]) => Some((Pipe::Alu, 1)),
            _ if starts(&["MUFU", "I2F", "F2I", "F2F", "I2I", "FRND", "POPC", "FLO", "BREV"]) => {
                Some((Pipe::Special, 1))
            }
            "LDGDEPBAR" | "REDUX" => None,
            _ if starts(&["LDS", "STS", "LDG", "STG", "LDL", "STL", "ATOM", "RED", "SHFL"]) => {
                let wide = [("128", 4), ("64", 2), ("4", 4), ("2", 2)];
                Some((Pipe::Shared, wide.iter().find(|(wide, _)| has(wide)).map_or(1, |(_, phases)| *phases)))
            }
            _ if starts(&[
                "IADD", "ISETP", "IMNMX", "VIADD", "VIMNMX", "IABS", "LEA", "LOP", "SHF", "SHL", "SHR", "PRMT", "SEL",
                "BMSK", "SGXT", "MOV", "FSETP", "FSEL", "FMNMX", "HSETP2", "HMNMX2", "PLOP3", "P2R", "R2P", "VOTE",
            ]) =>
            {
                Some((Pipe::Alu, 1))
            }
            _ => None,
        }
    }
}

/// The multiply-adds of a matrix instruction by its shape, whose rows and columns are 8 or 16 and 8: `16816`, `1688`, `884`.
fn multiply_adds(shape: &str) -> u32 {
    let rows = [("168", 128), ("88", 64)].into_iter().find_map(|(rows, sums)| Some((shape.strip_prefix(rows)?, sums)));
    rows.and_then(|(steps, sums)| Some(sums * steps.parse::<u32>().ok()?)).unwrap_or(0)
}

/// What instructions ask of each pipe that they take, for a warp.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pipes(pub BTreeMap<Pipe, u32>);

impl Pipes {
    /// What is asked of a pipe.
    pub fn of(&self, pipe: Pipe) -> u32 {
        self.0.get(&pipe).copied().unwrap_or(0)
    }
}

impl<'o> FromIterator<&'o str> for Pipes {
    /// Of instructions by their names with modifiers.
    fn from_iter<I: IntoIterator<Item = &'o str>>(opcodes: I) -> Pipes {
        let mut pipes = Pipes::default();
        for opcode in opcodes {
            for (pipe, asked) in Pipe::asked(opcode).into_iter().chain([(Pipe::Issue, 1)]) {
                *pipes.0.entry(pipe).or_default() += asked;
            }
        }
        pipes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shapes of PTX and the multiply-adds of each: m · n · k.
    #[test]
    fn matrix_instructions_are_counted_by_their_multiply_adds() {
        for (opcode, pipe, products) in [
            ("HMMA.16816.F32", Pipe::MatrixHalf, 16 * 8 * 16),
            ("HMMA.16816.F32.BF16", Pipe::MatrixHalf, 16 * 8 * 16),
            ("HMMA.1688.F32", Pipe::MatrixHalf, 16 * 8 * 8),
            ("HMMA.1688.F32.TF32", Pipe::MatrixTf32, 16 * 8 * 8),
            ("HMMA.1684.F32.TF32", Pipe::MatrixTf32, 16 * 8 * 4),
            ("IMMA.16832.S8.S8", Pipe::MatrixInteger, 16 * 8 * 32),
            ("IMMA.8816.S8.S8", Pipe::MatrixInteger, 8 * 8 * 16),
            ("DMMA.884", Pipe::MatrixDouble, 8 * 8 * 4),
        ] {
            assert_eq!(Pipe::asked(opcode), Some((pipe, products)), "{opcode}");
        }
    }

    #[test]
    fn accesses_are_counted_by_wavefronts_and_others_by_instructions() {
        let pipes: Pipes = [
            "LDSM.16.M88.4",
            "LDS.128",
            "LDS.64",
            "STS",
            "LDGSTS.E.BYPASS.LTC128B.128",
            "LDG.E",
            "LDGDEPBAR",
            "BAR.SYNC",
            "IMAD.WIDE",
            "FFMA",
            "IADD3",
            "UIADD3",
            "F2FP.F16.F32.PACK_AB",
            "F2F.TF32.F32",
            "DFMA",
            "HADD2.F32",
            "BRA",
        ]
        .into_iter()
        .collect();
        let asked = [
            (Pipe::Issue, 17),
            (Pipe::Fma, 2),
            (Pipe::Half, 1),
            (Pipe::Double, 1),
            (Pipe::Alu, 2),
            (Pipe::Special, 1),
            (Pipe::Shared, 4 + 4 + 2 + 1 + 4 + 1),
        ];
        assert_eq!(pipes, Pipes(asked.into()));
    }
}
