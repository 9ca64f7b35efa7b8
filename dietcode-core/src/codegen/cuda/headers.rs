//! The headers of generated CUDA files, as (name, text): on a device one, and for the CPU those of the emulator with it.

use std::fs;
use std::io;
use std::path::Path;

/// What `nvcc` and NVRTC need.
pub const DEVICE_HEADERS: &[(&str, &str)] = &[("dietcode.cuh", include_str!("dietcode.cuh"))];

macro_rules! host_headers {
    ($($name:literal),* $(,)?) => {
        &[DEVICE_HEADERS[0], $((concat!("cuda_host/", $name), include_str!(concat!("cuda_host/", $name)))),*]
    };
}

/// What a C++ compiler needs to make the same files run on the CPU (`-std=c++17 -x c++`); names have a folder in them.
pub const HOST_HEADERS: &[(&str, &str)] = host_headers![
    "dietcode_host.h",
    "keywords.h",
    "types.h",
    "numbers.h",
    "fibers.h",
    "order.h",
    "block.h",
    "shared_memory.h",
    "wavefronts.h",
    "accesses.h",
    "async_copy.h",
    "schedule.h",
    "warp.h",
    "mma.h",
    "atomics.h",
    "launch.h",
];

/// Writes headers into a folder, which generated files then find with `-I`.
///
/// # Errors
///
/// A folder or a file cannot be written.
pub fn write(folder: &Path, headers: &[(&str, &str)]) -> io::Result<()> {
    for (name, text) in headers {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap_or(folder))?;
        fs::write(file, text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_header_that_is_included_is_shipped() {
        for (name, text) in HOST_HEADERS {
            let folder = name.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
            for included in text.lines().filter_map(|line| line.strip_prefix("#include \"")) {
                let included = format!("{folder}{}", included.trim_end_matches('"'));
                assert!(HOST_HEADERS.iter().any(|(name, _)| *name == included), "{name} includes {included}");
            }
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/codegen/cuda/cuda_host");
        assert_eq!(fs::read_dir(folder).unwrap().count() + 1, HOST_HEADERS.len());
    }
}
