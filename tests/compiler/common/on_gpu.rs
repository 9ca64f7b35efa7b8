//! Compiling and running cases: in this process, since what is tested is meant to be right.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use dietcode_core::codegen::cuda::headers::{self, HOST_HEADERS};
use dietcode_core::codegen::cuda::{CudaLaunch, CudaUnit};
use dietcode_core::ir::Expr;
use dietcode_core::machine::cuda::HostCompiler;
use dietcode_core::reference::Approx;
use dietcode_core::runtime::cuda::HostArg;

use crate::common::instance::{GUARD, Instance};
use crate::common::library::is_chosen;
use crate::common::memory::Memory;

type Entry = unsafe extern "C" fn(u32, u32, u64, *const HostArg, *mut c_char, u64) -> c_int;

/// One case.
pub(crate) struct Case {
    pub(crate) instance: Instance,
    pub(crate) unit: CudaUnit,
}

impl Case {
    /// The value of an expression over the shape variables.
    pub(crate) fn count(&self, e: &Expr) -> i64 {
        let vars = self.instance.def.shape_vars.iter().map(|var| &*var.name);
        let e = vars.fold(e.clone(), |e, var| e.substitute(var, &Expr::Int(self.instance.shape_var(var))));
        e.as_int().unwrap_or_else(|| panic!("`{e}` is no number: {}", describe(self)))
    }
}

/// The shared library of a batch.
pub(crate) struct Library(libloading::Library);

/// A form of the emulator.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    Watched,
    Unwatched,
    WithoutBankConflicts,
    Counting,
}

impl Form {
    /// The folder of its headers, and what they begin with.
    fn folder(self) -> (&'static str, &'static str) {
        match self {
            Form::Watched => ("cuda-host", ""),
            Form::Unwatched => ("cuda-host-unwatched", ""),
            Form::WithoutBankConflicts => ("cuda-host-banks", "#define DIETCODE_FORBID_BANK_CONFLICTS\n"),
            Form::Counting => ("cuda-host-counting", "#define DIETCODE_COUNT_WAVEFRONTS\n"),
        }
    }

    /// Its headers, compiled once for all libraries of a run.
    pub(crate) fn headers(self, compiler: &HostCompiler) -> &'static Path {
        static FORMS: [OnceLock<PathBuf>; 4] = [const { OnceLock::new() }; 4];
        FORMS[self as usize].get_or_init(|| {
            let ((folder, definition), (name, text)) = (self.folder(), HOST_HEADERS[0]);
            let headers = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
            headers::write(&headers, HOST_HEADERS).expect("the folder can be written");
            fs::write(headers.join(name), format!("{definition}{text}")).expect("the folder can be written");
            compiler.precompile(&headers, name);
            headers
        })
    }
}

