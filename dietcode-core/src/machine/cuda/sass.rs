//! What a compiled kernel executes over and over: the instructions of its main loop, by class, as `nvdisasm` prints them.
//!
//! Loops are found by the control flow between labels and branches, not by how the text lies: a compiler moves what it thinks
//! unlikely behind a kernel's end. A loop is all from which its head is reached again without leaving it.

mod pipes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::named::named;

pub use pipes::{Pipe, Pipes};

named! {
    /// What an instruction is for.
    #[derive(PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Class {
        /// A product of matrices: `HMMA`, `IMMA`.
        Matrix = "matrix",
        /// A product that is added: `FFMA`, `HFMA2`, `DFMA`.
        Fma = "FMA",
        /// Other arithmetic with floating-point numbers, and conversions.
        Float = "other float",
        /// Shared memory: `LDS`, `LDSM`, `STS`.
        Shared = "shared memory",
        /// Global memory, with copies from there to shared memory: `LDG`, `STG`, `LDGSTS`, `RED`.
        Global = "global memory",
        /// A thread's own memory, which is where spilled registers are: `LDL`, `STL`.
        Local = "local memory",
        /// Addresses and other arithmetic with integers: `IADD3`, `IMAD`, `LEA`, `LOP3`.
        Integer = "integer",
        /// From register to register, and constants: `MOV`, `IMAD.MOV`, `CS2R`, `ULDC`.
        Move = "moves",
        /// Predicates and branches: `ISETP`, `PLOP3`, `BRA`, `EXIT`.
        Control = "predicates, branches",
        /// What threads wait at: `BAR`, `DEPBAR`, `LDGDEPBAR`.
        Barrier = "barriers",
        /// What none of the others is, `NOP` among it.
        Other = "other",
    }
}

impl Class {
    /// The class of an instruction by its name with modifiers and its operands.
    fn of(opcode: &str, operands: &str) -> Class {
        let (name, modifiers) = opcode.split_once('.').unwrap_or((opcode, ""));
        // A constant is loaded into a register by whichever unit is free: `HFMA2 R5, -RZ, RZ, 0, 0`, `IMAD.MOV.U32 R5, RZ, RZ, R4`.
        let constant = name == "HFMA2" && operands.split(',').skip(1).take(2).all(|operand| operand.ends_with("RZ"));
        let moves = constant || (name == "IMAD" && modifiers.starts_with("MOV"));
        // What is the same for a warp has a unit of its own, with the same instructions.
        let uniform =
            |known: &[&str]| known.iter().any(|other| name == *other || name.strip_prefix('U') == Some(other));
        let starts = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
        match name {
            _ if moves || uniform(&["MOV", "LDC", "LDCU", "CS2R", "S2R", "S2UR", "R2UR"]) => Class::Move,
            _ if name.ends_with("MMA") => Class::Matrix,
            "FFMA" | "FFMA2" | "FFMA32I" | "HFMA2" | "DFMA" => Class::Fma,
            _ if starts(&["BAR", "DEPBAR", "LDGDEPBAR", "MEMBAR", "WARPSYNC", "SYNCS", "ARRIVES", "ERRBAR"]) => {
                Class::Barrier
            }
            _ if starts(&["LDS", "STS", "ATOMS"]) => Class::Shared,
            _ if starts(&["LDL", "STL"]) => Class::Local,
            "LD" | "ST" | "RED" => Class::Global,
            _ if starts(&["LDG", "STG", "ATOM", "REDG"]) => Class::Global,
            _ if name.contains("SETP") || uniform(&["PLOP3", "P2R", "R2P", "VOTE"]) => Class::Control,
            "BRA" | "BRX" | "JMP" | "BSSY" | "BSYNC" | "BREAK" | "BMOV" | "EXIT" | "CALL" | "RET" | "YIELD" => {
                Class::Control
            }
            _ if starts(&[
                "I2F", "F2", "FADD", "FMUL", "FMNMX", "FSEL", "FCHK", "MUFU", "HADD", "HMUL", "HMNMX", "D",
            ]) =>
            {
                Class::Float
            }
            _ if uniform(&[
                "LEA", "LOP3", "SHF", "SHL", "SHR", "PRMT", "SEL", "BREV", "FLO", "POPC", "BMSK", "SGXT",
            ]) || starts(&["I", "UI", "VI", "UVI"]) =>
            {
                Class::Integer
            }
            _ => Class::Other,
        }
    }
}

/// How many instructions there are of each class that occurs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Mix(pub BTreeMap<Class, u32>);

impl Mix {
    /// How many there are of a class.
    pub fn of(&self, class: Class) -> u32 {
        self.0.get(&class).copied().unwrap_or(0)
    }

    /// Of all classes.
    pub fn total(&self) -> u32 {
        self.0.values().sum()
    }

    /// Those that carry out the products of a sum: what a loop is there for.
    pub fn products(&self) -> u32 {
        self.of(Class::Matrix) + self.of(Class::Fma)
    }
}

