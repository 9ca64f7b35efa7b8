//! The system's BLAS, found when the program runs: nothing is linked against it.
//!
//! | library  | how it names things                                                        |
//! |----------|----------------------------------------------------------------------------|
//! | OpenBLAS | `cblas_sgemm`, `openblas_*`; wheels prefix `scipy_`, 64-bit suffixes `64_` |
//! | BLIS     | `cblas_sgemm`, `bli_*`                                                     |
//! | MKL      | `cblas_sgemm`, `MKL_*`                                                     |
//!
//! Beside `sgemm` stands `dgemm`, for products of `f64`.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::copies::{self, Copies};
use super::{Gemm, Matrix};
use crate::measure::Failure;

/// Names under which a dynamic linker may know a BLAS, the fastest first.
pub const LIBRARY_NAMES: &[&str] = &[
    "libopenblas.so.0",
    "libopenblas.so",
    "libblis.so.4",
    "libblis.so",
    "libmkl_rt.so.2",
    "libmkl_rt.so",
    "libcblas.so.3",
    "libblas.so.3",
    "libopenblas.dylib",
];

/// A library that holds a BLAS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlasLibrary {
    /// A path, or a name for the dynamic linker.
    pub library: PathBuf,
    /// Which it says it is, with its version: `OpenBLAS 0.3.21`.
    pub name: String,
}

/// A loaded BLAS.
pub struct Blas {
    single: Routine<f32>,
    double: Option<Routine<f64>>,
    /// Of matrices as no BLAS takes them.
    copies: (RefCell<Copies<f32>>, RefCell<Copies<f64>>),
    _library: libloading::Library,
}

/// `cblas_sgemm`, or `cblas_dgemm`, with the library's width of integers.
enum Routine<T> {
    Int(CblasGemm<c_int, T>),
    Long(CblasGemm<i64, T>),
}

#[rustfmt::skip]
type CblasGemm<I, T> = unsafe extern "C" fn(
    order: c_int, trans_a: c_int, trans_b: c_int, m: I, n: I, k: I,
    alpha: T, a: *const T, lda: I, b: *const T, ldb: I, beta: T, c: *mut T, ldc: I,
);

const ROW_MAJOR: c_int = 101;
const NO_TRANSPOSE: c_int = 111;
const TRANSPOSE: c_int = 112;

impl BlasLibrary {
    /// Loads a library and looks whether there is a BLAS in it. May crash with a broken library, so it is a worker that
    /// asks.
    pub(in crate::measure) fn probe(library: &Path) -> Option<BlasLibrary> {
        let loaded = open(library).ok()?;
        find::<f32>(&loaded, "sgemm")?;
        let file = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Some(BlasLibrary { library: library.to_owned(), name: own_name(&loaded).unwrap_or(file) })
    }
}

impl Blas {
    /// Loads it and sets its number of threads.
    pub(in crate::measure) fn load(library: &BlasLibrary, threads: usize) -> Result<Blas, Failure> {
        let loaded = open(&library.library).map_err(|e| Failure::Load { message: e.to_string() })?;
        let missing = || Failure::Load { message: format!("{} has no cblas_sgemm", library.library.display()) };
        let single = find(&loaded, "sgemm").ok_or_else(missing)?;
        let double = find(&loaded, "dgemm");
        set_threads(&loaded, threads);
        Ok(Blas { single, double, copies: <_>::default(), _library: loaded })
    }

    /// Carries out a product: on copies of the matrices where [`Gemm::blas_can`] does not hold.
    ///
    /// # Safety
    ///
    /// `buffers` has one tensor per parameter of the nest that `gemm` was made from, at the same instance; scalars are in this
    /// process's memory.
    pub(in crate::measure) unsafe fn run(&self, gemm: &Gemm, buffers: &[*mut c_void]) {
        // SAFETY: as the caller vouches.
        unsafe {
            match &self.double {
                Some(double) if gemm.double => double.run(&mut self.copies.1.borrow_mut(), gemm, buffers),
                // Without a result, the call is found to compute nothing.
                None if gemm.double => {}
                _ => self.single.run(&mut self.copies.0.borrow_mut(), gemm, buffers),
            }
        }
    }
}

