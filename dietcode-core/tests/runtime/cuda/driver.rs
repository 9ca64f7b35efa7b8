//! The driver of `driver.c`, on whose devices nothing runs: it notes what it is asked.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::path::Path;
use std::process::Command;

use libloading::{Library, Symbol};

/// Set in a process that finds it.
const WITH_DRIVER: &str = "DIETCODE_TEST_DRIVER";

/// As a test has it.
pub(crate) struct Driver {
    /// cudarc finds it by its other name.
    pub(crate) library: Library,
    /// How much of its notes was read.
    seen: Cell<usize>,
}

impl Driver {
    /// Runs a test again, in a process that finds this driver, in which alone there is one.
    pub(crate) fn of_test(name: &str) -> Option<Driver> {
        if std::env::var_os(WITH_DRIVER).is_some() {
            // SAFETY: loading it runs nothing.
            let library = unsafe { Library::new("libcuda.so") }.unwrap();
            return Some(Driver { library, seen: Cell::new(0) });
        }
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runtime/cuda/driver.c");
        for name in ["libcuda.so", "libcuda.so.1"] {
            let mut compiler = Command::new("cc");
            compiler.args(["-shared", "-fPIC", "-o"]).arg(folder.path().join(name)).arg(&source);
            assert!(compiler.status().unwrap().success());
        }
        let mut again = Command::new(std::env::current_exe().unwrap());
        let output = again.args(["--exact", name]).env(WITH_DRIVER, "1").env("LD_LIBRARY_PATH", folder.path()).output();
        let said = output.map(|output| [output.stdout, output.stderr].concat()).unwrap();
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("1 passed"), "{said}");
        None
    }

    /// What it was asked since the last time.
    pub(crate) fn notes(&self) -> String {
        // SAFETY: the function has that type, and returns a text.
        let all = unsafe {
            let notes: Symbol<'_, unsafe extern "C" fn() -> *const c_char> = self.library.get(c"driver_notes").unwrap();
            CStr::from_ptr(notes()).to_str().unwrap().to_owned()
        };
        all[self.seen.replace(all.len())..].to_owned()
    }

    /// Has all streams record graphs, or run what is launched.
    pub(crate) fn set_capturing(&self, capturing: bool) {
        // SAFETY: the function has that type.
        unsafe {
            let set: Symbol<'_, unsafe extern "C" fn(c_int)> = self.library.get(c"driver_set_capturing").unwrap();
            set(capturing.into());
        }
    }
}