impl fmt::Display for Mix {
    /// `190: 64 matrix, 16 shared memory, …`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.total())?;
        self.0.iter().enumerate().try_for_each(|(at, (class, count))| {
            write!(f, "{} {count} {}", if at == 0 { ":" } else { "," }, class.name())
        })
    }
}

impl FromIterator<Class> for Mix {
    fn from_iter<I: IntoIterator<Item = Class>>(classes: I) -> Mix {
        let mut mix = Mix::default();
        classes.into_iter().for_each(|class| *mix.0.entry(class).or_default() += 1);
        mix
    }
}

/// The instructions of one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelSass {
    /// The kernel's symbol.
    pub symbol: String,
    /// All of them.
    pub whole: Mix,
    /// Those of its main loop: the one that holds most [`Mix::products`] outside of further loops in it; of two that hold as many the
    /// shorter, since a kernel may have a loop for tensors whose rows are whole vectors and one for others, and one for tiles inside. None where no loop holds a
    /// product: there are no products, or the loops are unrolled.
    pub main_loop: Option<Mix>,
    /// What the main loop asks of each pipe.
    pub pipes: Option<Pipes>,
    /// How far ahead of their use the main loop reads operands out of shared memory: how many of its products stand between such a read and
    /// the first instruction that takes what was read, at the least.
    pub read_ahead: Option<u32>,
}

impl KernelSass {
    /// The kernels of a cubin in what `nvdisasm` printed of it, sorted by symbol.
    pub fn parse(text: &str) -> Vec<KernelSass> {
        let mut kernels: Vec<(String, Code)> = Vec::new();
        for line in text.lines() {
            let line = line.trim();
            if let Some(section) = line.strip_prefix(".section").filter(|rest| rest.starts_with(char::is_whitespace)) {
                // What is not code, as the unit's notes and constants, ends the kernel before it.
                let name = section.trim_start().split(',').next().unwrap_or_default();
                kernels.push((name.strip_prefix(".text.").unwrap_or_default().to_owned(), Code::default()));
            } else if let Some((_, code)) = kernels.last_mut().filter(|(symbol, _)| !symbol.is_empty()) {
                code.read(line);
            }
        }
        let kernels = kernels.into_iter().filter(|(symbol, code)| !symbol.is_empty() && !code.instructions.is_empty());
        let mut kernels: Vec<KernelSass> = kernels.map(|(symbol, code)| code.kernel(symbol)).collect();
        kernels.sort_by(|a, b| a.symbol.cmp(&b.symbol));
        kernels
    }
}

/// The text of one kernel.
#[derive(Default)]
struct Code {
    instructions: Vec<Instruction>,
    /// By label, the instruction that it stands before.
    labels: BTreeMap<String, usize>,
}

struct Instruction {
    /// Its name with modifiers.
    opcode: String,
    class: Class,
    /// Where it may go instead of to the next one.
    target: Option<String>,
    /// Whether it may go to the next one.
    falls_through: bool,
    /// The registers that it reads shared memory into.
    loaded: Vec<u32>,
    /// Those that it takes.
    taken: Vec<u32>,
}

/// The registers that an operand names, so many from the first on: `R4`, `-R4.reuse`, `[R4+UR8+0x10]`.
fn registers(operand: &str, width: u32) -> impl Iterator<Item = u32> {
    let number =
        operand.split(|c: char| !c.is_ascii_alphanumeric()).find_map(|word| word.strip_prefix('R')?.parse().ok());
    number.into_iter().flat_map(move |first: u32| first..first + width)
}

/// The registers that an instruction reads shared memory into, and those that it takes.
fn loaded_and_taken(opcode: &str, operands: &str) -> [Vec<u32>; 2] {
    let operands: Vec<&str> = operands.split(',').collect();
    let (name, modifiers) = opcode.split_once('.').unwrap_or((opcode, ""));
    let has = |wanted: &str| modifiers.split('.').any(|modifier| modifier == wanted);
    let loads = matches!(name, "LDS" | "LDSM");
    let width =
        [("128", 4), ("64", 2), ("4", 4), ("2", 2)].iter().find(|(wide, _)| has(wide)).map_or(1, |(_, width)| *width);
    let loaded = operands.first().filter(|_| loads).map(|to| registers(to, width).collect());
    // What a lane has of the factors of 16 x 8 products, in registers.
    let factors = match (name, has("16816") || has("TF32")) {
        ("HMMA", true) => [4, 2],
        ("HMMA", false) => [2, 1],
        _ => [1, 1],
    };
    let taken = operands.iter().skip(1).enumerate();
    let taken = taken.flat_map(|(at, operand)| registers(operand, factors.get(at).copied().unwrap_or(1))).collect();
    [loaded.unwrap_or_default(), taken]
}

