//! Compiling and running cases: in this process, since what is tested is meant to be right.

use std::ffi::c_void;

use dietcode_core::abi::MicroKernel;
use dietcode_core::codegen::TranslationUnit;
use dietcode_core::machine::Toolchain;
use dietcode_core::reference::Approx;
use dietcode_core::runtime::launch;
use dietcode_core::sketch::Sizes;
use dietcode_syntax::DType;

use crate::common::instance::{CANARY, GUARD, Instance};
use crate::common::library::{is_chosen, library};
use crate::common::memory::Memory;

/// One case.
pub(crate) struct Case {
    pub(crate) instance: Instance,
    pub(crate) unit: TranslationUnit,
    pub(crate) reference: TranslationUnit,
    pub(crate) trace: String,
    /// Other sizes than those of the row.
    pub(crate) sizes: Option<Sizes>,
}

/// Calls the micro-kernel of a unit as its row says, on one thread, with guards behind what it is lent.
///
/// # Safety
/// The buffers are those of the micro-kernel at that shape, with these strides.
pub(crate) unsafe fn call(
    library: &libloading::Library,
    unit: &TranslationUnit,
    sizes: Option<&Sizes>,
    (buffers, strides, shape): (&[*mut c_void], &[i64], &[i64]),
    what: &str,
) {
    // SAFETY: the symbol is that of the unit's row.
    let row =
        unsafe { &**library.get::<*const MicroKernel>(unit.symbol.as_bytes()).expect("the unit exports its row") };
    let (parameters, scratch_bytes) = match sizes {
        Some(sizes) => (&*sizes.parameters, sizes.scratch_bytes),
        None => (row.parameters.as_slice(), row.scratch_bytes),
    };
    let shape = [shape, parameters].concat();
    // SAFETY: as the caller vouches.
    let bytes = row.workspace_bytes.map(|bytes| unsafe { bytes(shape.as_ptr()) });
    let (mut scratch, mut workspace) = (Lent::new(scratch_bytes), Lent::new(bytes.unwrap_or(0)));
    let workspace_pointer = workspace.pointer();
    let buffers: Vec<*mut c_void> = buffers.iter().copied().chain(bytes.map(|_| workspace_pointer)).collect();
    for phase in row.phases.as_slice() {
        // SAFETY: as the caller vouches.
        unsafe {
            let tiles = (phase.grid)(shape.as_ptr());
            // In two parts and backwards: tiles are independent.
            for (begin, end) in [(tiles / 2, tiles), (0, tiles / 2)] {
                (phase.run)(buffers.as_ptr(), strides.as_ptr(), shape.as_ptr(), scratch.pointer(), begin, end);
            }
        }
    }
    assert!(scratch.is_whole() && workspace.is_whole(), "scratch memory or workspace overrun: {what}");
}

/// Memory that a call uses: what it holds at first is no number, and what lies behind it must stay.
struct Lent {
    memory: Vec<f32>,
    floats: usize,
}

impl Lent {
    fn new(bytes: i64) -> Lent {
        let floats = usize::try_from(bytes).expect("a number of bytes") / 4;
        let mut lent = Lent { memory: vec![f32::NAN; floats + 16 + GUARD], floats };
        let end = lent.start() + floats;
        lent.memory[end..].fill(CANARY as f32);
        lent
    }

    fn start(&self) -> usize {
        self.memory.as_ptr().align_offset(64)
    }

    fn pointer(&mut self) -> *mut c_void {
        let start = self.start();
        self.memory[start..].as_mut_ptr().cast()
    }

    fn is_whole(&self) -> bool {
        self.memory[self.start() + self.floats..].iter().all(|x| f64::from(*x) == CANARY)
    }
}

/// The flags with which the C compiler makes a library: those of a build with `DIETCODE_ALL=1`, and for an eighth of them else, by their text
/// and the day. Most of what passes and printers get wrong shows without optimization too, for which the compiler takes a twentieth of the time.
fn level(source: &str) -> &'static [&'static str] {
    if is_chosen(source, 8) { &[] } else { &["-O0"] }
}

fn source(cases: &[Case]) -> String {
    cases.iter().flat_map(|case| [&*case.unit.source, &*case.reference.source]).collect()
}

/// The shared library of a batch.
pub(crate) struct Library(libloading::Library);

impl Library {
    /// Compiles all cases as one file, quickly: see [`level`].
    pub(crate) fn compile(toolchain: &Toolchain, cases: &[Case]) -> Library {
        let source = source(cases);
        Library(library(toolchain, &source, level(&source)))
    }

    /// Compiles all cases as one file as a build does, for what depends on how the compiler rounds.
    pub(crate) fn as_built(toolchain: &Toolchain, cases: &[Case]) -> Library {
        Library(library(toolchain, &source(cases), &[]))
    }

