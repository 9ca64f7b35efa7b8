
pub(super) static CUDA: dietcode_core::runtime::cuda::CudaTableSource =
    dietcode_core::runtime::cuda::CudaTableSource::Linked(&cuda::TABLE);

mod cuda {
    #![allow(unused, non_snake_case, clippy::all, reason = "it is written for every kernel in the same way")]
    use super::dietcode_core;
    use super::dietcode_core::runtime::cuda::{CudaImage, CudaLaunch, CudaMicroKernel, CudaTable};

    dietcode_core::dietcode_linked!(host small_host);

    static IMAGE_0: &[u8] = include_bytes!("image.bin");

    pub(super) static MICRO_KERNELS: [CudaMicroKernel; 2] = [
        CudaMicroKernel {
            name: "small",
            launches: &[
                // blocks: (M + 63) / 64 * ((N + 31) / 32)
                CudaLaunch {
                    symbol: "small",
                    threads: 128,
                    shared_bytes: 49152,
                    blocks: |shape| shape[0].saturating_add(63).div_euclid(64).saturating_mul(shape[2].saturating_add(31).div_euclid(32)),
                    persistent: true,
                    host: Some(small_host),
                },
            ],
            uses_workspace: false,
            // 0 bytes
            workspace_bytes: |shape| 0_i64,
            image: None,
        },
        CudaMicroKernel {
            name: "split",
            launches: &[
                // blocks: (M + 63) / 64 * ((N + 31) / 32) * 2
                CudaLaunch {
                    symbol: "split_halves",
                    threads: 128,
                    shared_bytes: 49152,
                    blocks: |shape| shape[0].saturating_add(63).div_euclid(64).saturating_mul(shape[2].saturating_add(31).div_euclid(32)).saturating_mul(2),
                    persistent: false,
                    host: None,
                },
                // blocks: if M < 3 { max(K, -2) } else { min((K - 7) / (N % 5), M) }
                CudaLaunch {
                    symbol: "split_add",
                    threads: 128,
                    shared_bytes: 49152,
                    blocks: |shape| (if i64::from(shape[0] < 3_i64) != 0 { shape[1].max(-2) } else { shape[1].saturating_sub(7).checked_div_euclid(shape[2].rem_euclid(5)).unwrap_or(i64::MAX).min(shape[0]) }),
                    persistent: false,
                    host: None,
                },
            ],
            uses_workspace: true,
            // M * N * 8 bytes
            workspace_bytes: |shape| shape[0].saturating_mul(shape[2]).saturating_mul(8),
            image: Some(CudaImage { bytes: IMAGE_0, capabilities: &[(8, 0), (9, 0)], ptx: Some((9, 0)) }),
        },
    ];

    pub(super) static TABLE: CudaTable = CudaTable { micro_kernels: &MICRO_KERNELS, dispatch };

    /// The row of `TABLE` that serves a shape on a device of a compute capability.
    fn dispatch(shape: &[i64], capability: (u32, u32)) -> usize {
        let shape_M = shape[0];
        let shape_K = shape[1];
        let shape_N = shape[2];
        let _ = (shape, capability);
        if capability >= (9, 0) {
            return {
                if ((8_i64).saturating_sub(shape_M).max((shape_K.saturating_add(47) / 48).saturating_mul(shape_N).saturating_sub(3)).saturating_mul(100) / shape_M.min(shape_N).max(1)) <= 1000 {
                    1 // split
                } else {
                    0 // small
                }
            };
        }
        if capability >= (8, 0) {
            return {
                if shape_M <= 64 {
                    0 // small
                } else {
                    1 // split
                }
            };
        }
        0 // small
    }
}

pub(super) static NONE: dietcode_core::runtime::cuda::CudaTableSource =
    dietcode_core::runtime::cuda::CudaTableSource::Skipped("it has \"none\"");
