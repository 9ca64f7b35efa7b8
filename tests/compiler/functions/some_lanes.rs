//! Loads and stores of the first lanes of a vector touch no others: these lie in a page that nobody may touch.

use std::path::Path;
use std::process::Command;
use std::{fs, ptr, slice};

use dietcode_core::codegen::DIETCODE_H;

use super::accuracy::marches;

type Copy = unsafe extern "C" fn(*mut f32, *const f32, i64);

/// Pages: the first is used, the second forbidden.
struct Pages {
    start: *mut libc::c_void,
    page: usize,
}

impl Pages {
    fn new() -> Pages {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a mapping of its own; the second page of it becomes untouchable.
        unsafe {
            let page = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).expect("a size");
            let start = libc::mmap(ptr::null_mut(), 2 * page, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(start.byte_add(page), page, libc::PROT_NONE), 0);
            Pages { start, page }
        }
    }

    /// The last floats of the first page.
    fn last(&mut self, floats: usize) -> &mut [f32] {
        // SAFETY: they lie inside of the first page, which is mapped as long as `self` lives.
        unsafe { slice::from_raw_parts_mut(self.start.byte_add(self.page - 4 * floats).cast(), floats) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`.
        unsafe { libc::munmap(self.start, 2 * self.page) };
    }
}

/// A library of functions in C.
pub(super) fn compile(compiler: &str, march: &str, folder: &Path, source: &str) -> libloading::Library {
    let [c, so] = ["lanes.c", "lanes.so"].map(|name| folder.join(name));
    fs::write(folder.join("dietcode.h"), DIETCODE_H).expect("the folder can be written");
    fs::write(&c, source).expect("the folder can be written");
    let march = format!("-march={march}");
    let mut built = Command::new(compiler);
    built.args(["-std=gnu11", "-O2", "-Wall", "-Werror", "-Wno-psabi", "-fPIC", "-shared", &march, "-o"]);
    let built = built.arg(&so).arg(&c).output().unwrap_or_else(|e| panic!("{compiler}: {e}"));
    assert!(built.status.success(), "{compiler} {march}: {}", String::from_utf8_lossy(&built.stderr));
    // SAFETY: the library has no initialisers.
    unsafe { libloading::Library::new(&so) }.expect("the library loads")
}

#[test]
fn lanes_behind_the_first_ones_are_not_touched() {
    let mut pages = Pages::new();
    for (compiler, march) in ["gcc", "clang"].into_iter().flat_map(|name| marches().map(move |march| (name, march))) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let library = compile(compiler, march, folder.path(), include_str!("some_lanes.c"));
        for lanes in [2, 4, 8, 16_usize] {
            // SAFETY: the functions are of this type.
            let [store, load] = ["store", "load"].map(|name| unsafe {
                *library.get::<Copy>(format!("{name}_{lanes}").as_bytes()).expect("it is exported")
            });
            let from: Vec<f32> = (1..=lanes).map(|lane| lane as f32).collect();
            for some in (-3..=lanes as i64 + 3).chain([i64::from(i32::MAX) + 1, 1 << 40, i64::MIN / 2, -(1 << 32) + 5])
            {
                let first = usize::try_from(some).unwrap_or(0).min(lanes);
                let what = format!("{compiler} -march={march}: {some} of {lanes}");
                let to = pages.last(first + 1);
                to.fill(-1.0);
                // SAFETY: as many floats are there as may be touched.
                unsafe { store(to[1..].as_mut_ptr(), from.as_ptr(), some) };
                assert_eq!((to[0], &to[1..]), (-1.0, &from[..first]), "store, {what}");
                let mut loaded = vec![-1.0; lanes];
                // SAFETY: as above.
                unsafe { load(loaded.as_mut_ptr(), to[1..].as_ptr(), some) };
                let expected: Vec<f32> = (0..lanes).map(|at| if at < first { from[at] } else { 0.0 }).collect();
                assert_eq!(loaded, expected, "load, {what}");
            }
        }
    }
}
