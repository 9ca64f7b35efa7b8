//! Where there is no POSIX, all ends of a process look alike: each counts as the fault of what was tried.

use std::ffi::CStr;
use std::fs::File;
use std::time::Duration;

pub(super) struct Watch;

pub(super) struct Trial;

impl Watch {
    pub(super) fn begin(_: &'static CStr) -> Option<Watch> {
        Some(Watch)
    }

    pub(super) fn is_of(&self, _: &File) {}

    pub(super) fn is_over() -> bool {
        false
    }
}

impl Trial {
    pub(super) fn begin(_: Duration) -> Trial {
        Trial
    }
}
