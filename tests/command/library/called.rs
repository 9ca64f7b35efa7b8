//! The library's functions beside what the nests say, at random shapes, on rows with gaps, from eight threads at once.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use dietcode::core::config::Config;
use dietcode::core::frontend;
use dietcode::core::ir::Name;
use dietcode::core::reference::{self, Tensors, comparable};
use dietcode::core::syntax::{Affine, DType, KernelDef, Param};
use dietcode::f16;
use libloading::{Library, Symbol};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::place::Place;

type P = *const c_void;
type OfThree = unsafe extern "C" fn(P, P, P, P, P, P, P, P, P, c_int) -> c_int;
type Scaled = unsafe extern "C" fn(f32, P, P, P, P, P, P, P, P, P, c_int) -> c_int;
type OfFour = unsafe extern "C" fn(P, P, P, P, P, P, P, P, P, P, P, P, c_int) -> c_int;

/// What stands between the rows of a tensor.
const BETWEEN: f32 = 77.0;

#[derive(Clone)]
enum Elements {
    F32(Vec<f32>),
    F16(Vec<f16>),
}

/// A tensor as a program in C has it.
struct Array {
    elements: Elements,
    shape: Vec<i64>,
    strides: Vec<i64>,
    /// Where its elements are, in row-major order.
    places: Vec<usize>,
}

impl Elements {
    fn get(&self, at: usize) -> f32 {
        match self {
            Elements::F32(elements) => elements[at],
            Elements::F16(elements) => elements[at].to_f32(),
        }
    }

    fn set(&mut self, at: usize, value: f32) {
        match self {
            Elements::F32(elements) => elements[at] = value,
            Elements::F16(elements) => elements[at] = f16::from_f32(value),
        }
    }

    fn bits(&self) -> Vec<u32> {
        match self {
            Elements::F32(elements) => elements.iter().map(|element| element.to_bits()).collect(),
            Elements::F16(elements) => elements.iter().map(|element| u32::from(element.to_bits())).collect(),
        }
    }
}

impl Array {
    /// Random elements with random gaps; none but NaN in one that is written.
    fn random(param: &Param, shape: Vec<i64>, random: &mut StdRng) -> Array {
        let mut strides = vec![1_i64; shape.len()];
        for dim in (0..shape.len() - 1).rev() {
            strides[dim] = strides[dim + 1] * shape[dim + 1] + random.random_range(0..4);
        }
        let mut places = vec![0_i64];
        for (extent, stride) in shape.iter().zip(&strides) {
            places = places.iter().flat_map(|place| (0..*extent).map(move |at| place + at * stride)).collect();
        }
        let places: Vec<usize> = places.into_iter().map(|place| usize::try_from(place).unwrap()).collect();
        let len = usize::try_from(shape[0] * strides[0]).unwrap();
        let mut elements = match param.dtype {
            DType::F32 => Elements::F32(vec![BETWEEN; len]),
            DType::F16 => Elements::F16(vec![f16::from_f32(BETWEEN); len]),
            other => unreachable!("the example has none of {other}"),
        };
        let mut value = || if param.mutable { f32::NAN } else { random.random_range(-1.0..1.0) };
        places.iter().for_each(|at| elements.set(*at, value()));
        Array { elements, shape, strides, places }
    }

    fn values(&self) -> Vec<f64> {
        self.places.iter().map(|at| self.elements.get(*at).into()).collect()
    }

    /// As C takes it; the strides of one without gaps may be left out.
    fn passed(&mut self) -> [P; 3] {
        let data = match &mut self.elements {
            Elements::F32(elements) => elements.as_mut_ptr().cast::<c_void>(),
            Elements::F16(elements) => elements.as_mut_ptr().cast(),
        };
        let is_dense = self.places.last().is_some_and(|last| last + 1 == self.places.len());
        let strides = if is_dense { ptr::null() } else { self.strides.as_ptr().cast() };
        [data.cast_const(), self.shape.as_ptr().cast(), strides]
    }
}

fn value(extent: &Affine, shape: &BTreeMap<Name, i64>) -> i64 {
    extent.evaluate(|var| shape.get(var).copied()).unwrap()
}