impl<T: Copy + Default + PartialEq + From<u8>> Routine<T> {
    /// As [`Blas::run`].
    unsafe fn run(&self, copies: &mut Copies<T>, gemm: &Gemm, buffers: &[*mut c_void]) {
        // SAFETY: as the caller vouches.
        let factors: [T; 2] = unsafe { [gemm.alpha.value(buffers), gemm.beta.value(buffers)] };
        if let Some(call) = Call::of(gemm) {
            // SAFETY: as above.
            return unsafe { self.multiply(gemm, &call, factors, buffers) };
        }
        let dense = copies::dense(gemm);
        let Some(call) = Call::of(&dense) else { return };
        // SAFETY: as above; the copies are the tensors of the dense product.
        unsafe {
            let own = copies.fill(gemm, factors[1] != T::from(0), buffers);
            self.multiply(&dense, &call, factors, &own);
            copies.write_back(gemm, buffers);
        }
    }

    /// One call of the library for each product.
    ///
    /// # Safety
    ///
    /// As [`Blas::run`]; the call was made of the product.
    unsafe fn multiply(&self, gemm: &Gemm, call: &Call, [alpha, beta]: [T; 2], buffers: &[*mut c_void]) {
        gemm.for_each_product(|a, b, c| {
            let (a, b) = if call.swapped { (b, a) } else { (a, b) };
            let at = |param: usize, offset: i64| {
                // SAFETY: the matcher computed the offset from an index inside the tensor.
                unsafe { buffers[param].cast::<T>().offset(offset as isize) }
            };
            let (a, b, c) = (at(call.a.param, a), at(call.b.param, b), at(gemm.c.param, c));
            let (ta, tb) = (call.a.transpose, call.b.transpose);
            let [m, n, k, lda, ldb, ldc] = [call.m, call.n, gemm.k, call.a.leading, call.b.leading, call.ldc];
            // SAFETY: as the caller vouches; the leading dimensions are those of the tensors.
            unsafe {
                match self {
                    Routine::Long(f) => f(ROW_MAJOR, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc),
                    Routine::Int(f) => {
                        let [m, n, k, lda, ldb, ldc] = [m, n, k, lda, ldb, ldc].map(|i| i as c_int);
                        f(ROW_MAJOR, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
                    }
                }
            }
        });
    }
}

impl Gemm {
    /// Whether `sgemm` takes these strides: one of each matrix's two must be 1, the other wide enough.
    pub fn blas_can(&self) -> bool {
        Call::of(self).is_some_and(|call| {
            [call.m, call.n, self.k, call.a.leading, call.b.leading, call.ldc]
                .iter()
                .all(|i| *i <= i64::from(c_int::MAX))
        })
    }