impl Code {
    /// Takes in a line: a label, or `/*0010*/ @P0 BRA `(.L_x_1) ;`.
    fn read(&mut self, line: &str) {
        if let Some(label) = line.strip_suffix(':') {
            self.labels.insert(label.to_owned(), self.instructions.len());
            return;
        }
        let Some((address, text)) = line.strip_prefix("/*").and_then(|rest| rest.split_once("*/")) else { return };
        let Some(text) = text.trim().split(';').next().map(str::trim).filter(|text| !text.is_empty()) else { return };
        if !address.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return;
        }
        let (predicated, text) = match text.strip_prefix('@') {
            Some(rest) => (true, rest.split_once(' ').map_or("", |(_, text)| text.trim_start())),
            None => (false, text),
        };
        let (opcode, operands) = text.split_once(' ').map_or((text, ""), |(opcode, rest)| (opcode, rest.trim()));
        let name = opcode.split('.').next().unwrap_or_default();
        let label = operands.split_once("`(").and_then(|(before, rest)| Some((before, rest.split_once(')')?.0)));
        // A branch may have its conditions among its operands too.
        let conditional = predicated || label.is_some_and(|(before, _)| !before.is_empty());
        let leaves = matches!(name, "BRA" | "JMP" | "BRX" | "JMX" | "EXIT" | "RET" | "KILL");
        let target = label.filter(|_| matches!(name, "BRA" | "JMP")).map(|(_, label)| label.to_owned());
        let class = Class::of(opcode, operands);
        let [loaded, taken] = loaded_and_taken(opcode, operands);
        let (opcode, falls_through) = (opcode.to_owned(), conditional || !leaves);
        self.instructions.push(Instruction { opcode, class, target, falls_through, loaded, taken });
    }

    /// Where each instruction may go.
    fn edges(&self) -> Vec<Vec<usize>> {
        let count = self.instructions.len();
        let of = |(at, instruction): (usize, &Instruction)| {
            let target = instruction.target.as_ref().and_then(|label| self.labels.get(label)).copied();
            let next = instruction.falls_through.then_some(at + 1);
            target.into_iter().chain(next).filter(|to| *to < count).collect()
        };
        self.instructions.iter().enumerate().map(of).collect()
    }

    /// The loops, each the set of its instructions.
    fn loops(&self) -> Vec<BTreeSet<usize>> {
        let edges = self.edges();
        if edges.is_empty() {
            return Vec::new();
        }
        let entered = reached([0], |at| &edges[at], usize::MAX);
        let mut before = vec![Vec::new(); edges.len()];
        edges.iter().enumerate().for_each(|(from, to)| to.iter().for_each(|to| before[*to].push(from)));
        let heads: BTreeSet<usize> = self.labels.values().copied().filter(|at| *at < edges.len()).collect();
        let body = |head: usize| {
            // Who cannot be reached without the head, and goes there, goes back.
            let without = reached([0], |at| &edges[at], head);
            let back = before[head].iter().filter(|from| entered.contains(from) && !without.contains(from)).copied();
            let body = reached(back, |at| &before[at], head);
            (!body.is_empty()).then(|| body.into_iter().filter(|at| entered.contains(at)).chain([head]).collect())
        };
        heads.into_iter().filter_map(body).collect()
    }

    fn kernel(self, symbol: String) -> KernelSass {
        let mut loops = self.loops();
        // An instruction is a loop's own if it is in none that is inside.
        loops.sort_by_key(BTreeSet::len);
        let mix = |of: &BTreeSet<usize>| of.iter().map(|at| self.instructions[*at].class).collect::<Mix>();
        let mut seen = BTreeSet::new();
        let mut main: Option<(u32, &BTreeSet<usize>)> = None;
        for one in &loops {
            let own = mix(&one.difference(&seen).copied().collect()).products();
            seen.extend(one);
            if own > main.map_or(0, |(most, _)| most) {
                main = Some((own, one));
            }
        }
        let read_ahead = main.and_then(|(_, of)| self.read_ahead(of));
        let main_loop = main.map(|(_, of)| mix(of));
        let pipes = main.map(|(_, of)| of.iter().map(|at| &*self.instructions[*at].opcode).collect());
        let whole = self.instructions.iter().map(|instruction| instruction.class).collect();
        KernelSass { symbol, whole, main_loop, pipes, read_ahead }
    }

    /// See [`KernelSass::read_ahead`]; a loop's last instruction is followed by its first one.
    fn read_ahead(&self, of: &BTreeSet<usize>) -> Option<u32> {
        let body: Vec<&Instruction> = of.iter().map(|at| &self.instructions[*at]).collect();
        let ahead = |(at, load): (usize, &&Instruction)| {
            let mut products = 0;
            let others = body.iter().cycle().skip(at + 1).take(body.len());
            others.take_while(|next| !next.taken.iter().any(|register| load.loaded.contains(register))).for_each(
                |next| {
                    products += u32::from(matches!(next.class, Class::Matrix | Class::Fma));
                },
            );
            products
        };
        body.iter().enumerate().filter(|(_, load)| !load.loaded.is_empty()).map(ahead).min()
    }
}

/// What is reached from some instructions, themselves included, on ways that do not lead through `without`.
fn reached<'e>(
    from: impl IntoIterator<Item = usize>,
    edges: impl Fn(usize) -> &'e Vec<usize>,
    without: usize,
) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut waiting: Vec<usize> = from.into_iter().collect();
    while let Some(at) = waiting.pop() {
        if at != without && found.insert(at) {
            waiting.extend(edges(at));
        }
    }
    found
}

#[cfg(test)]
mod tests;
