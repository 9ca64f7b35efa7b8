//! Compiling and running cases: in this process, since what is tested is meant to be right.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fs;

use dietcode_core::codegen::{DIETCODE_H, TranslationUnit};
use dietcode_core::frontend;
use dietcode_core::ir::Name;
use dietcode_core::reference::{self, Approx, Tensors, comparable};
use dietcode_core::target::Toolchain;
use dietcode_syntax::{Affine, KernelDef, Param};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::property::memory::{Memory, rounded};

/// Elements before and after every tensor: those of the output must keep their bits, those of inputs are NaN.
const GUARD: usize = 64;
/// A number of every type.
const CANARY: f32 = 1280.0;

type Grid = unsafe extern "C" fn(*const i64) -> i64;
type Run = unsafe extern "C" fn(*const *mut c_void, *const i64, *const i64, *mut c_void, i64, i64);

/// One case.
pub(crate) struct Case {
    pub(crate) seed: u64,
    pub(crate) def: KernelDef,
    pub(crate) unit: TranslationUnit,
    pub(crate) reference: TranslationUnit,
    pub(crate) trace: String,
    pub(crate) shape: Vec<i64>,
    /// Elements that lie between the rows of every tensor, and belong to none.
    pub(crate) gap: usize,
}

impl Case {
    fn value(&self, form: &Affine) -> i64 {
        let shape = |name: &str| {
            let at = self.def.shape_vars.iter().position(|var| var.name == name);
            self.shape[at.expect("every variable has a value")]
        };
        form.terms.iter().fold(form.constant, |sum, (name, c)| sum + c * shape(name))
    }

    fn dims(&self, param: usize) -> Vec<usize> {
        self.def.params[param].dims.iter().map(|dim| self.value(dim).max(0) as usize).collect()
    }

    fn strides(&self, param: usize) -> Vec<usize> {
        let mut dims = self.dims(param);
        dims.last_mut().into_iter().for_each(|row| *row += self.gap);
        (0..dims.len()).map(|d| dims[d + 1..].iter().product()).collect()
    }

    /// Where the elements of a tensor lie, in row-major order.
    fn places(&self, param: usize) -> Vec<usize> {
        let mut places = vec![GUARD];
        for (extent, stride) in self.dims(param).into_iter().zip(self.strides(param)) {
            places = places.iter().flat_map(|place| (0..extent).map(move |i| place + i * stride)).collect();
        }
        places
    }

    /// A tensor in memory: its elements where its strides say, the given value everywhere else.
    fn spread(&self, param: usize, elements: &[f32], elsewhere: f32) -> Memory {
        let places = self.places(param);
        let len = places.last().unwrap_or(&0) + 1 + GUARD;
        let mut memory = Memory::filled(self.def.params[param].dtype, len, elsewhere);
        places.iter().zip(elements).for_each(|(place, element)| memory.set(*place, *element));
        memory
    }
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
            let tiles = grid(case.shape.as_ptr());
            let strides: Vec<i64> =
                (0..case.def.params.len()).flat_map(|param| case.strides(param)).map(|stride| stride as i64).collect();
            // In two parts and backwards: tiles are independent.
            for (begin, end) in [(tiles / 2, tiles), (0, tiles / 2)] {
                run(buffers.as_ptr(), strides.as_ptr(), case.shape.as_ptr(), aligned.cast(), begin, end);
            }
        }
        assert!(scratch[start + floats..].iter().all(|x| *x == CANARY), "scratch overrun: {}", describe(case));
    }

    /// Runs a case on fresh random tensors and compares every element of the output.
    pub(crate) fn check(&self, case: &Case) {
        let mut rng = StdRng::seed_from_u64(case.seed ^ 0x5eed);
        let def = &case.def;
        let mut tensor = |(n, param): (usize, &Param)| -> Vec<f32> {
            let elements = 0..case.dims(n).iter().product();
            elements.map(|_| rounded(param.dtype, rng.random_range(-1.0..1.0f32))).collect()
        };
        let tensors: Vec<Vec<f32>> = def.params.iter().enumerate().map(&mut tensor).collect();
        let named: Tensors =
            def.params.iter().zip(&tensors).map(|(param, tensor)| (Name::from(&*param.name), tensor.clone())).collect();
        let shape: BTreeMap<Name, i64> =
            def.shape_vars.iter().zip(&case.shape).map(|(var, value)| (Name::from(&*var.name), *value)).collect();
        let expected = reference::evaluate(&frontend::program(def), &shape, &named).expect("the case is in bounds");
        let mut memory: Vec<Memory> =
            tensors.iter().enumerate().map(|(param, elements)| case.spread(param, elements, f32::NAN)).collect();
        self.check_oracle(case, &mut memory, &tensors[def.output], &expected);

        let poison = vec![f32::NAN; expected.len()];
        let before = if accumulates(def) { &tensors[def.output] } else { &poison };
        memory[def.output] = case.spread(def.output, before, CANARY);
        let buffers: Vec<*mut c_void> = memory.iter_mut().map(|m| m.pointer(GUARD)).collect();
        self.call(&case.unit, &buffers, case);
        let (output, dtype) = (&mut memory[def.output], def.params[def.output].dtype);
        for (at, (place, expected)) in case.places(def.output).into_iter().zip(&expected).enumerate() {
            let found = output.get(place);
            output.set(place, CANARY);
            let admitted = expected.admits(comparable(dtype, found));
            assert!(admitted, "element {at} is {found}, expected {expected:?}: {}", describe(case));
        }
        assert!(output.values().all(|x| x == CANARY), "written out of bounds: {}", describe(case));
    }

    /// The oracle in C says what the oracle in Rust says.
    fn check_oracle(&self, case: &Case, memory: &mut [Memory], before: &[f32], expected: &[Approx]) {
        let mut value = vec![f64::NAN; expected.len()];
        let mut bound = vec![f64::NAN; expected.len()];
        let mut buffers: Vec<*mut c_void> = memory.iter_mut().map(|m| m.pointer(GUARD)).collect();
        buffers[case.def.output] = value.as_mut_ptr().cast();
        buffers.push(bound.as_mut_ptr().cast());
        buffers.push(before.as_ptr().cast_mut().cast());
        self.call(&case.reference, &buffers, case);
        for (at, expected) in expected.iter().enumerate() {
            let close = (value[at] - expected.value).abs() <= 1e-9 * (1.0 + expected.value.abs());
            let as_wide = (bound[at] - expected.error).abs() <= 1e-3 * expected.error + 1e-12;
            assert!(close && as_wide, "oracle {} ± {}, not {expected:?}: {}", value[at], bound[at], describe(case));
        }
    }
}

fn accumulates(def: &KernelDef) -> bool {
    let init = def.reduction.as_ref().map(|reduction| &reduction.init);
    matches!(init, Some(dietcode_syntax::Expr::Load { param, .. }) if *param == def.output)
}

fn describe(case: &Case) -> String {
    format!(
        "seed {}, shape {:?}, gap {}\n{}\n{}\n{}",
        case.seed, case.shape, case.gap, case.def, case.trace, case.unit.source
    )
}
