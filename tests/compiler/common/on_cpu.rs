//! Compiling and running cases: in this process, since what is tested is meant to be right.

use std::ffi::c_void;
use std::fs;

use dietcode_core::codegen::{DIETCODE_H, TranslationUnit};
use dietcode_core::machine::Toolchain;
use dietcode_core::reference::Approx;

use crate::common::instance::{CANARY, GUARD, Instance};
use crate::common::memory::Memory;

type Grid = unsafe extern "C" fn(*const i64) -> i64;
type Run = unsafe extern "C" fn(*const *mut c_void, *const i64, *const i64, *mut c_void, i64, i64);

/// One case.
pub(crate) struct Case {
    pub(crate) instance: Instance,
    pub(crate) unit: TranslationUnit,
    pub(crate) reference: TranslationUnit,
    pub(crate) trace: String,
}

/// The shared library of a batch.
pub(crate) struct Library(libloading::Library);

impl Library {
    /// Compiles all cases as one file.
    pub(crate) fn compile(toolchain: &Toolchain, cases: &[Case]) -> Library {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let source: String = cases.iter().flat_map(|case| [&*case.unit.source, &*case.reference.source]).collect();
        let [c, so] = ["cases.c", "cases.so"].map(|name| folder.path().join(name));
        fs::write(folder.path().join("dietcode.h"), DIETCODE_H).expect("the folder can be written");
        fs::write(&c, source).expect("the folder can be written");
        let built = toolchain.shared_library(&c, &so).arg("-lm").output().expect("the compiler starts");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        // SAFETY: the library has no initialisers.
        Library(unsafe { libloading::Library::new(&so) }.expect("the library loads"))
    }

    fn call(&self, unit: &TranslationUnit, buffers: &[*mut c_void], case: &Case) {
        let floats = unit.scratch_bytes as usize / 4;
        let mut scratch = vec![f32::NAN; floats + 16 + GUARD];
        let start = scratch.as_ptr().align_offset(64);
        let aligned = scratch[start..].as_mut_ptr();
        scratch[start + floats..].fill(CANARY);
        // SAFETY: the symbols are those of the unit, and the buffers are as large as its nest says.
        unsafe {
            let grid = self.0.get::<Grid>(unit.grid_symbol.as_bytes()).expect("the unit exports its grid");
            let run = self.0.get::<Run>(unit.run_symbol.as_bytes()).expect("the unit exports its tiles");
            let tiles = grid(case.instance.shape.as_ptr());
            let strides: Vec<i64> = (0..case.instance.def.params.len())
                .flat_map(|param| case.instance.strides(param))
                .map(|stride| stride as i64)
                .collect();
            // In two parts and backwards: tiles are independent.
            for (begin, end) in [(tiles / 2, tiles), (0, tiles / 2)] {
                run(buffers.as_ptr(), strides.as_ptr(), case.instance.shape.as_ptr(), aligned.cast(), begin, end);
            }
        }
        assert!(scratch[start + floats..].iter().all(|x| *x == CANARY), "scratch overrun: {}", describe(case));
    }

    /// Runs a case on tensors and compares every element of the output.
    pub(crate) fn check(&self, case: &Case, tensors: &[Vec<f32>], expected: &[Approx]) {
        let instance = &case.instance;
        let mut memory = instance.memory(tensors);
        self.check_oracle(case, &mut memory, &tensors[instance.def.output], expected);
        memory[instance.def.output] = instance.output(tensors);
        let buffers: Vec<*mut c_void> = memory.iter_mut().map(|m| m.pointer(GUARD)).collect();
        self.call(&case.unit, &buffers, case);
        instance.check(&mut memory[instance.def.output], expected, || describe(case));
    }

    /// The oracle in C says what the oracle in Rust says.
    fn check_oracle(&self, case: &Case, memory: &mut [Memory], before: &[f32], expected: &[Approx]) {
        // What the nest does not write stays as it was.
        let mut value: Vec<f64> = before.iter().map(|x| f64::from(*x)).collect();
        let mut bound = vec![0.0; expected.len()];
        let mut buffers: Vec<*mut c_void> = memory.iter_mut().map(|m| m.pointer(GUARD)).collect();
        buffers[case.instance.def.output] = value.as_mut_ptr().cast();
        buffers.push(bound.as_mut_ptr().cast());
        buffers.push(before.as_ptr().cast_mut().cast());
        self.call(&case.reference, &buffers, case);
        for (at, expected) in expected.iter().enumerate() {
            let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + b.abs()) || same(a, b);
            let close = close(value[at], expected.value);
            let as_wide = (bound[at] - expected.error).abs() <= 1e-3 * expected.error + 1e-12
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
