//! How much memory there is.

/// Bytes of this machine's memory.
pub fn physical_memory() -> u64 {
    // SAFETY: sysconf has no preconditions.
    let (pages, bytes) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let positive = |n: libc::c_long| u64::try_from(n).unwrap_or(0);
    positive(pages).saturating_mul(positive(bytes))
}