    /// Whether `sgemm` takes copies of the matrices, see `Blas::run`.
    pub fn blas_can_on_copies(&self) -> bool {
        copies::dense(self).blas_can()
    }
}

/// The arguments of a row-major `sgemm`.
pub(in crate::measure) struct Call {
    /// A product whose columns are contiguous is computed as its transpose, from the factors the other way round.
    pub(in crate::measure) swapped: bool,
    pub(in crate::measure) m: i64,
    pub(in crate::measure) n: i64,
    pub(in crate::measure) a: Factor,
    pub(in crate::measure) b: Factor,
    pub(in crate::measure) ldc: i64,
}

pub(in crate::measure) struct Factor {
    pub(in crate::measure) param: usize,
    transpose: c_int,
    pub(in crate::measure) leading: i64,
}

impl Factor {
    /// Whether it is multiplied as its transpose.
    pub(in crate::measure) fn is_transposed(&self) -> bool {
        self.transpose == TRANSPOSE
    }
}

impl Call {
    /// Those of a product; none if its strides are not a library's.
    pub(in crate::measure) fn of(gemm: &Gemm) -> Option<Call> {
        let Gemm { m, n, k, a, b, c, .. } = *gemm;
        let transposed = |x: Matrix| Matrix { row: x.col, col: x.row, ..x };
        if let Some(ldc) = leading(c, m, n) {
            return Some(Call { swapped: false, m, n, a: factor(a, m, k)?, b: factor(b, k, n)?, ldc });
        }
        let ldc = leading(transposed(c), n, m)?;
        Some(Call { swapped: true, m: n, n: m, a: factor(transposed(b), n, k)?, b: factor(transposed(a), k, m)?, ldc })
    }
}

fn factor(x: Matrix, rows: i64, cols: i64) -> Option<Factor> {
    let of = |transpose, leading| Factor { param: x.param, transpose, leading };
    let transposed = Matrix { row: x.col, col: x.row, ..x };
    let plain = leading(x, rows, cols).map(|l| of(NO_TRANSPOSE, l));
    plain.or_else(|| leading(transposed, cols, rows).map(|l| of(TRANSPOSE, l)))
}

/// The distance between rows, if columns are neighbours. A stride along an extent of 1 means nothing.
fn leading(x: Matrix, rows: i64, cols: i64) -> Option<i64> {
    let leading = if rows == 1 { cols } else { x.row };
    ((x.col == 1 || cols == 1) && leading >= cols).then_some(leading)
}

fn open(library: &Path) -> Result<libloading::Library, libloading::Error> {
    // SAFETY: a BLAS's initialisers set up its threads. That it may be something else is why a worker does this.
    unsafe { libloading::Library::new(library) }
}

/// A product's function, `sgemm` or `dgemm`, of elements of that type.
fn find<T>(library: &libloading::Library, routine: &str) -> Option<Routine<T>>
where
    CblasGemm<c_int, T>: Copy,
    CblasGemm<i64, T>: Copy,
{
    let names = |names: &[(&str, &str)]| {
        names.iter().map(|(before, after)| format!("{before}{routine}{after}")).collect::<Vec<String>>()
    };
    // SAFETY: all libraries of the table above give these names to this function.
    unsafe {
        let int = names(&[("cblas_", ""), ("scipy_cblas_", "")])
            .iter()
            .find_map(|n| library.get(n.as_bytes()).ok().map(|f| Routine::Int(*f)));
        let long = names(&[("cblas_", "64_"), ("scipy_cblas_", "64_"), ("cblas_", "_64")]);
        int.or_else(|| long.iter().find_map(|n| library.get(n.as_bytes()).ok().map(|f| Routine::Long(*f))))
    }
}

const OPENBLAS_NAMES: &[(&str, &str)] = &[("", ""), ("scipy_", ""), ("", "64_"), ("scipy_", "64_")];

fn set_threads(library: &libloading::Library, threads: usize) {
    let threads = c_int::try_from(threads).unwrap_or(1);
    let openblas = OPENBLAS_NAMES.iter().map(|(before, after)| format!("{before}openblas_set_num_threads{after}"));
    // SAFETY: these functions take an integer by value; BLIS's is wider.
    unsafe {
        for name in openblas.chain(["MKL_Set_Num_Threads".to_owned()]) {
            if let Ok(set) = library.get::<unsafe extern "C" fn(c_int)>(name.as_bytes()) {
                set(threads);
            }
        }
        if let Ok(set) = library.get::<unsafe extern "C" fn(i64)>("bli_thread_set_num_threads") {
            set(i64::from(threads));
        }
    }
}

/// The library's name and version, in its own words.
fn own_name(library: &libloading::Library) -> Option<String> {
    // SAFETY: these functions take nothing and give a static string; MKL's fills a buffer of the given length.
    unsafe {
        for (before, after) in OPENBLAS_NAMES {
            let name = format!("{before}openblas_get_config{after}");
            if let Ok(config) = library.get::<unsafe extern "C" fn() -> *const c_char>(name.as_bytes()) {
                let text = CStr::from_ptr(config()).to_string_lossy().into_owned();
                return Some(text.split_whitespace().take(2).collect::<Vec<_>>().join(" "));
            }
        }
        if let Ok(version) = library.get::<unsafe extern "C" fn() -> *const c_char>("bli_info_get_version_str") {
            return Some(format!("BLIS {}", CStr::from_ptr(version()).to_string_lossy()));
        }
        if let Ok(version) = library.get::<unsafe extern "C" fn(*mut c_char, c_int)>("MKL_Get_Version_String") {
            let mut buffer = [0 as c_char; 200];
            version(buffer.as_mut_ptr(), 199);
            return Some(CStr::from_ptr(buffer.as_ptr()).to_string_lossy().trim().to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::baselines::{Batch, Coefficient};

    fn matrix(row: i64, col: i64) -> Matrix {
        Matrix { param: 0, offset: 0, row, col }
    }

    fn gemm(a: Matrix, b: Matrix, c: Matrix) -> Gemm {
        Gemm {
            m: 5,
            n: 7,
            k: 11,
            a,
            b,
            c,
            alpha: Coefficient::One,
            beta: Coefficient::Zero,
            batch: vec![],
            double: false,
        }
    }

    #[test]
    fn strides_become_transposes_and_leading_dimensions() {
        let call = Call::of(&gemm(matrix(11, 1), matrix(1, 11), matrix(7, 1))).unwrap();
        assert_eq!((call.a.transpose, call.a.leading), (NO_TRANSPOSE, 11));
        assert_eq!((call.b.transpose, call.b.leading), (TRANSPOSE, 11));
        assert_eq!((call.swapped, call.ldc), (false, 7));
    }

    #[test]
    fn a_column_major_product_is_computed_as_its_transpose() {
        let call = Call::of(&gemm(matrix(11, 1), matrix(1, 11), matrix(1, 5))).unwrap();
        assert_eq!((call.swapped, call.m, call.n, call.ldc), (true, 7, 5, 5));
        assert_eq!((call.a.transpose, call.a.leading), (NO_TRANSPOSE, 11));
        assert_eq!((call.b.transpose, call.b.leading), (TRANSPOSE, 11));
    }

    /// Two matrices of a batch, element by element.
    #[test]
    fn interleaved_matrices_are_copied_and_written_back() {
        let (m, n, k, batch) = (2, 3, 4, 5);
        let interleaved = |param, cols: i64| Matrix { param, offset: 0, row: cols * batch, col: batch };
        let [a, b, c] = [interleaved(0, k), interleaved(1, n), interleaved(2, n)];
        let batches = vec![Batch { extent: batch, a: 1, b: 1, c: 1 }];
        let (alpha, beta, double) = (Coefficient::One, Coefficient::One, false);
        let gemm = Gemm { m, n, k, a, b, c, alpha, beta, batch: batches, double };
        assert!(!gemm.blas_can() && copies::dense(&gemm).blas_can());
        let mut tensors =
            [m * k, k * n, m * n].map(|matrix| (0..matrix * batch).map(|at| at as f32).collect::<Vec<_>>());
        let before = tensors.clone();
        let buffers = tensors.each_mut().map(|tensor| tensor.as_mut_ptr().cast::<c_void>());
        let mut copies = Copies::<f32>::default();
        // SAFETY: the tensors are as large as the product says.
        let own = unsafe { copies.fill(&gemm, true, &buffers) };
        for (copy, (before, size)) in own.iter().zip(before.iter().zip([m * k, k * n, m * n])) {
            for at in 0..size * batch {
                // SAFETY: a copy is as large as its tensor.
                let found = unsafe { copy.cast::<f32>().offset(at as isize).replace(-1.0) };
                assert_eq!(found, before[(at % size * batch + at / size) as usize]);
            }
        }
        // SAFETY: as above.
        unsafe { copies.write_back(&gemm, &buffers) };
        assert!(tensors[2].iter().all(|x| *x == -1.0) && tensors[..2] == before[..2]);
    }

    #[test]
    fn overlapping_rows_are_refused() {
        assert!(!gemm(matrix(1, 1), matrix(1, 11), matrix(7, 1)).blas_can());
        assert!(!gemm(matrix(22, 2), matrix(1, 11), matrix(7, 1)).blas_can());
    }
}
