// Kernels of two blocks that are wrong in one place each, in what they access. `global` has 96 floats, dynamic shared memory 64.
#include "dietcode.cuh"

#define MISTAKE(symbol, ...)                                                       \
  extern "C" __global__ void symbol(float *global, float *other) {                 \
    DIETCODE_DYNAMIC_SHARED(bytes)                                                 \
    float *shared = reinterpret_cast<float *>(bytes);                              \
    const int i = threadIdx.x, n = blockDim.x, b = blockIdx.x, at = b * n + i;     \
    __VA_ARGS__                                                                    \
  }                                                                                \
  DIETCODE_ENTRY(symbol)

// Two blocks of 48 threads have an element each.
MISTAKE(right, shared[i] = global[at]; __syncthreads(); other[at] = shared[n - 1 - i]; __syncthreads(); shared[n - 1 - i] = 1;)
MISTAKE(right_by_warps, shared[i] = 1; if (i < 32) { __syncwarp(); other[at] = shared[31 - i]; })
MISTAKE(right_by_atomics, atomicAdd(&global[0], 1.0f); atomicAdd(&global[i], 1.0f);)

MISTAKE(reads_behind, other[at] = global[at + 1];)
MISTAKE(reads_before, other[at] = global[at - 1];)
MISTAKE(writes_behind, global[at == 95 ? 96 : at] = 1;)
MISTAKE(reads_a_vector_over_the_end,
        if (at % 4 == 2) { float4 v = *reinterpret_cast<float4 *>(global + at + (at == 94 ? 0 : 2)); other[at] = v.x; })
MISTAKE(reads_shared_behind, shared[i] = 1; __syncthreads(); other[at] = shared[i + 17];)
MISTAKE(reads_static_that_nobody_wrote, __shared__ float own[64]; if (i != 7) own[i] = 1; __syncthreads(); other[at] = own[i];)
MISTAKE(reads_before_the_barrier, shared[i] = 1; other[at] = shared[n - 1 - i]; __syncthreads();)
MISTAKE(writes_before_others_have_read,
        for (int k = 0; k < 2; ++k) { shared[i] = k; __syncthreads(); other[at] = shared[n - 1 - i]; })
MISTAKE(writes_halves_that_others_read, short *halves = reinterpret_cast<short *>(bytes);
        halves[2 * i] = halves[2 * i + 1] = 1; __syncthreads(); short sum = 0; if (i < 8) sum += halves[2 * (i / 2 * 2)];
        if (i > 40) sum += halves[1]; if (i == 20) halves[1] = 3; other[at] = sum; __syncthreads();)
MISTAKE(two_write_one_word, shared[i / 2] = i; __syncthreads();)
MISTAKE(lanes_without_syncwarp, shared[i] = 1; if (i < 32) other[at] = shared[31 - i];)
MISTAKE(static_before_the_barrier, __shared__ float own[64]; own[i] = 1; other[at] = own[n - 1 - i];)
MISTAKE(blocks_read_what_others_write, if (b == 0) global[i] = 1; else other[at] = global[i];)
MISTAKE(blocks_write_one_element, other[i] = b;)
MISTAKE(adds_and_reads, if (b == 0) atomicAdd(&global[3], 1.0f); else if (i == 5) other[0] = global[3];)
MISTAKE(reads_what_is_copied, if (i < 12) { dietcode_cp_async<16>(shared + 4 * i, global + 4 * i, 16); other[at] = shared[4 * i]; }
        dietcode_commit(); dietcode_wait<0>(); __syncthreads();)
MISTAKE(reads_a_copy_of_another, if (i < 12) dietcode_cp_async<16>(shared + 4 * i, global + 4 * i, 16);
        dietcode_commit(); dietcode_wait<0>(); other[at] = shared[i]; __syncthreads();)
