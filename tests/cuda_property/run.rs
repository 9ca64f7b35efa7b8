//! Compiling and running cases: in this process, since what is tested is meant to be right.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs;

use dietcode_core::codegen::cuda::headers::{self, HOST_HEADERS};
use dietcode_core::codegen::cuda::{CudaLaunch, CudaUnit};
use dietcode_core::frontend;
use dietcode_core::ir::{Expr, Name};
use dietcode_core::reference::{self, Tensors};
use dietcode_core::target::cuda::HostCompiler;
use dietcode_syntax::{Affine, KernelDef};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Floats before and after every tensor: those of the output must keep their bits, those of inputs are NaN.
const GUARD: usize = 64;
const CANARY: f32 = 1234.5;

type Entry = unsafe extern "C" fn(u32, u32, u64, *mut *mut c_void, *mut c_char, u64) -> c_int;

/// One case.
pub(crate) struct Case {
    pub(crate) seed: u64,
    pub(crate) def: KernelDef,
    pub(crate) unit: CudaUnit,
    pub(crate) shape: Vec<i64>,
    /// Elements that lie between the rows of every tensor, and belong to none.
    pub(crate) gap: usize,
}

impl Case {
    fn shape_var(&self, name: &str) -> i64 {
        let at = self.def.shape_vars.iter().position(|var| var.name == name);
        self.shape[at.expect("every variable has a value")]
    }

    fn value(&self, form: &Affine) -> i64 {
        form.terms.iter().fold(form.constant, |sum, (name, c)| sum + c * self.shape_var(name))
    }

    fn count(&self, e: &Expr) -> i64 {
        let vars = &self.def.shape_vars;
        let e = vars.iter().fold(e.clone(), |e, var| e.substitute(&var.name, &Expr::Int(self.shape_var(&var.name))));
        e.as_int().unwrap_or_else(|| panic!("`{e}` is no number: {}", describe(self)))
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
    fn spread(&self, param: usize, elements: &[f32], elsewhere: f32) -> Vec<f32> {
        let places = self.places(param);
        let mut memory = vec![elsewhere; places.last().unwrap_or(&0) + 1 + GUARD];
        places.iter().zip(elements).for_each(|(place, element)| memory[*place] = *element);
        memory
    }
}

/// The shared library of a batch.
pub(crate) struct Library(libloading::Library);

impl Library {
    /// Compiles all cases as one file.
    pub(crate) fn compile(compiler: &HostCompiler, cases: &[Case]) -> Library {
        let folder = tempfile::tempdir().expect("a temporary folder");
        headers::write(folder.path(), HOST_HEADERS).expect("the folder can be written");
        let source: String = cases.iter().map(|case| &*case.unit.source).collect();
        let [cu, so] = ["cases.cu", "cases.so"].map(|name| folder.path().join(name));
        fs::write(&cu, &source).expect("the folder can be written");
        let built = compiler.shared_library(&cu, &so, folder.path()).output().expect("the compiler starts");
        assert!(built.status.success(), "{}\n{source}", String::from_utf8_lossy(&built.stderr));
        // SAFETY: the library has no initialisers.
        Library(unsafe { libloading::Library::new(&so) }.expect("the library loads"))
    }

    fn launch(&self, case: &Case, launch: &CudaLaunch, args: &mut [*mut c_void]) {
        let blocks = case.count(&launch.blocks);
        let grid = if launch.persistent { blocks.min(3) } else { blocks } as u32;
        if grid == 0 {
            return;
        }
        let mut error = [0u8; 1024];
        // SAFETY: the entry has this type, and the tensors are as large as the nest says.
        let status = unsafe {
            let entry = self.0.get::<Entry>(format!("{}_host", launch.symbol).as_bytes()).expect("the unit's entry");
            let (threads, shared) = (launch.threads as u32, launch.shared_bytes as u64);
            entry(grid, threads, shared, args.as_mut_ptr(), error.as_mut_ptr().cast(), error.len() as u64)
        };
        let sentence = CStr::from_bytes_until_nul(&error).expect("the sentence ends").to_string_lossy();
        assert_eq!(status, 0, "{sentence}: {}", describe(case));
    }

    /// Runs a case on fresh random tensors and compares every element of the output.
    pub(crate) fn check(&self, case: &Case) {
        let mut rng = StdRng::seed_from_u64(case.seed ^ 0x5eed);
        let def = &case.def;
        let tensors: Vec<Vec<f32>> = (0..def.params.len())
            .map(|n| (0..case.dims(n).iter().product()).map(|_| rng.random_range(-1.0..1.0f32)).collect())
            .collect();
        let named: Tensors =
            def.params.iter().zip(&tensors).map(|(param, tensor)| (Name::from(&*param.name), tensor.clone())).collect();
        let shape: BTreeMap<Name, i64> =
            def.shape_vars.iter().zip(&case.shape).map(|(var, value)| (Name::from(&*var.name), *value)).collect();
        let expected = reference::evaluate(&frontend::program(def), &shape, &named).expect("the case is in bounds");
        let poison = vec![f32::NAN; expected.len()];
        let mut memory: Vec<Vec<f32>> =
            tensors.iter().enumerate().map(|(param, elements)| case.spread(param, elements, f32::NAN)).collect();
        let before = if accumulates(def) { &tensors[def.output] } else { &poison };
        memory[def.output] = case.spread(def.output, before, CANARY);
        self.run(case, &mut memory);
        let output = &mut memory[def.output];
        for (at, (place, expected)) in case.places(def.output).into_iter().zip(&expected).enumerate() {
            let found = std::mem::replace(&mut output[place], CANARY);
            assert!(expected.admits(found), "element {at} is {found}, expected {expected:?}: {}", describe(case));
        }
        assert!(output.iter().all(|x| *x == CANARY), "written out of bounds: {}", describe(case));
    }

    fn run(&self, case: &Case, memory: &mut [Vec<f32>]) {
        let bytes = case.unit.workspace_bytes.as_ref().map(|bytes| case.count(bytes).max(0) as usize);
        let mut workspace = vec![f32::NAN; bytes.unwrap_or(0) / 4 + GUARD];
        let mut pointers: Vec<*mut f32> = memory.iter_mut().map(|m| m[GUARD..].as_mut_ptr()).collect();
        pointers.extend(bytes.map(|_| workspace.as_mut_ptr()));
        let all = (0..case.def.params.len()).flat_map(|param| {
            let strides = case.strides(param);
            strides[..strides.len().saturating_sub(1)].to_vec()
        });
        let mut strides: Vec<i64> = all.map(|stride| stride as i64).collect();
        let mut shape: Vec<i32> = case.shape.iter().map(|value| *value as i32).collect();
        let mut args: Vec<*mut c_void> = pointers.iter_mut().map(|pointer| std::ptr::from_mut(pointer).cast()).collect();
        args.extend(strides.iter_mut().map(|stride| std::ptr::from_mut(stride).cast::<c_void>()));
        args.extend(shape.iter_mut().map(|value| std::ptr::from_mut(value).cast::<c_void>()));
        case.unit.launches.iter().for_each(|launch| self.launch(case, launch, &mut args));
    }
}

fn accumulates(def: &KernelDef) -> bool {
    let init = def.reduction.as_ref().map(|reduction| &reduction.init);
    matches!(init, Some(dietcode_syntax::Expr::Load { param, .. }) if *param == def.output)
}

fn describe(case: &Case) -> String {
    format!("seed {}, shape {:?}, gap {}\n{}\n{}", case.seed, case.shape, case.gap, case.def, case.unit.source)
}