    fn call(&self, unit: &TranslationUnit, buffers: &[*mut c_void], case: &Case) {
        let instance = &case.instance;
        let strides: Vec<i64> = (0..instance.def.params.len())
            .flat_map(|param| instance.strides(param))
            .map(|stride| stride as i64)
            .collect();
        // SAFETY: the buffers are as large as the unit's nest says.
        unsafe {
            call(&self.0, unit, case.sizes.as_ref(), (buffers, &strides, &instance.shape), &describe(case));
        };
    }

    /// Checks a case, and that its output has the same bits on one thread and on several.
    pub(crate) fn check_on_threads(&self, case: &Case) {
        let tensors = case.instance.tensors();
        self.check(case, &tensors, &case.instance.expected(&tensors));
        let [alone, together] = [1, 4].map(|threads| self.output(case, &tensors, threads));
        assert!(alone == together, "the bits of {:?} depend on the number of threads", case.instance.shape);
    }

    /// The bits of a case's output on a number of threads, by the launch that programs have.
    pub(crate) fn output(&self, case: &Case, tensors: &[Vec<f64>], threads: usize) -> Vec<u64> {
        let Instance { def, shape, .. } = &case.instance;
        let mut memory = case.instance.memory(tensors);
        memory[def.output] = case.instance.output(tensors);
        case.instance.prepare(&mut memory);
        let buffers: Vec<*mut c_void> = memory.iter_mut().map(|m| m.pointer(GUARD)).collect();
        let strides = (0..def.params.len()).flat_map(|param| case.instance.strides(param));
        let strides: Vec<i64> = strides.map(|stride| stride as i64).collect();
        // SAFETY: the symbol is that of the unit's row, and the buffers are as large as its nest says.
        unsafe {
            let row = self.0.get::<*const MicroKernel>(case.unit.symbol.as_bytes()).expect("the unit exports its row");
            let other = case.sizes.as_ref().map(|sizes| (**row).with(&sizes.parameters, sizes.scratch_bytes));
            launch(other.as_ref().unwrap_or(&**row), &buffers, &strides, shape, threads).expect("there is memory");
        }
        memory[def.output].values().map(f64::to_bits).collect()
    }

    /// Runs a case on tensors and compares every element of the output.
    pub(crate) fn check(&self, case: &Case, tensors: &[Vec<f64>], expected: &[Approx]) {
        let instance = &case.instance;
        let mut memory = instance.memory(tensors);
        self.check_oracle(case, &mut memory, &tensors[instance.def.output], expected);
        memory[instance.def.output] = instance.output(tensors);
        instance.prepare(&mut memory);
        let buffers: Vec<*mut c_void> = memory.iter_mut().map(|m| m.pointer(GUARD)).collect();
        self.call(&case.unit, &buffers, case);
        instance.check(&mut memory[instance.def.output], expected, || describe(case));
    }

    /// The oracle in C says what the oracle in Rust says.
    fn check_oracle(&self, case: &Case, memory: &mut [Memory], before: &[f64], expected: &[Approx]) {
        // What the nest does not write stays as it was.
        let mut value = before.to_vec();
        let mut bound = vec![0.0; expected.len()];
        let mut buffers: Vec<*mut c_void> = memory.iter_mut().map(|m| m.pointer(GUARD)).collect();
        buffers[case.instance.def.output] = value.as_mut_ptr().cast();
        buffers.push(bound.as_mut_ptr().cast());
        let computes = case.instance.def.computes_in();
        let mut initial = Memory::filled(computes, before.len() + 1, 0.0);
        before.iter().enumerate().for_each(|(at, x)| initial.set(at, *x));
        buffers.push(initial.pointer(0));
        self.call(&case.reference, &buffers, case);
        // In double precision the oracles themselves round where they combine in another order.
        let slack = if computes == DType::F64 { 0.5 } else { 1e-3 };
        for (at, expected) in expected.iter().enumerate() {
            let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + b.abs()) || same(a, b);
            let close = close(value[at], expected.value);
            let as_wide = (bound[at] - expected.error).abs() <= slack * expected.error + 1e-12
                || same(bound[at], expected.error)
                || !expected.value.is_finite()
                || !expected.error.is_finite();
            assert!(close && as_wide, "oracle {} ± {}, not {expected:?}: {}", value[at], bound[at], describe(case));
        }
    }
}

fn describe(case: &Case) -> String {
    let Instance { seed, def, shape, gap, .. } = &case.instance;
    format!("seed {seed}, shape {shape:?}, gap {gap}\n{def}\n{}\n{}", case.trace, case.unit.source)
}
