//! The system's BLAS, which is looked for when the program starts; nothing is linked against it.

use std::ffi::{CStr, c_char, c_int};

use dietcode_core::runtime::tunable::KernelCall;
use dietcode_core::runtime::{TensorMut, TensorRef};
use dietcode_core::{Error, Result};
use libloading::Library;

#[rustfmt::skip]
type Sgemm = unsafe extern "C" fn(
    order: c_int, trans_a: c_int, trans_b: c_int, m: c_int, n: c_int, k: c_int,
    alpha: f32, a: *const f32, lda: c_int, b: *const f32, ldb: c_int, beta: f32, c: *mut f32, ldc: c_int,
);

/// How they are called on the systems that have them, the fastest first.
const NAMES: [&str; 6] =
    ["libopenblas.so.0", "libblis.so.4", "libmkl_rt.so.2", "libcblas.so.3", "libblas.so.3", "libopenblas.dylib"];

const ROW_MAJOR: c_int = 101;
const NO_TRANSPOSE: c_int = 111;

/// A library that has `cblas_sgemm`.
pub struct Blas {
    sgemm: Sgemm,
    /// What the dynamic linker calls it, and what the library says of its version.
    pub version: String,
}

impl Blas {
    /// The first that there is.
    pub fn find() -> Option<Blas> {
        NAMES.into_iter().find_map(|name| {
            // SAFETY: what a BLAS does when it is loaded is to start its threads.
            let library = unsafe { Library::new(name) }.ok()?;
            // SAFETY: that is how the C interface of BLAS declares it.
            let sgemm = unsafe { *library.get::<Sgemm>("cblas_sgemm").ok()? };
            let version =
                format!("{name}: {}", version(&library).as_deref().unwrap_or("of a version that it does not say"));
            // The function is used as long as the program runs.
            std::mem::forget(library);
            Some(Blas { sgemm, version })
        })
    }

    /// C = A · B, on as many threads as the library takes.
    pub fn multiply(&self, call: &mut KernelCall<'_>) -> Result<()> {
        let [a, b, c] = call.operands()?;
        let (a, b) = (TensorRef::<f32>::try_from(a)?, TensorRef::<f32>::try_from(b)?);
        let mut c = TensorMut::<f32>::try_from(c)?;
        let int = |size: usize| {
            c_int::try_from(size).map_err(|_| Error::unsupported(format!("{size} is more than the library counts")))
        };
        let (m, n, k) = (int(c.shape()[0])?, int(c.shape()[1])?, int(a.shape()[1])?);
        // A distance between rows must not be 0, also where there are no rows.
        let [lda, ldb, ldc] = [a.strides()[0], b.strides()[0], c.strides()[0]].map(|stride| int(stride.max(1)));
        let (lda, ldb, ldc, c) = (lda?.max(k), ldb?.max(n), ldc?.max(n), c.as_mut_ptr());
        // SAFETY: the call was checked: A has m · k elements, B k · n, C m · n, at these distances, and C is apart from both.
        unsafe {
            (self.sgemm)(
                ROW_MAJOR,
                NO_TRANSPOSE,
                NO_TRANSPOSE,
                m,
                n,
                k,
                1.0,
                a.as_ptr(),
                lda,
                b.as_ptr(),
                ldb,
                0.0,
                c,
                ldc,
            );
        }
        Ok(())
    }
}

/// What a library says of its version: OpenBLAS, BLIS and MKL have a function for it.
fn version(library: &Library) -> Option<String> {
    type Text = unsafe extern "C" fn() -> *const c_char;
    type Filled = unsafe extern "C" fn(*mut c_char, c_int);
    let mut buffer = [0; 256];
    // SAFETY: so these libraries declare them. The texts end; what is written has the buffer's length at most.
    let text = unsafe {
        let of = |name: &[u8]| Some(library.get::<Text>(name).ok()?());
        let mkl = || {
            library.get::<Filled>(b"mkl_get_version_string").ok()?(buffer.as_mut_ptr(), buffer.len() as c_int - 1);
            Some(buffer.as_ptr())
        };
        CStr::from_ptr(of(b"openblas_get_config").or_else(|| of(b"bli_info_get_version_str")).or_else(mkl)?)
    };
    Some(text.to_string_lossy().trim().to_owned())
}