/// Calls a kernel at a random shape. The nest's own oracle bounds each element, and what stands between the rows stays.
fn check(library: &Library, def: &KernelDef, random: &mut StdRng) {
    let mut draw = |var: &str| random.random_range(1..if var == "S" || var == "R" { 4 } else { 23 });
    let shape: BTreeMap<Name, i64> =
        def.shape_vars.iter().map(|var| (Name::from(&*var.name), draw(&var.name))).collect();
    let scale = random.random_range(-2.0..2.0);
    let tensors = def.params.iter().filter(|param| !param.is_scalar());
    let mut arrays: Vec<Array> = tensors
        .clone()
        .map(|param| Array::random(param, param.dims.iter().map(|extent| value(extent, &shape)).collect(), random))
        .collect();
    let mut named: Tensors =
        tensors.zip(&arrays).map(|(param, array)| (Name::from(&*param.name), array.values())).collect();
    named.insert(Name::from("scale"), vec![f64::from(scale)]);
    let expected = reference::evaluate(&frontend::program(def), &shape, &named).unwrap();

    let threads = random.random_range(0..5);
    let before = arrays.last().unwrap().elements.clone();
    let passed: Vec<P> = arrays.iter_mut().flat_map(Array::passed).collect();
    let symbol = format!("kernels_{}", def.name);
    // SAFETY: the header declares these functions so, and the arrays are there until they return.
    let status = unsafe {
        match (&*def.name, &passed[..]) {
            ("dense", &[a, b, c, d, e, f, g, h, i, j, k, l]) => {
                let function: Symbol<'_, OfFour> = library.get(&symbol).unwrap();
                function(a, b, c, d, e, f, g, h, i, j, k, l, threads)
            }
            ("conv2d", &[a, b, c, d, e, f, g, h, i]) => {
                let function: Symbol<'_, OfThree> = library.get(&symbol).unwrap();
                function(a, b, c, d, e, f, g, h, i, threads)
            }
            ("scores", &[a, b, c, d, e, f, g, h, i]) => {
                let function: Symbol<'_, Scaled> = library.get(&symbol).unwrap();
                function(scale, a, b, c, d, e, f, g, h, i, threads)
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(status, 0, "{symbol} at {shape:?}: {}", said(library));
    let output = arrays.last_mut().unwrap();
    let dtype = def.params[def.output].dtype;
    for (at, (found, expected)) in output.values().into_iter().zip(&expected).enumerate() {
        let found = comparable(dtype, found);
        assert!(
            expected.admits(def.computes_in(), found),
            "{symbol} at {shape:?}, element {at}: found {found}, expected {expected:?}"
        );
    }
    output.places.iter().for_each(|at| output.elements.set(*at, f32::NAN));
    assert_eq!(output.elements.bits(), before.bits(), "{symbol} at {shape:?} writes beside its output");
}

fn said(library: &Library) -> String {
    // SAFETY: the header declares it so, and the text stays until this thread's next call.
    let text = unsafe {
        CStr::from_ptr(library.get::<unsafe extern "C" fn() -> *const c_char>("kernels_error_message").unwrap()())
    };
    text.to_str().unwrap().to_owned()
}

#[test]
fn functions_compute_what_the_nests_say() {
    let place = Place::built();
    // SAFETY: nothing runs when it is loaded.
    let library = unsafe { Library::new(place.path("lib/libkernels.so")) }.unwrap();
    let def = |name: &str| Config::read(place.path(&format!("{name}.json"))).unwrap().kernel_def().unwrap();
    let kernels = ["dense", "conv2d", "scores"].map(def);
    assert_eq!(said(&library), "");
    std::thread::scope(|scope| {
        for seed in 0..8 {
            let (library, kernels) = (&library, &kernels);
            scope.spawn(move || {
                let mut random = StdRng::seed_from_u64(seed);
                (0..6).for_each(|_| kernels.iter().for_each(|def| check(library, def, &mut random)));
                assert_eq!(said(library), "", "no call has failed");
            });
        }
    });
}
