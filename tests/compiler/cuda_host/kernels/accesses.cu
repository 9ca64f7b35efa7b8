// Kernels of two blocks that are wrong in one place each, in what they access. `global`, `other` and `constant` have 96 floats, `none` has
// none, dynamic shared memory 64.
#include "dietcode.cuh"

#define MISTAKE(symbol, ...)                                                       \
  extern "C" __global__ void symbol(float *global, float *other, const float *constant, const float *none, unsigned *counter) { \
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
MISTAKE(right_by_some_lanes, if (i < 8) { shared[i] = 1; __syncwarp(0xff); other[at] = shared[7 - i]; shared[32 + i] = 2; })
MISTAKE(right_by_pairs_of_lanes, if (i < 4) { shared[i] = 1; __syncwarp(i < 2 ? 0x3 : 0xc); if (i == 1 || i == 2) __syncwarp(0x6);
        if (i == 2) other[at] = shared[0]; })
MISTAKE(right_by_bytes, volatile unsigned char *own = bytes; own[i] = 1; own[i] = own[i] + 1; __syncthreads(); other[at] = own[n - 1 - i];
        __syncthreads(); own[i] = 2;)
MISTAKE(right_by_copies, if (i < 12) dietcode_cp_async<16>(shared + 4 * i, constant + 48 * b + 4 * i, 16); dietcode_commit();
        dietcode_wait<0>(); __syncthreads(); other[at] = shared[n - 1 - i]; __syncthreads(); shared[i] = 1;)
MISTAKE(right_by_fences, __shared__ bool is_last; other[at] = 1; __threadfence(); __syncthreads();
        if (i == 0) is_last = atomicAdd(counter, 1) == 1; __syncthreads();
        if (is_last) { float sum = 0; for (int k = 0; k < 96; ++k) sum += other[k]; global[i] = sum; })

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
MISTAKE(reads_far_behind, other[at] = constant[at + (1ll << 33)];)
MISTAKE(reads_far_before, other[at] = global[at - (1ll << 33)];)
MISTAKE(reads_of_nothing, other[at] = none[i];)
MISTAKE(reads_through_nothing, const float *wrong = reinterpret_cast<const float *>(n - 48ll); other[at] = wrong[i];)
MISTAKE(writes_what_is_constant, const_cast<float *>(constant)[at] = 1;)
MISTAKE(writes_bytes_that_others_read, volatile unsigned char *own = bytes; if (i < 4) own[i] = 1; __syncthreads(); int sum = 0;
        if (i >= 8 && i < 16) sum += own[i % 4]; if (i == 40) own[1] = 3; other[at] = sum; __syncthreads();)
MISTAKE(lanes_that_read_late, float x = 0; if (i < 32) { if (i < 2) x = shared[0]; __syncwarp(); if (i > 2 && i < 5) x = shared[0];
        if (i == 8) shared[0] = x; } other[at] = x;)
MISTAKE(other_lanes_sync, if (i < 16) { shared[i] = 1; __syncwarp(i < 8 ? 0xff : 0xff00); other[at] = shared[15 - i]; })
MISTAKE(atomics_without_a_fence, __shared__ bool is_last; other[at] = 1; __syncthreads();
        if (i == 0) is_last = atomicAdd(counter, 1) == 1; __syncthreads();
        if (is_last) { float sum = 0; for (int k = 0; k < 96; ++k) sum += other[k]; global[i] = sum; })
MISTAKE(reads_after_a_fence_of_its_own, if (i == 0) { other[b] = 1; __threadfence(); atomicAdd(counter, 1); } else if (i == 1) global[b] = other[1 - b];)
MISTAKE(copies_twice, for (int k = 0; k < 2; ++k) if (i < 12) dietcode_cp_async<16>(shared + 4 * i, global + 4 * i, 16);
        dietcode_commit(); dietcode_wait<0>(); __syncthreads();)
MISTAKE(copies_into_a_tensor, if (i < 12) dietcode_cp_async<16>(other + 48 * b + 4 * i, global + 4 * i, 16);
        dietcode_commit(); dietcode_wait<0>();)
MISTAKE(matrices_of_a_tensor, unsigned matrix[4] = {}; if (i < 32) dietcode_ldmatrix_x4<false>(matrix, constant + 4 * (i % 16)); other[at] = matrix[0];)
MISTAKE(matrices_behind, unsigned matrix[4] = {}; shared[i] = 1; __syncthreads();
        if (i < 32) dietcode_ldmatrix_x4<false>(matrix, shared + 4 * (i % 17)); other[at] = matrix[0];)
MISTAKE(reads_a_half_behind, const dietcode_f16 *halves = reinterpret_cast<const dietcode_f16 *>(constant); other[at] = dietcode_load(halves[at + 97]);)
MISTAKE(writes_a_half_behind, dietcode_bf16 *halves = reinterpret_cast<dietcode_bf16 *>(global);
        halves[at + 97] = dietcode_round<dietcode_bf16>(static_cast<float>(i));)
MISTAKE(writes_a_made_vector_behind, if (at % 4 == 3) reinterpret_cast<float4 *>(global)[at / 4 + 1] = make_float4(0, 0, 0, 0);)