impl Library {
    /// Compiles translation units as one file. All accesses are watched with `DIETCODE_ALL=1`, and of a quarter of the files else, by their
    /// text and the day.
    pub(crate) fn compile<'u>(compiler: &HostCompiler, units: impl Iterator<Item = &'u CudaUnit>) -> Library {
        let source: String = units.map(|unit| &*unit.source).collect();
        let form = if is_chosen(&source, 4) { Form::Watched } else { Form::Unwatched };
        Library::of(compiler, &source, form)
    }

    /// Compiles a translation unit such that what is read at once for a matrix instruction, rows by `ldmatrix` or an element by each lane, may
    /// not meet in a bank of shared memory.
    pub(crate) fn without_bank_conflicts(compiler: &HostCompiler, unit: &CudaUnit) -> Library {
        Library::of(compiler, &unit.source, Form::WithoutBankConflicts)
    }

    /// Compiles translation units as one file that counts the wavefronts of shared memory.
    pub(crate) fn counting<'u>(compiler: &HostCompiler, units: impl Iterator<Item = &'u CudaUnit>) -> Library {
        let source: String = units.map(|unit| &*unit.source).collect();
        Library::of(compiler, &source, Form::Counting)
    }

    /// The wavefronts of loads and of stores that this thread's launches took since the last call, of a library that counts them.
    pub(crate) fn wavefronts(&self) -> [u64; 2] {
        let mut counted = [0; 2];
        // SAFETY: the function has this type, and writes two numbers.
        unsafe {
            let count = self.0.get::<unsafe extern "C" fn(*mut u64)>(b"dietcode_host_wavefronts").expect("it counts");
            count(counted.as_mut_ptr());
        }
        counted
    }

    fn of(compiler: &HostCompiler, source: &str, form: Form) -> Library {
        let compiler = if matches!(form, Form::Unwatched) { compiler.unwatched() } else { compiler.clone() };
        let headers = form.headers(&compiler);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [cu, so] = ["cases.cu", "cases.so"].map(|name| folder.path().join(name));
        fs::write(&cu, source).expect("the folder can be written");
        let built = compiler.shared_library(&cu, &so, headers).output().expect("the compiler starts");
        assert!(built.status.success(), "{}\n{source}", String::from_utf8_lossy(&built.stderr));
        // SAFETY: the library has no initialisers.
        Library(unsafe { libloading::Library::new(&so) }.expect("the library loads"))
    }

    fn launch(&self, case: &Case, launch: &CudaLaunch, args: &[HostArg]) {
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
            entry(grid, threads, shared, args.as_ptr(), error.as_mut_ptr().cast(), error.len() as u64)
        };
        let sentence = CStr::from_bytes_until_nul(&error).expect("the sentence ends").to_string_lossy();
        assert_eq!(status, 0, "{sentence}: {}", describe(case));
    }

    /// Runs a case on tensors and compares every element of the output.
    pub(crate) fn check(&self, case: &Case, tensors: &[Vec<f64>], expected: &[Approx]) {
        let instance = &case.instance;
        let mut memory = instance.memory(tensors);
        memory[instance.def.output] = instance.output(tensors);
        self.run(case, &mut memory);
        instance.check(&mut memory[instance.def.output], expected, || describe(case));
    }

    /// Runs a case on tensors in memory.
    pub(crate) fn run(&self, case: &Case, memory: &mut [Memory]) {
        let bytes = case.unit.workspace_bytes.as_ref().map(|bytes| case.count(bytes).max(0) as usize);
        let mut workspace = vec![f32::NAN; bytes.unwrap_or(0) / 4 + GUARD];
        let mut pointers: Vec<*mut c_void> = memory.iter_mut().map(|m| m.pointer(GUARD)).collect();
        pointers.extend(bytes.map(|_| workspace.as_mut_ptr().cast::<c_void>()));
        let all = (0..case.instance.def.params.len()).flat_map(|param| {
            let mut strides = case.instance.strides(param);
            strides.pop();
            strides
        });
        let mut strides: Vec<i64> = all.map(|stride| stride as i64).collect();
        let mut shape: Vec<i32> = case.instance.shape.iter().map(|value| *value as i32).collect();
        // Tensors are passed by a pointer, scalars by their value.
        let params = &case.instance.def.params;
        let is_scalar = |n: usize| params.get(n).is_some_and(|param| param.dims.is_empty());
        let mut tensor_bytes: Vec<u64> = memory.iter().map(|m| m.bytes_between(GUARD)).collect();
        tensor_bytes.extend(bytes.map(|bytes| bytes as u64));
        let arg = |(n, pointer): (usize, &mut *mut c_void)| match is_scalar(n) {
            true => HostArg { value: *pointer, bytes: 0 },
            false => HostArg { value: std::ptr::from_mut(pointer).cast(), bytes: tensor_bytes[n] },
        };
        let mut args: Vec<HostArg> = pointers.iter_mut().enumerate().map(arg).collect();
        let number = |value: *mut c_void| HostArg { value, bytes: 0 };
        args.extend(strides.iter_mut().map(|stride| number(std::ptr::from_mut(stride).cast())));
        args.extend(shape.iter_mut().map(|value| number(std::ptr::from_mut(value).cast())));
        case.unit.launches.iter().for_each(|launch| self.launch(case, launch, &args));
        let behind = &workspace[workspace.len() - GUARD..];
        let is_kept = behind.iter().all(|value| value.to_bits() == f32::NAN.to_bits());
        assert!(is_kept, "written behind the workspace: {}", describe(case));
    }
}

fn describe(case: &Case) -> String {
    let Instance { seed, def, shape, gap, .. } = &case.instance;
    format!("seed {seed}, shape {shape:?}, gap {gap}\n{def}\n{}", case.unit.source)
}
